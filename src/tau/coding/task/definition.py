"""Agent definitions: Markdown with front matter, ours or that of Claude Code."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct, json

from tau.ai.model import ThinkingLevel
from tau.base.errors import ConfigError
from tau.config.discovery.front_matter import parse_front_matter
from tau.config.settings import ApprovalMode

AgentSource = Literal["project", "user", "plugin", "bundled"]
T = TypeVar("T")


class OtherNames(Struct, frozen=True, rename="camel"):
    """What other agents call our tools and modes, in lower case. A mode can only tighten the caller's."""

    tools: dict[str, tuple[str, ...]]
    permission_modes: dict[str, ApprovalMode | None]


NAMES = json.decode(Path(__file__).with_name("other_names.json").read_bytes(), type=OtherNames)


class AgentBudget(Struct, frozen=True, rename="camel"):
    """Limits of one agent; 0: none."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: int = 0


class AgentDefinition(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent is. `tools` None: those of its caller. `spawns`: agents it may start, `*` for any.

    `models` are patterns or roles, the first usable one counts. `output` is a JSON Schema.
    """

    name: str
    description: str
    prompt: str
    source: AgentSource = "bundled"
    path: str = ""
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    spawns: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    thinking: ThinkingLevel | None = None
    output: dict[str, Any] | None = None
    blocking: bool = False
    autoload_skills: tuple[str, ...] = ()
    read_summarize: bool = True
    isolated: bool = False
    budget: AgentBudget = AgentBudget()
    mode: ApprovalMode | None = None

    def may_spawn(self, name: str) -> bool:
        return "task" not in self.disallowed_tools and ("*" in self.spawns or name in self.spawns)


def parse_agent(text: str, path: Path, source: AgentSource) -> AgentDefinition:
    """Raises ConfigError for a field that cannot be used: ignoring it could give the agent too much."""
    matter = parse_front_matter(text, path)
    fields = _Fields(matter.fields, text, path)
    description = fields.text("description")
    if not description:
        raise ConfigError("An agent needs a description.", path=path, line=1)
    if not matter.body:
        raise ConfigError("An agent needs a prompt below the front matter.", path=path)
    tools = fields.optional("tools", fields.tools)
    return AgentDefinition(
        name=fields.text("name") or path.stem,
        description=description,
        prompt=matter.body,
        source=source,
        path=str(path),
        tools=None if tools is not None and "*" in tools else tools,
        disallowed_tools=fields.optional("disallowedTools", fields.tools) or (),
        spawns=fields.optional("spawns", fields.names) or (),
        models=tuple(name for name in fields.optional("model", fields.names) or () if name != "inherit"),
        thinking=fields.optional("thinking-level", fields.thinking),
        output=fields.optional("output", fields.schema),
        blocking=fields.flag("blocking", False),
        autoload_skills=fields.optional("autoloadSkills", fields.names)
        or fields.optional("skills", fields.names)
        or (),
        read_summarize=fields.flag("read-summarize", True),
        isolated=fields.flag("isolated", False) or fields.text("isolation") == "worktree",
        budget=fields.budget(),
        mode=fields.optional("permissionMode", fields.mode),
    )


def _key(name: str) -> str:
    return re.sub(r"[-_]", "", name).lower()


class _Fields:
    """The front matter of one file; names match without regard to case and dashes."""

    def __init__(self, fields: Mapping[str, object], text: str, path: Path) -> None:
        self._fields = {_key(name): value for name, value in fields.items()}
        self._text = text
        self._path = path

    def fail(self, name: str, problem: str) -> ConfigError:
        lines = (line.partition(":")[0].strip() for line in self._text.splitlines())
        at = next((number for number, found in enumerate(lines, 1) if _key(found) == _key(name)), 1)
        return ConfigError(f"{name}: {problem}", path=self._path, line=at)

    def get(self, name: str) -> object:
        return self._fields.get(_key(name))

    def text(self, name: str) -> str:
        value = self.get(name)
        return " ".join(str(value).split()) if isinstance(value, (str, int, float)) else ""

    def optional(self, name: str, read: Callable[[str, object], T | None]) -> T | None:
        value = self.get(name)
        return None if value is None else read(name, value)

    def flag(self, name: str, default: bool) -> bool:
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or str(value).lower() in ("true", "false", "yes", "no"):
            return value is True or str(value).lower() in ("true", "yes")
        raise self.fail(name, "write true or false.")

    def names(self, name: str, value: object) -> tuple[str, ...]:
        if value is True and name == "spawns":
            return ("*",)
        if isinstance(value, str):
            value = re.split(r"[,\s]+(?![^(]*\))", value.strip().strip("[]"))
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.fail(name, "write names separated by commas, or a list.")
        return tuple(dict.fromkeys(one.strip().strip("\"'") for one in value if one.strip()))

    def tools(self, name: str, value: object) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for one in self.names(name, value):
            if "(" in one:
                if _key(name) == "disallowedtools":
                    raise self.fail(
                        name, f"{one}: patterns are not supported here; add a rule to tools.deny."
                    )
                raise self.fail(
                    name, f"{one}: patterns are not supported here; name the tool or leave it out."
                )
            if one.startswith("mcp__"):
                found[one] = None
            else:
                found |= dict.fromkeys(NAMES.tools.get(_key(one), (one.lower(),)))
        return tuple(found)

    def thinking(self, name: str, value: object) -> ThinkingLevel:
        level: ThinkingLevel
        for level in get_args(ThinkingLevel):
            if str(value).lower() == level or (value is False and level == "off"):
                return level
        raise self.fail(name, f"choose one of {', '.join(get_args(ThinkingLevel))}.")

    def schema(self, name: str, value: object) -> dict[str, object]:
        if isinstance(value, dict) and value:
            return value
        raise self.fail(name, "write a JSON Schema as a mapping.")

    def mode(self, name: str, value: object) -> ApprovalMode | None:
        if _key(str(value)) not in NAMES.permission_modes:
            raise self.fail(name, f"choose one of {', '.join(NAMES.permission_modes)}.")
        return NAMES.permission_modes[_key(str(value))]

    def budget(self) -> AgentBudget:
        """A number is a number of requests; Claude Code calls that maxTurns."""
        name = "budget" if self.get("budget") is not None else "maxTurns"
        value = self.get(name)
        if value is None:
            return AgentBudget()
        limits: dict[str, object] = value if isinstance(value, dict) else {"requests": value}
        known = AgentBudget.__struct_fields__
        whole: dict[str, Any] = {}
        for field, number in limits.items():
            if (
                field not in known
                or isinstance(number, bool)
                or not isinstance(number, (int, float))
                or number < 0
            ):
                raise self.fail(name, f"write a number of requests, or {', '.join(known)} with numbers.")
            whole[field] = number if field == "cost" else int(number)
        return AgentBudget(**whole)


def list_agents(definitions: Sequence[AgentDefinition]) -> str:
    """One line for each, for the prompt of `task`."""
    return "\n".join(f"- `{one.name}`: {one.description}" for one in definitions)
