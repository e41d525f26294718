"""The base class of tools: described parameters, declared effects, one coroutine. A tool never draws."""

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from msgspec import Struct

from tau.agent.arguments import decode_arguments, json_schema
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.ai.dialect import ToolSpec

P = TypeVar("P", bound=Struct)


class ToolOrigin(Struct, frozen=True):
    """Who supplies a tool. If it is `always` offered, no search hides it."""

    kind: Literal["builtin", "custom", "extension", "mcp"] = "builtin"
    server: str = ""
    tool: str = ""
    always: bool = False


BUILTIN = ToolOrigin()


def is_named(tool: str, names: Sequence[str] | None) -> bool:
    """Whether a list such as that of `--tools` has it; `*` matches any letters, None every tool."""
    return names is None or any(fnmatchcase(tool, name) for name in names)


class Tool(Generic[P]):
    """Subclass as `class Read(Tool[ReadParams])`; the prompt is the `.md` file beside the module.

    A tool whose schema is not one of our structs (MCP, host tools) overrides `spec` and `decode`.
    """

    name: str
    label: str
    exclusive: bool = False  # never runs in parallel with another call
    origin: ToolOrigin = BUILTIN
    aliases: tuple[str, ...] = ()  # other names that models call it by
    params: type[P]
    _prompt: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type):
                    cls.params = argument

    @property
    def offered(self) -> bool:
        """Whether requests include it now. Override it for a tool that is often useless; calls always run."""
        return True

    @cached_property
    def description(self) -> str:
        """The prompt, from the `.md` file beside the tool's module."""
        cls = type(self)
        if "_prompt" not in vars(cls):  # once for all sessions
            source = sys.modules[cls.__module__].__file__
            assert source is not None
            cls._prompt = Path(source).with_suffix(".md").read_text(encoding="utf-8").strip()
        return cls._prompt

    @cached_property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, json_schema(self.params))

    def decode(self, arguments: dict[str, Any]) -> tuple[P, list[str]]:
        """The parameters, and the names of fields that were ignored. Raises ToolError."""
        return decode_arguments(self.params, arguments)

    def effects(self, params: P, cwd: Path) -> Effects:
        return Effects()

    async def run(self, params: P, ctx: Any) -> ToolOutput:
        """Do the work. `ctx` is a `ToolContext`, or a `CodingContext` in the coding agent."""
        raise NotImplementedError
