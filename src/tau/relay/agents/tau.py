"""tau as an agent: `tau -p` per message, or alive over RPC, which can ask for approvals."""

import sys
from collections.abc import Sequence

from tau.relay.agents.pi import parse as parse
from tau.relay.agents.turn import (
    AgentTurn,
    Invocation,
    add_session,
    carry,
    flag,
    has_flag,
    with_identity,
    without_separator,
)

PROGRAM = (sys.executable, "-m", "tau")
SESSION_FLAGS = ("--resume", "-r", "--continue", "-c", "--fork", "--no-session")


def build_args(argv: Sequence[str], body: str, turn: AgentTurn) -> Invocation:
    words = without_separator(argv)
    if turn.format == "json":
        flags = flag(words, "--mode", "json", "--json")
    else:
        flags = flag(words, "-p", None, "--print")
    flags += flag(words, "--thinking", turn.thinking) if turn.thinking else []
    return carry(add_session(words, flags, _session(words, turn), turn), with_identity(body, turn), turn)


def rpc_args(argv: Sequence[str], turn: AgentTurn) -> list[str]:
    words = without_separator(argv)
    flags = [*flag(words, "--mode", "rpc-ui"), *flag(words, "--snapshots", "none")]
    flags += flag(words, "--thinking", turn.thinking) if turn.thinking else []
    return add_session(words, flags, _session(words, turn), turn)


def _session(words: Sequence[str], turn: AgentTurn) -> list[str]:
    is_ours = turn.is_new or not turn.session_id or has_flag(words, *SESSION_FLAGS)
    return [] if is_ours else ["--resume", turn.session_id]
