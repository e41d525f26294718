"""Parameters that a tool's schema wants repeated as HTTP headers, `x-mcp-header`."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

KEY = "x-mcp-header"
TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
PRIMITIVES = ("string", "integer", "boolean")
MAX_NODES = 10_000
_DATA = ("default", "examples", "const", "enum")  # values, not schemas
Path = tuple[str, ...]


def header_names(schema: Mapping[str, object]) -> dict[Path, str] | None:
    """The header of each path of properties; None if the schema asks for what is not allowed."""
    found: dict[Path, str] = {}
    seen: set[str] = set()
    for path, node in _nodes(schema):
        if KEY not in node:
            continue
        name = node[KEY]
        is_valid = isinstance(name, str) and re.fullmatch(TOKEN, name) and node.get("type") in PRIMITIVES
        if not path or not is_valid or name.lower() in seen:
            return None
        seen.add(name.lower())
        found[path] = name
    return found


def _nodes(schema: Mapping[str, object]) -> Iterator[tuple[Path | None, Mapping[str, Any]]]:
    """Every schema inside, with the properties that lead to it; None where something else does."""
    pending: list[tuple[Path | None, object]] = [((), schema)]
    for _ in range(MAX_NODES):
        if not pending:
            return
        path, node = pending.pop()
        if isinstance(node, list):
            pending += [(None, one) for one in node]
        if not isinstance(node, dict):
            continue
        yield path, node
        for word, value in node.items():
            if word == "properties" and isinstance(value, dict):
                pending += [((*path, name) if path is not None else None, one) for name, one in value.items()]
            elif word in ("patternProperties", "dependentSchemas", "$defs", "definitions") and isinstance(
                value, dict
            ):
                pending += [(None, one) for one in value.values()]
            elif word not in _DATA and isinstance(value, dict | list):
                pending.append((None, value))


def param_headers(names: Mapping[Path, str], arguments: Mapping[str, object]) -> dict[str, str]:
    """The headers of one call; values that are not plain text are encoded."""
    headers = {}
    for path, name in names.items():
        value: Any = arguments
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            headers[f"Mcp-Param-{name}"] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[f"Mcp-Param-{name}"] = header_value(str(value))
    return headers


def header_value(text: str) -> str:
    """The text itself, or base64 in a frame that says so."""
    is_plain = re.fullmatch(r"[\x20-\x7e]*", text) and text == text.strip()
    if is_plain and not re.fullmatch(r"=\?base64\?.*\?=", text):
        return text
    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode()}?="
