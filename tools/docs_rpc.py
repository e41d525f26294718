"""Builds the tables of docs/rpc.md and docs/json.md, and docs/rpc-schema.json, from commands and events."""

import json
import re
import typing
from collections.abc import Callable

import msgspec
from rpc_methods import TypeNames

from tau.agent.events import AgentEvent
from tau.modes.session_commands.table import COMMANDS


def rpc_commands() -> str:
    lines = ["| command | fields | data of the answer | what it does |", "|---|---|---|---|"]
    for command in COMMANDS.values():
        data = "" if command.response is None else f"`{_shape(command.response)}`"
        lines.append(f"| `{command.name}` | {_fields(command.request)} | {data} | {command.summary} |")
    return "\n".join(lines)


def rpc_schema() -> str:
    """Schemas of each command's `fields` and of the `data` of its answer; one line per command and type."""
    types = {one for command in COMMANDS.values() for one in (command.request, command.response) if one}
    listed = sorted(types, key=str)
    schemas, shared = msgspec.json.schema_components(listed, ref_template="#/$defs/{name}")
    by_type = dict(zip(listed, schemas, strict=True))
    commands = {
        name: {
            "summary": command.summary,
            "fields": by_type[command.request],
            **({"data": by_type[command.response]} if command.response else {}),
        }
        for name, command in COMMANDS.items()
    }
    groups = []
    for group, rows in (("commands", commands), ("$defs", dict(sorted(shared.items())))):
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        groups.append(f"{json.dumps(group)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(groups) + "\n}\n"


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


def events() -> str:
    lines = ["| event | fields | when |", "|---|---|---|"]
    for event in typing.get_args(AgentEvent):
        fields = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(event))
        text = " ".join(event.__doc__.split())
        lines.append(f"| `{event.__struct_config__.tag}` | {fields} | {text} |")
    return "\n".join(lines)


RPC_TABLES: dict[str, Callable[..., str]] = {"rpc_commands": rpc_commands, "events": events}
