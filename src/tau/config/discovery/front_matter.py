"""Front matter: YAML between two lines of three dashes, or, where it is not YAML, lines of `name: value`."""

import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.base.errors import ConfigError
from tau.base.late import late
from tau.base.sizes import KIB, format_bytes

yaml12 = late("yaml12")

MAX_BYTES = 16 * KIB
MAX_ALIASES = 8
"""Each may repeat a whole part of the document, and so may each of its parts."""
MAX_EXACT_INT = 2**53
_FENCE = "---"
_ANCHOR = r"&[^\s&]"
_ALIAS = r"\*[^\s*]"


class FrontMatter(Struct, frozen=True):
    """`note` says how it was read, if not as YAML."""

    fields: dict[str, Any]
    body: str
    note: str = ""


def parse_front_matter(text: str, path: Path) -> FrontMatter:
    """Split a text into its fields and its body. Raises ConfigError."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return FrontMatter({}, text.removeprefix("\ufeff").strip())
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == _FENCE), None)
    if end is None:
        raise ConfigError("The front matter has no closing line of three dashes.", path=path, line=1)
    head = "\n".join(lines[1:end])
    if len(head) > MAX_BYTES:
        raise ConfigError(f"The front matter is larger than {format_bytes(MAX_BYTES)}.", path=path, line=1)
    fields, note = _fields(head)
    return FrontMatter(fields, "\n".join(lines[end + 1 :]).strip(), note)


def _fields(head: str) -> tuple[dict[str, object], str]:
    if re.search(_ANCHOR, head) and len(re.findall(_ALIAS, head)) > MAX_ALIASES:
        return _read_lines(head), "The front matter repeats itself by aliases; it was read line by line."
    try:
        content = yaml12.parse_yaml(head)
    except (ValueError, RecursionError) as error:
        reason = str(error).removeprefix("YAML parse error: ").partition(" at byte ")[0]
        return _read_lines(head), f"The front matter is not YAML ({reason}); it was read line by line."
    if content is None:
        return {}, ""
    if not isinstance(content, dict):
        return _read_lines(head), "The front matter is not a mapping; it was read line by line."
    return {str(key): _plain(value) for key, value in content.items()}, ""


def _plain(value: object) -> Any:
    """Values that JSON has too; a tag of YAML is dropped."""
    match value:
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case str() | bool() | None:
            return value
        case int():
            return value if abs(value) < MAX_EXACT_INT else str(value)
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)
        case _:
            return _plain(value.value) if hasattr(value, "value") else str(value)


def _read_lines(head: str) -> dict[str, object]:
    """A value is the rest of its line and the indented lines below it; lines with a dash are a list."""
    fields: dict[str, object] = {}
    key = ""
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        text = line.strip()
        if text.startswith("- ") and key:
            old = fields[key]
            fields[key] = [*(old if isinstance(old, list) else ()), _unquoted(text[2:].strip())]
        elif line[:1] in (" ", "\t"):
            if key and isinstance(fields[key], str):
                fields[key] = f"{fields[key]} {text}".strip()
        elif colon and name.strip() and not line.startswith("#"):
            key = name.strip()
            fields[key] = _unquoted(value.strip())
    return {
        key: {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
        for key, value in fields.items()
    }


def _unquoted(value: str) -> str:
    if value in (">", "|", ">-", "|-", ">+", "|+"):
        return ""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def text_of(value: Any) -> str:
    """A field as text: a list such as `[FILE] [FOCUS]` was meant as such."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return " ".join(f"[{text_of(one)}]" for one in value)
        case dict():
            return ", ".join(f"{key}: {text_of(one)}" for key, one in value.items())
        case _:
            return str(value)


def list_of(value: object) -> list[str]:
    """A field as a list: of YAML, or one text with commas outside of braces."""
    if isinstance(value, list):
        return [text for one in value if (text := text_of(one).strip())]
    return [text for one in re.split(r",(?![^{}]*\})", text_of(value)) if (text := one.strip())]
