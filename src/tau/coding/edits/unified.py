"""Parse unified diffs by `diff -u`, git and models, tolerating wrong counts and line numbers."""

import os
import re
from pathlib import Path
from typing import Any, Literal

from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.hunks import HunkRow, PatchHunk, parse_row
from tau.coding.edits.multi_file_patch import MultiFilePatch, PatchSection, unwrapped
from tau.coding.files.paths import resolve

datetime = late("datetime")

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LOOSE_HUNK = re.compile(r"@@(?!@)\s*(.*?)\s*(?:@@.*)?$")
_MARKS = ("--- ", "+++ ", "@@ ", "diff --git ")
NO_FILE = "/dev/null"
# Abbreviated ids of the empty blob, for both hash algorithms of git.
_EMPTY = re.compile(r"(?:e69de29|473a0f4)[0-9a-f]*$")
_INDEX = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_DATE = re.compile(r"\t((?:1970-01-01|1969-12-31) \d\d:\d\d:\d\d)(?:\.0+)? ([+-]\d\d)(\d\d)\s*$")
_SIDES = ("a/", "b/", "i/", "w/", "c/", "o/")
_LINK_OR_MODULE = ("120000", "160000")


def parse(text: str, cwd: Path) -> MultiFilePatch:
    """Parse the diff into sections. Raises ToolError if it is malformed or may be truncated."""
    return _Reader(unwrapped(text, lambda line: line.startswith(_MARKS))).patch(cwd)


class _DiffFile:
    """One file of the diff under construction; `git` is its `diff --git` line, if any."""

    def __init__(self, git: str) -> None:
        self.git = git.removeprefix("diff --git ").rstrip()
        self.old_name = ""
        self.new_name = ""
        self._deleted = False
        self.hunks: list[PatchHunk] = []
        self.notes: list[str] = []
        self._headers: dict[str, str] = {}

    def name(self, old: str, new: str) -> None:
        """Record the names from the `--- old` and `+++ new` lines."""
        self.old_name, self.new_name = _parse_name(old), _parse_name(new)
        self._deleted = _has_epoch_date(new)
        if _has_epoch_date(old):
            self.old_name = NO_FILE

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
                self._headers[key] = line[len(key) + 1 :].rstrip()
                return True
        index = _INDEX.match(line)
        if index is not None:
            self._headers["index"] = index[0]
        return index is not None

    def section(self, cwd: Path) -> PatchSection | None:
        """Return the operation on the file; None for a mode change, which is not supported."""
        headers = self._headers
        for mode in ("old mode", "new mode", "deleted file mode", "new file mode"):
            if headers.get(mode) in _LINK_OR_MODULE:
                raise ToolError(f"{self._title} is a symbolic link or a submodule; use bash to change it.")
        if "new mode" in headers:
            mode = headers["new mode"]
            self.notes.append(f"The mode of {self._title} was not changed to {mode}; use chmod in bash.")
        if "rename from" in headers or "rename to" in headers:
            source, target = self._paths_of("rename", cwd)
            if not self.hunks and headers.get("similarity index", "100%") != "100%":
                raise self._truncated("changes, but has no hunks")
            return self._section("update", source, move_to=target)
        if "copy from" in headers or "copy to" in headers:
            source, target = self._paths_of("copy", cwd)
            return self._section("create", target, copy_of=source)
        if self.old_name == NO_FILE or "new file mode" in headers:
            return self._creation(cwd)
        if self.new_name == NO_FILE or self._deleted or "deleted file mode" in headers:
            path = self._existing(cwd, (self.new_name, self.old_name or self._git_name()))
            return self._section("delete", path, only_empty=not self.hunks)
        if not self.hunks:
            if "new mode" in headers and "old mode" in headers:
                return None
            raise self._truncated("has no hunks")
        path = self._existing(cwd, (self.new_name, self.old_name))
        if not os.path.lexists(path) and all(not hunk.old and not hunk.line for hunk in self.hunks):
            return self._section("create", path)
        return self._section("update", path)

    def _section(
        self, kind: Literal["create", "update", "delete"], path: Path, **fields: Any
    ) -> PatchSection:
        return PatchSection(kind=kind, path=path, hunks=tuple(self.hunks), notes=tuple(self.notes), **fields)

    @property
    def _title(self) -> str:
        names = (self.new_name, self.old_name, self._git_name())
        return next((_strip_side(name) for name in names if name not in ("", NO_FILE)), "a file")

    def _creation(self, cwd: Path) -> PatchSection:
        mode = self._headers.get("new file mode", "")
        if mode.endswith("755"):
            self.notes.append(f"The patch sets mode {mode}; use chmod in bash if needed.")
        if not self.hunks and not _EMPTY.search(self._headers.get("index", "")):
            raise self._truncated("is new but has no lines")
        if any(hunk.old for hunk in self.hunks):
            raise ToolError(f"{self._title} is new, but has lines without `+`.")
        name = self.new_name or self._git_name()
        if self.git or (self.old_name == NO_FILE and name.startswith(_SIDES)):
            name = _strip_side(name)
        return self._section("create", resolve(name, cwd, existing=False))

    def _paths_of(self, verb: str, cwd: Path) -> tuple[Path, Path]:
        old = _parse_name(self._headers.get(f"{verb} from", ""))
        new = _parse_name(self._headers.get(f"{verb} to", ""))
        # If a name is truncated, the `diff --git` line still has both in full.
        if not old or not new or not _names_both(self.git, old, new):
            raise self._truncated(f"has an incomplete {verb}")
        return resolve(old, cwd), resolve(new, cwd, existing=False)

    def _existing(self, cwd: Path, names: tuple[str, ...]) -> Path:
        """Find the existing file: without `a/` or `b/`, else verbatim, else without the first folder."""
        real_names = [name for name in names if name not in ("", NO_FILE)]
        candidates = [_strip_side(name) for name in real_names] + real_names
        candidates += [name.partition("/")[2] for name in real_names if name.partition("/")[2]]
        if not candidates:
            raise self._truncated("has no name")
        paths = [resolve(name, cwd) for name in candidates]
        return next((path for path in paths if os.path.lexists(path)), paths[0])

    def _git_name(self) -> str:
        """Return the name in a `diff --git` line that repeats it, as all but renames do."""
        if self.git.startswith('"'):
            return _parse_name(self.git[: self.git.index('"', 1) + 1]) if self.git.count('"') > 1 else ""
        half = len(self.git) // 2
        left, right = self.git[:half], self.git[half + 1 :]
        return left if _strip_side(left) == _strip_side(right) else ""

    def _truncated(self, what: str) -> ToolError:
        return ToolError(f"{self._title} {what} in the patch, which may be truncated. Nothing was changed.")


def _parse_name(text: str) -> str:
    """Decode a file name from a diff, which may be quoted and followed by a tab and a date."""
    text = text.strip("\r\n")
    if not text.startswith('"'):
        return text.partition("\t")[0].rstrip()
    inner = text[1 : text.rindex('"')] if text.count('"') > 1 else text[1:]

    def unescape(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(unescape, inner.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _has_epoch_date(text: str) -> bool:
    """Whether a name carries the epoch date that `diff -N` writes for a missing file."""
    match = _DATE.search(text)
    if match is None:
        return False
    return datetime.datetime.fromisoformat(f"{match[1]}{match[2]}:{match[3]}").timestamp() == 0


def _strip_side(name: str) -> str:
    """Strip the `a/` or `b/` prefix."""
    return name[2:] if name.startswith(_SIDES) and len(name) > 2 else name


def _names_both(git: str, old: str, new: str) -> bool:
    return '"' in git or (git.endswith(f"/{new}") and f"/{old} " in git) or git == f"{old} {new}"


class _Reader:
    """Single-pass parser; `at` is the next line."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._files: list[_DiffFile] = []

    def patch(self, cwd: Path) -> MultiFilePatch:
        while self._at < len(self._lines):
            self._parse_line(self._lines[self._at])
        if not self._files:
            raise ToolError(
                "Not a unified diff: it names no file. Write `--- a/path`, `+++ b/path`, then hunks "
                "that begin with `@@ -line,count +line,count @@`."
            )
        sections: list[PatchSection] = []
        notes: list[str] = []
        for file in self._files:
            section = file.section(cwd)
            if section is None:
                notes += file.notes
            else:
                sections.append(section)
        if not sections:
            raise ToolError("\n".join(notes))
        return MultiFilePatch(tuple(sections), tuple(notes))

    def _parse_line(self, line: str) -> None:
        file = self._files[-1] if self._files else None
        if line.startswith("diff --git "):
            self._files.append(_DiffFile(line))
        elif self._is_names(self._at):
            if file is None or file.old_name:
                file = _DiffFile("")
                self._files.append(file)
            file.name(line[4:], self._lines[self._at + 1][4:])
            self._at += 1
        elif line.startswith("@@"):
            if file is None or not file.old_name:
                raise self._broken("comes before any `--- a/path` and `+++ b/path`")
            file.hunks.append(self._hunk(file))
            return
        elif file is not None and not file.header(line) and line.strip() and line[0] in " +-":
            if not self._is_signature(self._at):
                raise self._broken("is outside a hunk")
            self._at = len(self._lines)
        self._at += 1

    def _hunk(self, file: _DiffFile) -> PatchHunk:
        """Parse one hunk: as many lines as its header says or, if wrong, all up to the next header."""
        number, header = len(file.hunks) + 1, self._lines[self._at]
        counts = _HUNK.match(header)
        loose = _LOOSE_HUNK.match(header)
        if counts is None and loose is None:
            raise self._broken("is a merge header, with more than two sides")
        old_left = int(counts[2] or 1) if counts is not None else 0
        new_left = int(counts[4] or 1) if counts is not None else 0
        self._at += 1
        rows: list[HunkRow] = []
        unended = {" ": False, "-": False, "+": False}
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("\\"):
                unended[rows[-1].kind if rows else " "] = True
                self._at += 1
                continue
            if self._ends_hunk(old_left, new_left):
                break
            row = self._row(line)
            old_left -= row.kind != "+"
            new_left -= row.kind != "-"
            rows.append(row)
            self._at += 1
        self._check_length(number, header, old_left, new_left)
        if not rows:
            raise ToolError(f"Hunk {number} (`{header[:100]}`) has no lines; the patch may be truncated.")
        if counts is not None and (old_left or new_left):
            file.notes.append(f"Hunk {number} has a wrong line count in its header; it was recounted.")
        scope = loose[1] if counts is None and loose is not None and loose[1] not in ("", "...") else ""
        return PatchHunk(
            number=number,
            rows=tuple(rows),
            scopes=(scope,) if scope else (),
            line=None if counts is None else int(counts[1]),
            at_end=any(unended.values()),
            old_unended=unended[" "] or unended["-"],
            new_unended=unended[" "] or unended["+"],
        )

    def _ends_hunk(self, old_left: int, new_left: int) -> bool:
        line = self._lines[self._at]
        if line.startswith(("@@", "diff --git ", "diff -")):
            return True
        if self._is_names(self._at):
            # `--- x` and `+++ y` may be removed and added lines, if the header counts them.
            third = self._lines[self._at + 2] if self._at + 2 < len(self._lines) else "@@"
            last_two = old_left == 1 and new_left == 1
            return not (old_left > 0 and new_left > 0 and (last_two or not third.startswith("@@")))
        return old_left <= 0 and new_left <= 0 and not self._more_rows()

    def _more_rows(self) -> bool:
        """Whether more hunk lines follow than the header counts."""
        for index in range(self._at, len(self._lines)):
            line = self._lines[index]
            if line.strip():
                outside = line.startswith("@@") or self._is_names(index) or self._is_signature(index)
                return line[0] in " +-" and not outside
        return False

    def _row(self, line: str) -> HunkRow:
        if line == "\r":
            return HunkRow(" ", line)
        if line[:1] not in ("", " ", "-", "+"):
            raise self._broken("must begin with ` `, `-` or `+`, like every hunk line")
        return parse_row(line)

    def _check_length(self, number: int, header: str, old_left: int, new_left: int) -> None:
        if self._at >= len(self._lines) and (old_left > 0 or new_left > 0):
            raise ToolError(
                f"Hunk {number} (`{header[:80]}`) has fewer lines than its header says; the patch may "
                "be truncated. Nothing was changed; resend it, with the right counts in the last header."
            )

    def _is_names(self, at: int) -> bool:
        lines = self._lines
        return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")

    def _is_signature(self, at: int) -> bool:
        """Whether this is the `-- ` and version line of a mailed git patch."""
        rest = [line for line in self._lines[at + 1 :] if line.strip()]
        return self._lines[at].rstrip() == "--" and len(rest) <= 1

    def _broken(self, what: str) -> ToolError:
        line = self._lines[self._at]
        return ToolError(f"Line {self._at + 1} of the patch {what}: {line[:200]!r}. Nothing was changed.")
