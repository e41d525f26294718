"""The files and the source that a tool call writes, read from its arguments, complete or not."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

_PATH_KEYS = ("path", "file_path", "filePath", "file", "filename")
_HEADER = re.compile(r"(?:¶|\*\*\* (?:Update|Add) File: |\+\+\+ (?:b/)?)(?P<path>[^\n]+?)(?:#\w*)?\s*")
_REMOVED = ("old_text", "old_string", "oldText", "pat")
_MAX_DEPTH = 20


class WrittenFile(Struct, frozen=True):
    path: str
    source: str


def written_files(arguments: Mapping[str, Any]) -> list[WrittenFile]:
    """One for each file that the call names. A patch writes the rows that it adds."""
    patch = arguments.get("input")
    if isinstance(patch, str):
        return list(_patched_files(patch))
    named = [arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)]
    listed = arguments.get("paths")
    named += [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    skipped = {*_PATH_KEYS, "paths"}
    source = "\n".join(_texts({key: value for key, value in arguments.items() if key not in skipped}))
    return [WrittenFile(path, source) for path in named if isinstance(path, str)]


def texts_of(arguments: Mapping[str, Any]) -> list[str]:
    """All text in the arguments but what the call removes; of a patch, the source that it adds."""
    files = written_files(arguments) if "input" in arguments else []
    return [file.source for file in files] or list(_texts(arguments))


def _patched_files(patch: str) -> Iterator[WrittenFile]:
    path: str | None = None
    rows: list[str] = []
    for line in patch.splitlines():
        if header := _HEADER.fullmatch(line):
            if path is not None:
                yield WrittenFile(path, "\n".join(rows))
            path, rows = header["path"], []
        elif line.startswith("+"):
            rows.append(line[1:])
    if path is not None:
        yield WrittenFile(path, "\n".join(rows))


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, (dict, list)):
        keyed = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in keyed:
            if key not in _REMOVED:
                yield from _texts(item, depth + 1)
