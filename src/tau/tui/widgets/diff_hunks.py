"""Diffs as data: hunks of two texts or of a unified diff."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from tau.base.late import late
from tau.tui.text.clean import clean_line, clean_row

difflib = late("difflib")

_Kind = Literal["same", "added", "removed", "note"]

_HEADER = r"@@+ (?:-(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? )?(?:[^@]*?)@@+ ?(.*)"
_MAX_MATCHED_LINES = 20_000
"""Beyond this many changed lines, old and new together, show one replacement."""


class DiffLine(NamedTuple):
    """One line of a diff."""

    kind: _Kind
    text: str
    old_number: int | None = None
    new_number: int | None = None


class DiffHunk(NamedTuple):
    """Changed lines with some context around them."""

    lines: tuple[DiffLine, ...]
    section: str = ""
    """The section named by the diff, such as a function."""
    path: str = ""
    """The path, if a new file begins here."""


def diff_texts(old_text: str, new_text: str, context: int = 3) -> list[DiffHunk]:
    """Return the hunks between two texts, with context lines."""
    old, new = old_text.split("\n"), new_text.split("\n")
    if old[-1] == "" and new[-1] == "":
        old.pop()
        new.pop()
    elif not old_text or not new_text:
        old = [] if not old_text else old[: -1 if not old[-1] else None]
        new = [] if not new_text else new[: -1 if not new[-1] else None]
    hunks: list[DiffHunk] = []
    for group in _groups(_changes(old, new), max(context, 0)):
        lines: list[DiffLine] = []
        for change in group:
            if change.is_same:
                lines += [
                    DiffLine("same", old[at], at + 1, change.new_start + at - change.old_start + 1)
                    for at in range(change.old_start, change.old_end)
                ]
            else:
                lines += [
                    DiffLine("removed", old[at], old_number=at + 1)
                    for at in range(change.old_start, change.old_end)
                ]
                lines += [
                    DiffLine("added", new[at], new_number=at + 1)
                    for at in range(change.new_start, change.new_end)
                ]
        hunks.append(DiffHunk(tuple(lines)))
    return hunks


class _Change(NamedTuple):
    is_same: bool
    old_start: int
    old_end: int
    new_start: int
    new_end: int


def _changes(old: list[str], new: list[str]) -> list[_Change]:
    """Return equal and changed runs in order. Common prefix and suffix are skipped."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    old_end, new_end = len(old) - last, len(new) - last
    changes = [_Change(True, 0, first, 0, first)] if first else []
    if old_end - first + new_end - first > _MAX_MATCHED_LINES:
        changes.append(_Change(False, first, old_end, first, new_end))
    else:
        matcher = difflib.SequenceMatcher(None, old[first:old_end], new[first:new_end])
        changes += [
            _Change(tag == "equal", first + i1, first + i2, first + j1, first + j2)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        ]
    if last:
        changes.append(_Change(True, old_end, len(old), new_end, len(new)))
    return changes


def _groups(changes: list[_Change], context: int) -> Iterator[list[_Change]]:
    """Group nearby changes, with the unchanged lines between and around them."""
    group: list[_Change] = []
    for at, change in enumerate(changes):
        if not change.is_same:
            group.append(change)
            continue
        is_last = at == len(changes) - 1
        length = change.old_end - change.old_start
        if group and not is_last and length <= 2 * context:
            group.append(change)
            continue
        if group:
            if context:
                kept = min(context, length)
                group.append(
                    change._replace(old_end=change.old_start + kept, new_end=change.new_start + kept)
                )
            yield group
            group = []
        if not is_last and context:
            kept = min(context, length)
            group.append(change._replace(old_start=change.old_end - kept, new_start=change.new_end - kept))
    if any(not change.is_same for change in group):
        yield group


def clean_hunk(hunk: DiffHunk) -> DiffHunk:
    """Remove terminal control sequences from a hunk."""
    lines = tuple([line._replace(text=clean_row(line.text)) for line in hunk.lines])
    return DiffHunk(lines, clean_line(hunk.section), clean_line(hunk.path))


def parse_unified_diff(text: str) -> list[DiffHunk]:
    """Parse a unified diff; lines outside hunks become notes. Never fails."""
    return _Reader(text).hunks()


class _Reader:
    """Reads a unified diff line by line, tolerating wrong line numbers."""

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
        self._hunks: list[DiffHunk] = []
        self._lines_of_hunk: list[DiffLine] = []
        self._section = ""
        self._path = ""
        self._is_in_hunk = False
        self._old: int | None = None
        self._new: int | None = None
        self._old_left = self._new_left = 0

    def hunks(self) -> list[DiffHunk]:
        for at, line in enumerate(self._lines):
            if self._is_in_hunk and (self._old_left > 0 or self._new_left > 0) and line[:1] in "+- \\":
                self._content(line)
            elif line.startswith("@@"):
                self._start(line)
            elif self._begins_file(at):
                self._close()
                self._file(line)
            elif self._is_in_hunk and line[:1] in "+- \\":
                self._content(line)
            elif line.strip():
                self._close()
                self._note(line)
        self._close()
        return self._hunks

    def _begins_file(self, at: int) -> bool:
        line = self._lines[at]
        if line.startswith(("diff ", "index ", "+++ ")):
            return True
        return (
            line.startswith("--- ") and at + 1 < len(self._lines) and self._lines[at + 1].startswith("+++ ")
        )

    def _file(self, line: str) -> None:
        name = clean_line(line[4:].partition("\t")[0])
        if line.startswith("--- ") and name != "/dev/null":
            self._path = name.removeprefix("a/")
        elif line.startswith("+++ ") and name != "/dev/null":
            self._path = name.removeprefix("b/")

    def _start(self, line: str) -> None:
        self._close()
        self._is_in_hunk = True
        match = re.match(_HEADER, line)
        self._old = self._new = None
        self._old_left = self._new_left = 0
        self._section = clean_line(match[5]) if match else clean_line(line.strip("@ "))
        if match and match[1] is not None:
            self._old, self._new = int(match[1][:9]), int(match[3][:9])
            self._old_left = int((match[2] or "1")[:9])
            self._new_left = int((match[4] or "1")[:9])

    def _content(self, line: str) -> None:
        sign, text = line[:1], clean_row(line[1:])
        if sign == "\\":
            self._lines_of_hunk.append(DiffLine("note", text.strip()))
            return
        old, new = self._old, self._new
        if sign == "+":
            self._lines_of_hunk.append(DiffLine("added", text, None, new))
        elif sign == "-":
            self._lines_of_hunk.append(DiffLine("removed", text, old, None))
        else:
            self._lines_of_hunk.append(DiffLine("same", text, old, new))
        if sign != "+":
            self._old = None if old is None else old + 1
            self._old_left -= 1
        if sign != "-":
            self._new = None if new is None else new + 1
            self._new_left -= 1

    def _note(self, line: str) -> None:
        note = DiffLine("note", clean_row(line))
        if self._hunks and not self._path and all(line.kind == "note" for line in self._hunks[-1].lines):
            self._hunks[-1] = self._hunks[-1]._replace(lines=(*self._hunks[-1].lines, note))
        else:
            self._hunks.append(DiffHunk((note,), "", self._path))
            self._path = ""

    def _close(self) -> None:
        self._is_in_hunk = False
        if self._lines_of_hunk:
            self._hunks.append(DiffHunk(tuple(self._lines_of_hunk), self._section, self._path))
            self._lines_of_hunk = []
            self._path = ""
