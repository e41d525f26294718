"""The agent CLIs, one module each: `build_args` and `parse` are pure functions."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from tau.relay.agents import claude, codex, gemini, opencode, pi, tau
from tau.relay.agents.invocation import AgentTurn, Invocation
from tau.relay.agents.output import AgentReply
from tau.relay.settings import AgentKind


class AgentCli(Struct, frozen=True, kw_only=True):
    """One kind of agent: how it is called and how its output is read."""

    kind: AgentKind
    program: tuple[str, ...]
    build_args: Callable[[Sequence[str], str, AgentTurn], Invocation]
    parse: Callable[[str, str, int | None], AgentReply]
    chooses_id: bool = False  # the CLI prints the id of a new session
    rpc_args: Callable[[Sequence[str], AgentTurn], list[str]] | None = None  # how it stays alive


AGENTS: Mapping[str, AgentCli] = MappingProxyType(
    {
        one.kind: one
        for one in (
            AgentCli(kind="claude", program=("claude",), build_args=claude.build_args, parse=claude.parse),
            AgentCli(
                kind="codex",
                program=("codex",),
                build_args=codex.build_args,
                parse=codex.parse,
                chooses_id=True,
            ),
            AgentCli(
                kind="pi",
                program=("pi",),
                build_args=pi.build_args,
                parse=pi.parse,
                rpc_args=pi.rpc_args,
            ),
            AgentCli(
                kind="opencode",
                program=("opencode",),
                build_args=opencode.build_args,
                parse=opencode.parse,
                chooses_id=True,
            ),
            AgentCli(kind="gemini", program=("gemini",), build_args=gemini.build_args, parse=gemini.parse),
            AgentCli(
                kind="tau",
                program=tau.PROGRAM,
                build_args=tau.build_args,
                parse=tau.parse,
                chooses_id=True,
                rpc_args=tau.rpc_args,
            ),
        )
    }
)
