"""Fills the template of a site handler with the answers of its API."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

from tau.base.text import shortened

MAX_LIST, MAX_VALUE_CHARS = 30, 200_000
_PLACE = r"\{([\w.@:$/-]+)((?:\|\w+)*)\}"
_FOR = r"\{% for ([\w.@:$/-]+)(?: (\d+))? %\}\n?"
_END = "{% end %}"
SEPARATOR = "tauseparator7f3a"


class Rendering(Struct):
    """HTML values become markers, so that the worker converts all of them at once."""

    html: list[str] = field(default_factory=list)

    def mark(self, value: str) -> str:
        self.html.append(value)
        return f"{SEPARATOR}{len(self.html) - 1};"


def render(template: str, values: Mapping[str, Any], rendering: Rendering) -> str:
    """Lines whose values are all empty are left out. `{% for a.b 10 %}` repeats for the items of a list."""
    parts: list[str] = []
    while (start := re.search(_FOR, template)) is not None:
        end = _find_end(template, start.end())
        parts.append(_lines(template[: start.start()], values, rendering))
        found = look_up(values, start[1])
        items = (
            list(found.values()) if isinstance(found, Mapping) else found if isinstance(found, list) else []
        )
        most = int(start[2] or MAX_LIST)
        inner = template[start.end() : end]
        parts += [render(inner, {**values, "it": item}, rendering) for item in items[:most]]
        if len(items) > most:
            parts.append(f"[{len(items) - most} more]\n")
        template = template[end + len(_END) :].removeprefix("\n")
    parts.append(_lines(template, values, rendering))
    return "".join(parts)


def _find_end(template: str, at: int) -> int:
    depth = 1
    for match in re.finditer(rf"{_FOR}|{re.escape(_END)}", template[at:]):
        depth += -1 if match[0] == _END else 1
        if depth == 0:
            return at + match.start()
    raise ValueError("a loop of the template has no end")


def _lines(template: str, values: Mapping[str, Any], rendering: Rendering) -> str:
    lines = []
    for line in template.splitlines(keepends=True):
        filled: list[bool] = []

        def fill(match: re.Match[str], filled: list[bool] = filled) -> str:
            value = look_up(values, match[1])
            text = _filtered(value, match[2].split("|")[1:], rendering)
            filled.append(bool(text))
            return text

        text = re.sub(_PLACE, fill, line)
        if not filled or any(filled):
            lines.append(text)
    return "".join(lines)


def look_up(values: object, path: str) -> object:
    """`a.b.0.c`; None if it is missing. `a.*` is the first value of a mapping."""
    for name in path.split("."):
        if isinstance(values, Mapping):
            values = next(iter(values.values()), None) if name == "$first" else values.get(name)
        elif isinstance(values, Sequence) and not isinstance(values, str) and name.isdigit():
            values = values[int(name)] if int(name) < len(values) else None
        else:
            return None
    return values


def items_at(values: object, path: str) -> list[object]:
    """The list at a path; an empty one if there is none."""
    found = look_up(values, path)
    return found if isinstance(found, list) else []


def _filtered(value: Any, names: Sequence[str], rendering: Rendering) -> str:
    text = _text(value)
    for name in names:
        if name == "html":
            return rendering.mark(text) if text.strip() else ""
        text = FILTERS[name](text)
    return text[:MAX_VALUE_CHARS]


def _text(value: Any) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value[:MAX_LIST])))
    if isinstance(value, Mapping):
        return _text(
            next((value[key] for key in ("name", "#text", "title", "value", "login") if key in value), None)
        )
    return str(value)


def _date(text: str) -> str:
    try:
        return datetime.fromtimestamp(float(text), UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return text[:16].replace("T", " ")


FILTERS: Mapping[str, Callable[[str], str]] = {
    "date": _date,
    "line": lambda text: " ".join(text.split()),
    "short": lambda text: shortened(" ".join(text.split()), 300),
    "code": lambda text: f"```\n{text}\n```" if text else "",
    "quote": lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
}
