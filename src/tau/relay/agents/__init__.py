"""The agent CLIs, one module each: `build_args` and `parse` are pure functions."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from tau.relay.agents import claude, codex, gemini, opencode, pi, tau
from tau.relay.agents.invocation import AgentTurn, Invocation
from tau.relay.agents.output import AgentReply


class AgentCli(Struct, frozen=True, kw_only=True):
    """One kind of agent: how it is called and how its output is read."""

    program: tuple[str, ...]
    build_args: Callable[[Sequence[str], str, AgentTurn], Invocation]
    parse: Callable[[str, str, int | None], AgentReply]
    chooses_id: bool = False  # the CLI prints the id of a new session
    rpc_args: Callable[[Sequence[str], AgentTurn], list[str]] | None = None  # how it stays alive


MODULES = {"claude": claude, "codex": codex, "pi": pi, "opencode": opencode, "gemini": gemini, "tau": tau}
CHOOSE_IDS = ("codex", "opencode", "tau")
AGENTS: Mapping[str, AgentCli] = MappingProxyType(
    {
        kind: AgentCli(
            program=getattr(module, "PROGRAM", (kind,)),
            build_args=module.build_args,
            parse=module.parse,
            chooses_id=kind in CHOOSE_IDS,
            rpc_args=getattr(module, "rpc_args", None),
        )
        for kind, module in MODULES.items()
    }
)
