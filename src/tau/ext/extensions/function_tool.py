"""A function as a tool: its hints become the schema, its docstring the description."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct

from tau.agent.arguments import json_schema
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.dialect import ToolSpec
from tau.ai.wire import ImageContent, TextContent
from tau.base.errors import ToolError
from tau.ext.extensions.context import ExtensionContext, ToolRunContext

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.host import ExtensionHost

EffectsOf: TypeAlias = Effects | Literal["none"] | Callable[..., Effects] | None
"""What calls do: the same each time, or by the parameters and the folder; None: not declared."""
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_PARAMETER = re.compile(r"^\s*(?:[:*-]\s*)?(?:param\s+)?`?(\w+)`?\s*(?:\([^)]*\))?\s*(?::|-{1,2})\s+(.+)$")
NO_LIMIT_S = 3600.0


class RawArguments(Struct, frozen=True):
    """The arguments of a tool that brings its own schema."""

    values: dict[str, Any]


class FunctionTool(Tool[Struct]):
    """Runs the function off the event loop unless it is async. Its output is limited as that of any tool."""

    def __init__(
        self,
        host: "ExtensionHost",
        extension: "Extension",
        function: Callable[..., Any],
        *,
        name: str = "",
        label: str = "",
        description: str = "",
        effects: EffectsOf = None,
        parameters: dict[str, object] | None = None,
        exclusive: bool = False,
    ) -> None:
        self._host, self._extension, self._function = host, extension, function
        self.name = name or function.__name__
        if not _NAME.fullmatch(self.name):
            raise ValueError(f'"{self.name}" is not a name for a tool: use letters, digits, "_" and "-".')
        self.label = label or self.name.replace("_", " ").capitalize()
        self.exclusive = exclusive
        self._effects = effects
        self._schema = parameters
        text = inspect.cleandoc(function.__doc__ or "")
        self._summary, described = _split_docstring(text)
        self._description = description or self._summary or self.label
        self._context_name, self.params = (
            (_context_parameter(function), RawArguments)
            if parameters is not None
            else _parameters(self.name, function, described)
        )

    @cached_property
    def description(self) -> str:
        return self._description

    @cached_property
    def spec(self) -> ToolSpec:
        schema = json_schema(self.params) if self._schema is None else self._schema
        return ToolSpec(self.name, self._description, schema)

    def decode(self, arguments: dict[str, Any]) -> tuple[Struct, list[str]]:
        if self._schema is not None:
            return RawArguments(arguments), []
        return super().decode(arguments)

    @property
    def fixed_effects(self) -> Effects | None:
        """Those of every call; None if they depend on the parameters, or are not declared."""
        if self._effects == "none":
            return Effects()
        return self._effects if isinstance(self._effects, Effects) else None

    def effects(self, params: Struct, cwd: Path) -> Effects:
        if callable(self._effects):
            return self._effects(self._values(params), cwd)
        fixed = self.fixed_effects
        return Effects(undeclared=True) if fixed is None else fixed

    async def run(self, params: Struct, ctx: Any) -> ToolOutput:
        arguments = self._values(params)
        if self._context_name:
            arguments[self._context_name] = ToolRunContext(self._host, self._extension, ctx)

        def call() -> object:
            return self._function(**arguments)

        async def call_async() -> Any:
            return await self._function(**arguments)

        chosen = call_async if inspect.iscoroutinefunction(self._function) else call
        result = await self._host.calls.call(self._extension, f"tool:{self.name}", chosen, limit_s=NO_LIMIT_S)
        return as_output(result)

    def _values(self, params: Struct) -> dict[str, object]:
        if isinstance(params, RawArguments):
            return dict(params.values)
        return {name: getattr(params, name) for name in params.__struct_fields__}


class ReplacementTool(Tool[Any]):
    """A tool under the name of one of tau's own: a call needs what either of the two would need."""

    def __init__(self, own: Tool[Any], other: Tool[Any]) -> None:
        self.name, self.label, self.exclusive = own.name, other.label, own.exclusive or other.exclusive
        self._own, self._other = own, other
        self.params = other.params

    @property
    def offered(self) -> bool:
        return self._other.offered

    @cached_property
    def description(self) -> str:
        return self._other.description

    @cached_property
    def spec(self) -> ToolSpec:
        return self._other.spec

    def decode(self, arguments: dict[str, object]) -> tuple[object, list[str]]:
        params, ignored = self._other.decode(arguments)
        return (arguments, params), ignored

    def effects(self, params: tuple[dict[str, object], object], cwd: Path) -> Effects:
        arguments, own = params
        declared = self._other.effects(own, cwd)
        try:
            usual = self._own.effects(self._own.decode(arguments)[0], cwd)
        except Exception:  # other parameters than tau's: nobody knows what they would do
            return Effects(undeclared=True, runs=declared.runs, reads=declared.reads, writes=declared.writes)
        return Effects(
            reads=(*usual.reads, *declared.reads),
            writes=(*usual.writes, *declared.writes),
            runs=(*usual.runs, *declared.runs),
            network=(*usual.network, *declared.network),
            env=(*usual.env, *declared.env),
            run_cwd=declared.run_cwd or usual.run_cwd,
            details=(*usual.details, *declared.details),
            publishes=(*usual.publishes, *declared.publishes),
            acts_elsewhere=usual.acts_elsewhere or declared.acts_elsewhere,
            undeclared=usual.undeclared or declared.undeclared,
            mcp=declared.mcp or usual.mcp,
            mcp_change=declared.mcp_change or usual.mcp_change,
        )

    async def run(self, params: tuple[dict[str, object], object], ctx: object) -> ToolOutput:
        return await self._other.run(params[1], ctx)


def as_output(result: Any) -> ToolOutput:
    """What a function returned, for the model: text as it is, other values as JSON."""
    if isinstance(result, ToolOutput):
        return result
    if result is None:
        return ToolOutput.text("Done.")
    if isinstance(result, str):
        return ToolOutput.text(result)
    if isinstance(result, (TextContent, ImageContent)):
        return ToolOutput([result])
    if (
        isinstance(result, list)
        and result
        and all(isinstance(one, (TextContent, ImageContent)) for one in result)
    ):
        return ToolOutput(result)
    try:
        data = msgspec.json.encode(result)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(
            f"The tool returned {type(result).__name__}, which is neither text nor JSON."
        ) from error
    text = msgspec.json.format(data, indent=2).decode()
    return ToolOutput.text(text, msgspec.to_builtins(result) if isinstance(result, (dict, Struct)) else UNSET)


def _split_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description, and those of parameters, in Google's, Sphinx's or plain style."""
    summary: list[str] = []
    described: dict[str, str] = {}
    is_section, last = False, ""
    for line in text.splitlines():
        if re.fullmatch(r"\s*(Args|Arguments|Parameters|Params):?\s*", line):
            is_section = True
        elif is_section and re.fullmatch(r"\s*(Returns|Raises|Yields|Examples?|Notes?):?\s*", line):
            break
        elif match := _PARAMETER.match(line) if is_section or line.lstrip().startswith(":param") else None:
            last = match[1]
            described[last] = match[2].strip()
        elif is_section and last and line.strip():
            described[last] += f" {line.strip()}"
        elif not is_section and not line.lstrip().startswith((":return", ":rtype", ":raises")):
            summary.append(line)
    return "\n".join(summary).strip(), described


def _context_parameter(function: Callable[..., Any], hints: Mapping[str, Any] | None = None) -> str:
    """The name of the parameter that takes the context; empty if there is none."""
    hints = _hints(function) if hints is None else hints
    for name in inspect.signature(function).parameters:
        hint = hints.get(name)
        if (isinstance(hint, type) and issubclass(hint, ExtensionContext)) or (
            name == "ctx" and hint in (None, Any)
        ):
            return name
    return ""


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception as error:
        raise TypeError(f"The hints of {function.__name__} cannot be read: {error}") from error


def _parameters(
    tool: str, function: Callable[..., Any], described: Mapping[str, str]
) -> tuple[str, type[Struct]]:
    hints = _hints(function)
    context = _context_parameter(function, hints)
    fields: list[Any] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == context:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{tool}: the parameter {name} must have a name that the model can use.")
        hint = _described(hints.get(name, str), described.get(name, ""))
        if parameter.default is parameter.empty:
            fields.append((name, hint))
        elif isinstance(parameter.default, (list, dict, set)):
            fields.append((name, hint, msgspec.field(default_factory=type(parameter.default))))
        else:
            fields.append((name, hint, parameter.default))
    fields.sort(key=len)
    return context, msgspec.defstruct(f"{tool}_parameters", fields, frozen=True, kw_only=True)


def _described(hint: Any, text: str) -> Any:
    """The hint with its description: from the docstring, or a text in Annotated."""
    if get_origin(hint) is Annotated:
        base, *notes = get_args(hint)
        if any(isinstance(note, Meta) for note in notes):
            return hint
        text = next((note for note in notes if isinstance(note, str)), text)
        hint = base
    return Annotated[hint, Meta(description=text)] if text else hint
