"""The per-file headers of a unified diff: file names, git's extended headers, and the resulting operation."""

import os
import re
from pathlib import Path

from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.hunks import PatchHunk
from tau.coding.edits.multi_file_patch import PatchSection
from tau.coding.files.paths import resolve

datetime = late("datetime")

NOTHING = "/dev/null"
# Abbreviated ids of the empty blob, for both hash algorithms of git.
_EMPTY = re.compile(r"(?:e69de29|473a0f4)[0-9a-f]*$")
_INDEX = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_DATE = re.compile(r"\t((?:1970-01-01|1969-12-31) \d\d:\d\d:\d\d)(?:\.0+)? ([+-]\d\d)(\d\d)\s*$")
_SIDES = ("a/", "b/", "i/", "w/", "c/", "o/")
_LINK_OR_MODULE = ("120000", "160000")


class DiffFile:
    """One file of the diff under construction; `git` is its `diff --git` line, if any."""

    def __init__(self, git: str) -> None:
        self.git = git.removeprefix("diff --git ").rstrip()
        self.old_name = ""
        self.new_name = ""
        self._gone = False
        self.hunks: list[PatchHunk] = []
        self.notes: list[str] = []
        self._said: dict[str, str] = {}

    def name(self, old: str, new: str) -> None:
        """Record the names from the `--- old` and `+++ new` lines."""
        self.old_name, self.new_name = name_of(old), name_of(new)
        self._gone = is_missing(new)
        if is_missing(old):
            self.old_name = NOTHING

    def header(self, line: str) -> bool:
        """Record an extended git header; return False if the line is not one."""
        if line.startswith(("Binary files ", "GIT binary patch")):
            raise ToolError(f"The patch changes a binary file ({self._title}), which text edits cannot do.")
        if not self.git or self.old_name:
            return False
        for key in (
            *("old mode", "new mode", "deleted file mode", "new file mode", "similarity index"),
            *("dissimilarity index", "rename from", "rename to", "copy from", "copy to"),
        ):
            if line.startswith(key + " "):
                self._said[key] = line[len(key) + 1 :].rstrip()
                return True
        index = _INDEX.match(line)
        if index is not None:
            self._said["index"] = index[0]
        return index is not None

    def sections(self, cwd: Path) -> list[PatchSection]:
        """Return the operations on the file; none for a mode change, which is not supported."""
        said = self._said
        for mode in ("old mode", "new mode", "deleted file mode", "new file mode"):
            if said.get(mode) in _LINK_OR_MODULE:
                raise ToolError(f"{self._title} is a symbolic link or a submodule; use bash to change it.")
        if "new mode" in said:
            mode = said["new mode"]
            self.notes.append(f"The mode of {self._title} was not changed to {mode}; use chmod in bash.")
        if "rename from" in said or "rename to" in said:
            return [self._rename(cwd)]
        if "copy from" in said or "copy to" in said:
            source, target = self._pair("copy", cwd)
            return [
                PatchSection(
                    kind="create", path=target, copy_of=source, hunks=tuple(self.hunks), notes=self._notes
                )
            ]
        if self.old_name == NOTHING or "new file mode" in said:
            return [self._creation(cwd)]
        if self.new_name == NOTHING or self._gone or "deleted file mode" in said:
            return [self._deletion(cwd)]
        if not self.hunks:
            if "new mode" in said and "old mode" in said:
                return []
            raise self._cut_off("has no hunks")
        path = self._path(cwd, (self.new_name, self.old_name))
        if not os.path.lexists(path) and all(not hunk.old and not hunk.line for hunk in self.hunks):
            return [PatchSection(kind="create", path=path, hunks=tuple(self.hunks), notes=self._notes)]
        return [PatchSection(kind="update", path=path, hunks=tuple(self.hunks), notes=self._notes)]

    @property
    def _notes(self) -> tuple[str, ...]:
        return tuple(self.notes)

    @property
    def _title(self) -> str:
        names = (self.new_name, self.old_name, self._both_names())
        return next((_stripped(name) for name in names if name not in ("", NOTHING)), "a file")

    def _creation(self, cwd: Path) -> PatchSection:
        mode = self._said.get("new file mode", "")
        if mode.endswith("755"):
            self.notes.append(f"The patch sets mode {mode}; use chmod in bash if needed.")
        if not self.hunks and not _EMPTY.search(self._said.get("index", "")):
            raise self._cut_off("is new but has no lines")
        if any(hunk.old for hunk in self.hunks):
            raise ToolError(f"{self._title} is new, but has lines without `+`.")
        name = self.new_name or self._both_names()
        if self.git or (self.old_name == NOTHING and name.startswith(_SIDES)):
            name = _stripped(name)
        path = resolve(name, cwd, existing=False)
        return PatchSection(kind="create", path=path, hunks=tuple(self.hunks), notes=self._notes)

    def _deletion(self, cwd: Path) -> PatchSection:
        name = self.old_name or self._both_names()
        path = self._path(cwd, (self.new_name, name))
        return PatchSection(
            kind="delete", path=path, hunks=tuple(self.hunks), only_empty=not self.hunks, notes=self._notes
        )

    def _rename(self, cwd: Path) -> PatchSection:
        source, target = self._pair("rename", cwd)
        if not self.hunks and self._said.get("similarity index", "100%") != "100%":
            raise self._cut_off("changes, but has no hunks")
        return PatchSection(
            kind="update", path=source, move_to=target, hunks=tuple(self.hunks), notes=self._notes
        )

    def _pair(self, verb: str, cwd: Path) -> tuple[Path, Path]:
        old = name_of(self._said.get(f"{verb} from", ""))
        new = name_of(self._said.get(f"{verb} to", ""))
        # If a name is truncated, the `diff --git` line still has both in full.
        if not old or not new or not _names_both(self.git, old, new):
            raise self._cut_off(f"has an incomplete {verb}")
        return resolve(old, cwd), resolve(new, cwd, existing=False)

    def _path(self, cwd: Path, names: tuple[str, ...]) -> Path:
        """Find the existing file: without `a/` or `b/`, else verbatim, else without the first folder."""
        real_names = [name for name in names if name not in ("", NOTHING)]
        candidates = [_stripped(name) for name in real_names] + real_names
        candidates += [name.partition("/")[2] for name in real_names if name.partition("/")[2]]
        if not candidates:
            raise self._cut_off("has no name")
        paths = [resolve(name, cwd) for name in candidates]
        return next((path for path in paths if os.path.lexists(path)), paths[0])

    def _both_names(self) -> str:
        """Return the name in a `diff --git` line that repeats it, as all but renames do."""
        if self.git.startswith('"'):
            return name_of(self.git[: self.git.index('"', 1) + 1]) if self.git.count('"') > 1 else ""
        half = len(self.git) // 2
        left, right = self.git[:half], self.git[half + 1 :]
        return left if _stripped(left) == _stripped(right) else ""

    def _cut_off(self, what: str) -> ToolError:
        return ToolError(f"{self._title} {what} in the patch, which may be truncated. Nothing was changed.")


def name_of(text: str) -> str:
    """Decode a file name from a diff, which may be quoted and followed by a tab and a date."""
    text = text.strip("\r\n")
    if not text.startswith('"'):
        return text.partition("\t")[0].rstrip()
    inner = text[1 : text.rindex('"')] if text.count('"') > 1 else text[1:]

    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(plain, inner.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def is_missing(text: str) -> bool:
    """Whether a name carries the epoch date that `diff -N` writes for a missing file."""
    match = _DATE.search(text)
    if match is None:
        return False
    return datetime.datetime.fromisoformat(f"{match[1]}{match[2]}:{match[3]}").timestamp() == 0


def _stripped(name: str) -> str:
    """Strip the `a/` or `b/` prefix."""
    return name[2:] if name.startswith(_SIDES) and len(name) > 2 else name


def _names_both(git: str, old: str, new: str) -> bool:
    return '"' in git or (git.endswith(f"/{new}") and f"/{old} " in git) or git == f"{old} {new}"
