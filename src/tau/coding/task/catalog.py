"""The agents that can be started: the project's, the user's, those of plugins, and ours."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from tau.base.errors import ConfigError
from tau.coding.task.definition import AgentDefinition, AgentSource, parse_agent
from tau.config.discovery.capabilities import Item
from tau.config.discovery.file_cache import read_text
from tau.config.discovery.registry import CapabilityRegistry

BUNDLED = Path(__file__).parent / "agents"
ORDER: tuple[AgentSource, ...] = ("project", "user", "plugin", "bundled")


class AgentProblem(Struct, frozen=True):
    """Why an agent is not used."""

    name: str
    path: str
    why: str


class AgentCatalog(Struct, frozen=True):
    """`agents` are usable, the first of a name; `problems` says what is not and why."""

    agents: tuple[AgentDefinition, ...]
    problems: tuple[AgentProblem, ...] = ()

    def find(self, name: str) -> AgentDefinition | None:
        return next((one for one in self.agents if one.name == name), None)

    @property
    def names(self) -> str:
        return ", ".join(one.name for one in self.agents)


@cache
def bundled_agents() -> tuple[AgentDefinition, ...]:
    return tuple(
        parse_agent(path.read_text(encoding="utf-8"), path, "bundled")
        for path in sorted(BUNDLED.glob("*.md"))
    )


def load_agents(
    discovery: Callable[[], CapabilityRegistry] | None, disabled: Sequence[str] = ()
) -> AgentCatalog:
    """Read the files. What an untrusted repository supplies is not used."""
    found: list[AgentDefinition] = []
    problems: list[AgentProblem] = []
    items = [] if discovery is None else discovery().all("agents")
    for item in sorted(items, key=lambda one: (ORDER.index(_source(one)), one.rank)):
        if item.state == "disabled":
            problems.append(AgentProblem(item.name, str(item.path), item.why))
        elif item.state == "invalid":
            line = "" if item.line is None else f":{item.line}"
            problems.append(AgentProblem(item.name, str(item.path), f"{item.path}{line}: {item.why}"))
        elif not item.trusted:
            why = "It waits until you trust this repository; see tau trust."
            problems.append(AgentProblem(item.name, str(item.path), why))
        else:
            try:
                found.append(parse_agent(read_text(item.path), item.path, _source(item)))
            except ConfigError as error:
                problems.append(AgentProblem(item.name, str(item.path), str(error)))
    agents: dict[str, AgentDefinition] = {}
    for one in (*found, *bundled_agents()):
        if one.name in disabled:
            problems.append(AgentProblem(one.name, one.path, "It is in task.disabledAgents."))
        elif (winner := agents.setdefault(one.name, one)) is not one:
            problems.append(AgentProblem(one.name, one.path, f"{winner.path} has the same name."))
    return AgentCatalog(tuple(agents.values()), tuple(problems))


def _source(item: Item) -> AgentSource:
    if item.source is not None and "plugins" in item.source.provider:
        return "plugin"
    return "project" if item.level == "project" else "user"
