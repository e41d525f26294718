"""Hand-written JSON files: errors name the line, and changing one key preserves the rest."""

import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Raw, Struct
from msgspec import json as fast_json

from tau.base.errors import ConfigError
from tau.base.files import locked, make_private, open_at_once, write_atomic
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes

json = late("json")

MAX_BYTES = 4 * MIB
LOCK_TIMEOUT_S = 30

_TOKEN = r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+'


class JsonFile(Struct, frozen=True):
    """A file with a JSON object; `content` is empty if the file is missing."""

    path: Path
    data: bytes
    content: dict[str, Any]

    def line_of(self, *keys: str | int) -> int | None:
        """The line of a key or element. The keys `a`, `b` also match the dotted key `a.b`."""
        return find_line(self.data.decode(), *keys)

    def error(self, message: str, *keys: str | int) -> ConfigError:
        return ConfigError(message, path=self.path, line=self.line_of(*keys) if keys else None)


def read_json(path: Path) -> JsonFile:
    """Read a JSON object. Raises ConfigError with path and line; a missing or empty file is `{}`."""
    try:
        data = read_limited(path, MAX_BYTES).removeprefix(BOM_UTF8)
    except FileNotFoundError:
        data = b""
    if not data.strip():
        return JsonFile(path, b"", {})
    try:
        content = fast_json.decode(data)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(path, data, error) from error
    if not isinstance(content, dict):
        raise ConfigError("The file must contain one JSON object: { ... }.", path=path, line=1)
    return JsonFile(path, data, content)


def change_json(path: Path, change: Callable[[dict[str, Raw]], None], *, mode: int | None = None) -> None:
    """Change a file's object safely: lock, read again, replace atomically.

    Members that `change` does not touch keep their text. A broken file is rejected and left unchanged.
    """
    try:
        make_private(path.parent)
        with locked(path, timeout_s=LOCK_TIMEOUT_S):
            data = read_json(path).data
            members = fast_json.decode(data, type=dict[str, Raw]) if data else {}
            before = fast_json.encode(members)
            change(members)
            after = fast_json.encode(members)
            if after != before:
                write_atomic(path, fast_json.format(after, indent=2) + b"\n", mode=mode)
    except OSError as error:
        message = f"Cannot save the file; it is unchanged: {error.strerror or error}."
        raise ConfigError(message, path=path) from error


def find_line(text: str, *keys: str | int) -> int | None:
    """The line, from 1, of a key or element in valid JSON text."""
    wanted = ".".join(map(str, keys))
    found = None
    for place, offset in _key_offsets(text):
        if ".".join(map(str, place)) == wanted:
            found = offset
    return None if found is None else text.count("\n", 0, found) + 1


def _key_offsets(text: str) -> Iterator[tuple[list[str | int], int]]:
    """Yield the path and offset of every key and element of valid JSON text."""
    steps: list[str | int] = []
    at_key = False
    for match in re.finditer(_TOKEN, text):
        token = match.group()
        if at_key and token[0] == '"':
            steps[-1] = fast_json.decode(token)
            at_key = False
            yield steps, match.start()
            continue
        if token not in "}],:" and steps and isinstance(steps[-1], int):
            yield steps, match.start()
        match token:
            case "{":
                steps.append("")
                at_key = True
            case "[":
                steps.append(0)
            case "}" | "]":
                steps.pop()
                at_key = False
            case ",":
                last = steps[-1]
                at_key = isinstance(last, str)
                if isinstance(last, int):
                    steps[-1] = last + 1
            case _:
                pass


def read_limited(path: Path, max_bytes: int) -> bytes:
    """Read a regular file. Raises ConfigError, and FileNotFoundError if it is missing."""
    try:
        with open(path, "rb", opener=open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError("Not a regular file.", path=path)
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"The file cannot be read: {error.strerror or error}.", path=path) from error
    if len(data) > max_bytes:
        raise ConfigError(f"The file is larger than {format_bytes(max_bytes)}.", path=path)
    return data


def _explain(path: Path, data: bytes, error: Exception) -> ConfigError:
    """Locate the error in a broken file with the standard parser, which is slower but clearer."""
    try:
        json.loads(data.decode())
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        return ConfigError("The file is not UTF-8 text.", path=path, line=line)
    except json.JSONDecodeError as fault:
        rule = "Use plain JSON without comments or trailing commas."
        return ConfigError(
            f"Invalid JSON: {fault.msg} at column {fault.colno}. {rule}", path=path, line=fault.lineno
        )
    except RecursionError:
        return ConfigError("The file is nested too deeply.", path=path)
    except ValueError:
        return ConfigError("The file has a number with too many digits.", path=path)
    offset = re.search(r"\(byte (\d+)\)", str(error))
    at = data.count(b"\n", 0, int(offset[1])) + 1 if offset else None
    return ConfigError(f"Invalid JSON: {error}.", path=path, line=at)
