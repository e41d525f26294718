"""tau as an agent: `tau -p` per message, or alive over RPC, which can ask for approvals."""

import sys
from collections.abc import Sequence

from tau.relay.agents import invocation
from tau.relay.agents.pi import parse as parse

PROGRAM = (sys.executable, "-m", "tau")
SESSION_FLAGS = ("--resume", "-r", "--continue", "-c", "--fork", "--no-session")


def build_args(argv: Sequence[str], body: str, turn: invocation.AgentTurn) -> invocation.Invocation:
    words = invocation.without_separator(argv)
    if turn.format == "json":
        flags = invocation.flag(words, "--mode", "json", "--json")
    else:
        flags = invocation.flag(words, "-p", None, "--print")
    flags += invocation.flag(words, "--thinking", turn.thinking) if turn.thinking else []
    return invocation.carry(
        invocation.add_session(words, flags, _session(words, turn), turn),
        invocation.with_identity(body, turn),
        turn,
    )


def rpc_args(argv: Sequence[str], turn: invocation.AgentTurn) -> list[str]:
    words = invocation.without_separator(argv)
    flags = [*invocation.flag(words, "--mode", "rpc-ui"), *invocation.flag(words, "--snapshots", "none")]
    flags += invocation.flag(words, "--thinking", turn.thinking) if turn.thinking else []
    return invocation.add_session(words, flags, _session(words, turn), turn)


def _session(words: Sequence[str], turn: invocation.AgentTurn) -> list[str]:
    is_ours = turn.is_new or not turn.session_id or invocation.has_flag(words, *SESSION_FLAGS)
    return [] if is_ours else ["--resume", turn.session_id]
