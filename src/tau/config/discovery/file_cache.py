"""What files say at their start, kept between runs: an unchanged file is not read again."""

import stat
from os import stat_result
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, json

from tau.base import log
from tau.base.errors import ConfigError
from tau.base.files import make_private, write_atomic
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.text import clean_line, shortened
from tau.config.discovery.front_matter import parse_front_matter
from tau.config.json_file import read_limited

MAX_FILE_BYTES = 128 * KIB
MAX_CACHE_BYTES = 8 * MIB
MAX_ENTRIES = 5_000
SUMMARY_CHARS = 300


class FileHead(Struct, frozen=True, array_like=True):
    """A file's fields, the first line of its body, and why it is unusable. `mark` says whether it changed."""

    mark: tuple[int, int, int]
    fields: dict[str, Any] = {}
    summary: str = ""
    note: str = ""
    problem: str = ""
    line: int | None = None


class FileCache:
    """`heads.json` in the cache folder; anything wrong with it means that all files are read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, FileHead] | None = None
        self._changed = False

    def open(self) -> dict[str, FileHead]:
        """Call it before several threads ask: each would begin with separate entries."""
        if self._entries is None:
            self._entries = self._load()
        return self._entries

    def head(self, path: str, info: stat_result) -> FileHead:
        """The start of a file, read only if it has changed."""
        entries = self.open()
        mark = (info.st_ino, info.st_mtime_ns, info.st_size)
        known = entries.get(path)
        if known is None or known.mark != mark:
            entries[path] = known = read_head(Path(path), info)
            self._changed = True
        return known

    def save(self) -> None:
        """Write what was read, for the next start. A failure costs only time."""
        if not self._changed or self._entries is None:
            return
        self._changed = False
        entries = dict(list(self._entries.items())[-MAX_ENTRIES:])
        try:
            make_private(self._path.parent)
            write_atomic(self._path, json.encode(entries), mode=0o600)
        except OSError as error:
            log.warning("The cache of skills and commands cannot be written.", error)

    def _load(self) -> dict[str, FileHead]:
        try:
            return json.decode(read_limited(self._path, MAX_CACHE_BYTES), type=dict[str, FileHead])
        except FileNotFoundError:
            return {}
        except (ConfigError, DecodeError, UnicodeDecodeError, RecursionError) as error:
            log.warning("The cache of skills and commands is damaged; it will be rebuilt.", error)
            return {}


def read_head(path: Path, info: stat_result) -> FileHead:
    """Read the start of a file; what is wrong with it becomes its `problem`."""
    mark = (info.st_ino, info.st_mtime_ns, info.st_size)
    try:
        matter = parse_front_matter(read_text(path, info), path)
    except ConfigError as error:
        where = f"{error.path}:{error.line}: " if error.line is not None else f"{error.path}: "
        return FileHead(mark, problem=str(error).removeprefix(where), line=error.line)
    lines = (line.strip().lstrip("#>*- ") for line in matter.body.splitlines())
    summary = shortened(clean_line(next((line for line in lines if line), "")), SUMMARY_CHARS)
    return FileHead(mark, matter.fields, summary, matter.note)


def read_text(path: Path, info: stat_result | None = None) -> str:
    """The text of a file, whatever is in its place. Raises ConfigError."""
    if info is not None and stat.S_ISREG(info.st_mode) and info.st_size > MAX_FILE_BYTES:
        raise ConfigError(f"The file is larger than {format_bytes(MAX_FILE_BYTES)}.", path=path)
    try:
        text = read_limited(path, MAX_FILE_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"The file cannot be read: {error.strerror}.", path=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError("The file is not UTF-8 text.", path=path) from error
    if (at := text.find("\0")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise ConfigError("The file has a NUL character, so it is not text.", path=path, line=line)
    return text
