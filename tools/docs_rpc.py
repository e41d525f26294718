"""Builds the tables of docs/rpc.md from the table of session commands."""

import re
import typing
from collections.abc import Callable

import msgspec
from rpc_methods import TypeNames

from tau.modes.session_commands.table import COMMANDS


def rpc_commands() -> str:
    lines = ["| command | fields | data of the answer | what it does |", "|---|---|---|---|"]
    for command in COMMANDS.values():
        data = "" if command.response is None else f"`{_shape(command.response)}`"
        lines.append(f"| `{command.name}` | {_fields(command.request)} | {data} | {command.summary} |")
    return "\n".join(lines)


def _fields(request: type[msgspec.Struct]) -> str:
    hints = typing.get_type_hints(request, include_extras=True)
    names = TypeNames()
    return ", ".join(
        f"`{field.encode_name}{'' if field.required else '?'}: {_cell(names.name(hints[field.name]))}`"
        for field in msgspec.structs.fields(request)
    )


def _shape(response: object) -> str:
    """The fields of a struct, or the name of what it is."""
    parts = [part for part in typing.get_args(response) or (response,) if part is not type(None)]
    fields = ", ".join(
        field.encode_name if field.required else f"{field.encode_name}?"
        for part in parts
        for field in msgspec.structs.fields(part)
    )
    return f"{{{fields}}}" + (" or null" if type(None) in typing.get_args(response) else "")


def _cell(text: str) -> str:
    """A type for readers of any language; `|` would end the cell."""

    def choices(match: re.Match[str]) -> str:
        return match[1].replace("'", '"').replace(", ", " | ")

    return re.sub(r"Literal\[(.*?)\]", choices, text).replace(" | None", "").replace("|", "\\|")


RPC_TABLES: dict[str, Callable[..., str]] = {"rpc_commands": rpc_commands}
