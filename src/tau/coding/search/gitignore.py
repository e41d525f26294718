"""Parse ignore files (`.gitignore`, `.ignore`, `.rgignore`, `.git/info/exclude`) into rules per folder."""

import re
from collections.abc import Iterable
from pathlib import Path

from tau.coding.search.globs import BadGlob, to_regex

MAX_FILE_BYTES = 1024 * 1024
_PLAIN_NAME = r"[^*?\[\]{}\\]+"
_PLAIN_ENDING = r"\*\.([^*?\[\]{}\\./]+)"


class IgnoreRules:
    """The rules of one ignore file, indexed for fast lookup. The last matching line wins."""

    def __init__(self, lines: Iterable[str], start: int, prefix: str = "") -> None:
        """Paths to check, cut at `start` and prefixed with `prefix`, are relative to the file's folder."""
        self._start = start
        self._prefix = prefix
        self._ignores: list[bool] = []
        self._names: dict[tuple[str, bool], int] = {}
        self._endings: dict[tuple[str, bool], int] = {}
        self._globs: list[tuple[int, bool, bool, re.Pattern[str]]] = []  # line, for folders only, by name
        for line in lines:
            self._add(line)
        self._globs.reverse()

    def __bool__(self) -> bool:
        return bool(self._ignores)

    def verdict(self, name: str, path: str, is_dir: bool) -> bool | None:
        """Return True if the entry is ignored, False if explicitly included, None if no line matches."""
        best = self._names.get((name, False), -1)
        ending = name.rpartition(".")
        if ending[1]:
            best = max(best, self._endings.get((ending[2], False), -1))
        if is_dir:
            best = max(best, self._names.get((name, True), -1))
            if ending[1]:
                best = max(best, self._endings.get((ending[2], True), -1))
        for index, only_dirs, by_name, glob in self._globs:
            if index < best:
                break
            if only_dirs and not is_dir:
                continue
            if glob.fullmatch(name if by_name else self._prefix + path[self._start :]):
                best = index
                break
        return None if best < 0 else self._ignores[best]

    def _add(self, line: str) -> None:
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            return
        if not line.endswith("\\ "):
            line = line.rstrip()
        ignores = not line.startswith("!")
        line = line[not ignores :]
        line = line[1:] if line.startswith(("\\!", "\\#")) else line
        anchored = line.startswith("/")
        line = line[anchored:]
        only_dirs = line.endswith("/")
        line = line[:-1] if only_dirs else line
        if not line:
            return
        index = len(self._ignores)
        by_name = not anchored and "/" not in line
        if by_name and re.fullmatch(_PLAIN_NAME, line):
            self._names[line, only_dirs] = index
        elif by_name and (ending := re.fullmatch(_PLAIN_ENDING, line)):
            self._endings[ending[1], only_dirs] = index
        else:
            glob = f"{line}/*" if line.endswith("/**") else line
            try:
                compiled = re.compile(to_regex(glob), re.DOTALL)
            except BadGlob:
                return
            self._globs.append((index, only_dirs, by_name, compiled))
        self._ignores.append(ignores)


def load(file: Path, start: int, prefix: str = "") -> IgnoreRules | None:
    """Load the rules of a file; None if it has none or is unreadable."""
    try:
        if not file.is_file() or file.stat().st_size > MAX_FILE_BYTES:
            return None
        text = file.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError:
        return None
    return IgnoreRules(text.split("\n"), start, prefix) or None
