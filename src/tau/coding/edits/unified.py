"""Parse unified diffs by `diff -u`, git and models, tolerating wrong counts and line numbers."""

import re
from pathlib import Path

from tau.base.errors import ToolError
from tau.coding.edits.diff_files import DiffFile
from tau.coding.edits.hunks import HunkRow, PatchHunk
from tau.coding.edits.multi_file_patch import MultiFilePatch, PatchSection
from tau.coding.edits.patch_wrapper import unwrapped

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LOOSE_HUNK = re.compile(r"@@(?!@)\s*(.*?)\s*(?:@@.*)?$")
_MARKS = ("--- ", "+++ ", "@@ ", "diff --git ")


def parse(text: str, cwd: Path) -> MultiFilePatch:
    """Parse the diff into sections. Raises ToolError if it is malformed or may be truncated."""
    return _Reader(unwrapped(text, lambda line: line.startswith(_MARKS))).patch(cwd)


class _Reader:
    """Single-pass parser; `at` is the next line."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._files: list[DiffFile] = []

    def patch(self, cwd: Path) -> MultiFilePatch:
        while self._at < len(self._lines):
            self._head_line(self._lines[self._at])
        if not self._files:
            raise ToolError(
                "Not a unified diff: it names no file. Write `--- a/path`, `+++ b/path`, then hunks "
                "that begin with `@@ -line,count +line,count @@`."
            )
        sections: list[PatchSection] = []
        notes: list[str] = []
        for file in self._files:
            found = file.sections(cwd)
            sections += found
            notes += [] if found else file.notes
        if not sections:
            raise ToolError("\n".join(notes))
        return MultiFilePatch(tuple(sections), tuple(notes))

    def _head_line(self, line: str) -> None:
        file = self._files[-1] if self._files else None
        if line.startswith("diff --git "):
            self._files.append(DiffFile(line))
        elif self._is_names(self._at):
            if file is None or file.old_name:
                file = DiffFile("")
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

    def _hunk(self, file: DiffFile) -> PatchHunk:
        """Parse one hunk: as many lines as its header says or, if wrong, all up to the next header."""
        number, header = len(file.hunks) + 1, self._lines[self._at]
        said = _HUNK.match(header)
        loose = _LOOSE_HUNK.match(header)
        if said is None and loose is None:
            raise self._broken("is a merge header, with more than two sides")
        old_left = int(said[2] or 1) if said is not None else 0
        new_left = int(said[4] or 1) if said is not None else 0
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
        if said is not None and (old_left or new_left):
            file.notes.append(f"Hunk {number} has a wrong line count in its header; it was recounted.")
        scope = loose[1] if said is None and loose is not None and loose[1] not in ("", "...") else ""
        return PatchHunk(
            number=number,
            rows=tuple(rows),
            scopes=(scope,) if scope else (),
            line=None if said is None else int(said[1]),
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
        match line[:1]:
            case "-":
                return HunkRow("-", line[1:])
            case "+":
                return HunkRow("+", line[1:])
            case "" | " ":
                return HunkRow(" ", line[1:])
            case "\r" if line == "\r":
                return HunkRow(" ", line)
            case _:
                raise self._broken("must begin with ` `, `-` or `+`, like every hunk line")

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
