"""Writes the methods of the RPC client, one per command of the table."""

import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

from tau.modes.session_commands import (
    conversation,
    host_tools,
    logins,
    models,
    servers,
    sessions,
    state,
    subagents,
)
from tau.modes.session_commands.command import SessionCommand

TARGET = Path(__file__).parent.parent / "src/tau/modes/rpc/client_methods.py"
HEAD = '''"""One method per command, written by `make docs` from the table of session commands."""

# mypy: disable-error-code="no-any-return"

from typing import Any, Literal

from msgspec import Struct

{imports}



class RpcRequests:
    """Sends a request and decodes the data of its answer."""

    async def ask(self, command: str, request: Struct, response: Any) -> Any:
        raise NotImplementedError
'''
GROUPS = {
    "Conversation": conversation,
    "Session": sessions,
    "Model": models,
    "State": state,
    "Subagents": subagents,
    "Login": logins,
    "Server": servers,
    "Host": host_tools,
}


class TypeNames:
    """Types as source text, and what to import for them."""

    def __init__(self) -> None:
        self.used: dict[str, set[str]] = {}

    def name(self, annotation: Any) -> str:
        """A type as source text; notes what to import."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is typing.Annotated:
            return self.name(arguments[0])
        if origin is Literal:
            return f"Literal[{', '.join(repr(value) for value in arguments)}]"
        if origin in (Union, types.UnionType):
            return " | ".join(self.name(part) for part in arguments if part is not UnsetType)
        if annotation is type(None):
            return "None"
        if annotation is Any or annotation is Ellipsis:
            return "..." if annotation is Ellipsis else "Any"
        if origin is not None:
            return f"{origin.__name__}[{', '.join(self.name(part) for part in arguments)}]"
        if annotation.__module__ != "builtins":
            self.used.setdefault(annotation.__module__, set()).add(annotation.__name__)
        return str(annotation.__name__)

    def imports(self) -> str:
        used = sorted(self.used.items())
        return "\n".join(f"from {module} import {', '.join(sorted(names))}" for module, names in used)


def _method(names: TypeNames, command: SessionCommand) -> str:
    fields = msgspec.structs.fields(command.request)
    hints = typing.get_type_hints(command.request, include_extras=True)
    parameters, arguments = ["self"], []
    for field in fields:
        kind = names.name(hints[field.name])
        if field.required:
            parameters.append(f"{field.name}: {kind}")
            arguments.append(f"{field.name}={field.name}")
        elif field.default is msgspec.NODEFAULT:  # a list or a dictionary
            parameters.append(f"{field.name}: {kind} | None = None")
            arguments.append(f"{field.name}={field.name} or {field.default_factory()!r}")
        else:
            parameters.append(f"{field.name}: {kind} = {field.default!r}")
            arguments.append(f"{field.name}={field.name}")
    result = "None" if command.response is None else names.name(command.response)
    request = f"{names.name(command.request)}({', '.join(arguments)})"
    call = f'await self.ask("{command.name}", {request}, {result})'
    body = f"        {call}\n" if command.response is None else f"        return {call}\n"
    return (
        f"\n    async def {command.name}({', '.join(parameters)}) -> {result}:\n"
        f'        """{command.summary}."""\n{body}'
    )


def render() -> str:
    """The module, formatted."""
    names = TypeNames()
    classes = []
    for group, module in GROUPS.items():
        methods = "".join(_method(names, command) for command in module.COMMANDS)
        doc = module.__doc__.partition(": ")[0].rstrip(".")
        classes.append(f'\n\nclass {group}Methods(RpcRequests):\n    """{doc}."""\n{methods}')
    source = HEAD.format(imports=names.imports()) + "".join(classes)
    ruff = Path(sys.executable).with_name("ruff")
    for step in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        command = [str(ruff), *step, "--stdin-filename", str(TARGET), "-"]
        source = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return source


def main() -> None:
    TARGET.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
