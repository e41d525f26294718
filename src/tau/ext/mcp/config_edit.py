"""Changes one member of a configuration file, and keeps comments, order and unknown keys."""

from pathlib import Path
from typing import Any

from msgspec import json

from tau.base.errors import ConfigError
from tau.base.files import locked, make_private, write_atomic
from tau.config.json_file import LOCK_TIMEOUT_S
from tau.ext.mcp.config_files import MemberSpan, find_members, read_file

_INDENT = "  "


def change_member(path: Path, keys: tuple[str, ...], value: Any) -> bool:
    """Set a member; None removes it. Returns whether anything changed. Raises ConfigError."""
    try:
        make_private(path.parent) if not path.parent.exists() else None
        with locked(path, timeout_s=LOCK_TIMEOUT_S):
            try:
                text, _ = read_file(path)
            except FileNotFoundError:
                text = ""
            after = _with_member(text if text.strip() else "{}\n", keys, value)
            if after == text or (value is None and not text.strip()):
                return False
            write_atomic(path, after.encode(), mode=None if path.exists() else 0o600)
            read_file(path)
            return True
    except OSError as error:
        message = f"Cannot save the file; it is unchanged: {error.strerror or error}."
        raise ConfigError(message, path=path) from error


def _with_member(text: str, keys: tuple[str, ...], value: Any) -> str:
    members = find_members(text)
    span = members.get(keys)
    if value is None:
        return text if span is None else _without(text, span)
    if span is not None:
        return text[: span.start] + _encoded(value, len(keys)) + text[span.end :]
    depth = len(keys) - 1
    while keys[:depth] not in members:
        depth -= 1
        value = {keys[depth + 1]: value}
    inner = [one for own, one in members.items() if own and own[:-1] == keys[:depth]]
    return _inserted(text, members[keys[:depth]], inner, keys[depth], value, depth + 1)


def _inserted(
    text: str, parent: MemberSpan, inner: list[MemberSpan], key: str, value: Any, depth: int
) -> str:
    """After the last member of an object, whatever comments follow it."""
    member = f"\n{_INDENT * depth}{json.encode(key).decode()}: {_encoded(value, depth)}"
    if not inner:
        return (
            f"{text[: parent.start + 1]}{member}\n{_INDENT * (depth - 1)}{text[parent.start + 1 :].lstrip()}"
        )
    last = max(span.end for span in inner)
    rest = text[last:]
    return f"{text[:last]},{member}{rest[1:] if rest.startswith(',') else rest}"


def _without(text: str, span: MemberSpan) -> str:
    """Its own comma goes with it; if it is the last one, the comma before."""
    start, end = span.key, span.end
    after = text[end:]
    if after.lstrip().startswith(","):
        end += after.index(",") + 1
        line = text[end:]
        end += len(line) - len(line.lstrip(" \t"))
        if text[end : end + 1] == "\n" and not text[text.rfind("\n", 0, start) + 1 : start].strip():
            return text[: text.rfind("\n", 0, start) + 1] + text[end + 1 :]
        return text[:start] + text[end:]
    before = text[:start].rstrip()
    return before.removesuffix(",") + text[end:]


def _encoded(value: Any, depth: int) -> str:
    text = json.format(json.encode(value), indent=len(_INDENT)).decode()
    return text.replace("\n", f"\n{_INDENT * depth}")
