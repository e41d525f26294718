"""A document being edited: its lines, cursor, undo stack and kill ring."""

from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple

from tau.tui.widgets.editor.units import snap_column

MAX_KILLS = 60
MAX_KILL_CHARS = 4_000_000
"""Older kills are forgotten."""
MAX_UNDO_STEPS = 1_000
MAX_UNDO_CHARS = 8_000_000
"""Older steps are forgotten."""

EditKind = Literal["type", "erase", "other"]
Last = Literal["", "move", "type", "erase", "kill", "yank", "other"]


class Position(NamedTuple):
    """A position between characters: line, and code points before it in that line."""

    line: int
    column: int


START = Position(0, 0)


def advance_position(start: Position, text: str) -> Position:
    """Return where `text` ends if it begins at `start`."""
    newlines = text.count("\n")
    if not newlines:
        return Position(start.line, start.column + len(text))
    return Position(start.line + newlines, len(text) - text.rfind("\n") - 1)


class Buffer:
    """Lines without newlines, at least one. `version` counts changes."""

    __slots__ = ("_text", "_text_version", "lines", "version")

    def __init__(self, text: str = "") -> None:
        self.lines = text.split("\n")
        self.version = 0
        self._text = text
        self._text_version = 0

    @property
    def text(self) -> str:
        """All lines joined; cached per change."""
        if self._text_version != self.version:
            self._text = "\n".join(self.lines)
            self._text_version = self.version
        return self._text

    @property
    def end(self) -> Position:
        return Position(len(self.lines) - 1, len(self.lines[-1]))

    def between(self, start: Position, end: Position) -> str:
        if start.line == end.line:
            return self.lines[start.line][start.column : end.column]
        first = self.lines[start.line][start.column :]
        last = self.lines[end.line][: end.column]
        return "\n".join((first, *self.lines[start.line + 1 : end.line], last))

    def replace(self, start: Position, end: Position, text: str) -> Position:
        """Replace [start, end) with `text`; returns the position after it."""
        lines = self.lines
        head = lines[start.line][: start.column]
        tail = lines[end.line][end.column :]
        self.version += 1
        if start.line == end.line and "\n" not in text:
            lines[start.line] = head + text + tail
            return Position(start.line, start.column + len(text))
        new = text.split("\n")
        new[0] = head + new[0]
        after = Position(start.line + len(new) - 1, len(new[-1]))
        new[-1] += tail
        lines[start.line : end.line + 1] = new
        return after

    def offset(self, position: Position) -> int:
        """Convert a position to an offset in code points, including newlines."""
        return sum(map(len, self.lines[: position.line])) + position.line + position.column

    def position(self, offset: int) -> Position:
        """Convert an offset to a position, clamped to the text."""
        rest = max(offset, 0)
        for number, line in enumerate(self.lines):
            if rest <= len(line):
                return Position(number, rest)
            rest -= len(line) + 1
        return self.end


class KillRing:
    """Killed texts, the latest last."""

    __slots__ = ("_at", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._at = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def push(self, text: str, *, joins: bool = False, backward: bool = False) -> None:
        """Push a text; with `joins` it extends the last one, prepended if killed backward."""
        if not text:
            return
        if joins and self._texts:
            last = self._texts[-1]
            self._texts[-1] = text + last if backward else last + text
        else:
            self._texts.append(text)
        while len(self._texts) > MAX_KILLS or (
            len(self._texts) > 1 and sum(map(len, self._texts)) > MAX_KILL_CHARS
        ):
            del self._texts[0]

    def latest(self) -> str:
        """Return what a yank inserts; "" if empty."""
        self._at = len(self._texts) - 1
        return self._texts[-1] if self._texts else ""

    def earlier(self) -> str:
        """Return the replacement for a yank-pop: each call goes one further back, wrapping around."""
        if not self._texts:
            return ""
        self._at = (self._at - 1) % len(self._texts)
        return self._texts[self._at]


class BufferEdit(NamedTuple):
    """One replacement, with the cursor before and after it."""

    start: Position
    removed: str
    inserted: str
    before: Position
    after: Position
    kind: EditKind = "other"

    @property
    def size(self) -> int:
        return len(self.removed) + len(self.inserted)


class UndoStack:
    """Done and undone changes, the latest last."""

    __slots__ = ("_chars", "_done", "_undone")

    def __init__(self) -> None:
        self._done: deque[BufferEdit] = deque()
        self._undone: list[BufferEdit] = []
        self._chars = 0

    def record(self, change: BufferEdit, *, joins: bool) -> None:
        """Record a change; with `joins` it is merged into the last one if both are in one word."""
        for undone in self._undone:
            self._chars -= undone.size
        self._undone.clear()
        joined = _join(self._done[-1], change) if joins and self._done else None
        if joined is not None:
            self._chars -= self._done.pop().size
            change = joined
        self._done.append(change)
        self._chars += change.size
        while len(self._done) > MAX_UNDO_STEPS or (self._chars > MAX_UNDO_CHARS and len(self._done) > 1):
            self._chars -= self._done.popleft().size

    def undo(self) -> BufferEdit | None:
        if not self._done:
            return None
        self._undone.append(self._done.pop())
        return self._undone[-1]

    def redo(self) -> BufferEdit | None:
        if not self._undone:
            return None
        self._done.append(self._undone.pop())
        return self._done[-1]

    def texts(self) -> Iterator[str]:
        """Yield all texts it can restore."""
        for change in (*self._done, *self._undone):
            yield change.removed
            yield change.inserted


def _join(last: BufferEdit, new: BufferEdit) -> BufferEdit | None:
    if last.kind != new.kind or new.kind == "other":
        return None
    if new.kind == "type":
        follows = (
            not last.removed and not new.removed and new.start == advance_position(last.start, last.inserted)
        )
        if follows and not _new_word(last.inserted[-1:], new.inserted[:1]):
            return last._replace(inserted=last.inserted + new.inserted, after=new.after)
        return None
    if advance_position(new.start, new.removed) == last.start and not _new_word(
        new.removed[-1:], last.removed[:1]
    ):
        return last._replace(start=new.start, removed=new.removed + last.removed, after=new.after)
    if new.start == last.start and not _new_word(last.removed[-1:], new.removed[:1]):
        return last._replace(removed=last.removed + new.removed, after=new.after)
    return None


def _new_word(left: str, right: str) -> bool:
    return left.isspace() and not right.isspace()


class EditorDocument:
    """One text and its cursor. Every change goes through `replace` and can be undone.

    Its text must be clean (`input_sanitizer`); paste markers are ordinary characters here.
    """

    __slots__ = ("_kills", "_undo", "_yanked", "buffer", "cursor", "last", "wanted_cell")

    def __init__(self, text: str = "", *, kills: KillRing | None = None) -> None:
        self.buffer = Buffer(text)
        self.cursor = self.buffer.end
        self.last: Last = ""
        """The last command: consecutive kills are joined, a yank enables yank-pop."""
        self.wanted_cell: int | None = None
        """The preferred cell for moving up and down."""
        self._kills = kills if kills is not None else KillRing()
        self._undo = UndoStack()
        self._yanked: tuple[Position, Position] = (START, START)

    @property
    def line(self) -> str:
        return self.buffer.lines[self.cursor.line]

    @property
    def is_empty(self) -> bool:
        return self.buffer.lines == [""]

    def move(self, to: Position | None) -> bool:
        """Move the cursor; False if it does not move."""
        self.last = "move"
        self.wanted_cell = None
        if to is None or to == self.cursor:
            return False
        self.cursor = to
        return True

    def place(self, offset: int) -> None:
        """Move the cursor to an offset, or after the character it is inside of."""
        number, column = self.buffer.position(offset)
        self.move(Position(number, snap_column(self.buffer.lines[number], column)))

    def replace(self, start: Position, end: Position, text: str, last: Last = "other") -> bool:
        """Replace [start, end) with `text` and move the cursor after it. False if nothing changes."""
        removed = self.buffer.between(start, end)
        if removed == text:
            return self.move(end)
        before = self.cursor
        after = self._apply(start, end, text)
        kind: EditKind = last if last == "type" or last == "erase" else "other"
        joins = kind != "other" and self.last == kind
        self._undo.record(BufferEdit(start, removed, text, before, after, kind), joins=joins)
        self.last = last
        return True

    def insert(self, text: str, last: Last = "other") -> bool:
        return bool(text) and self.replace(self.cursor, self.cursor, text, last)

    def erase(self, to: Position) -> bool:
        """Delete between the cursor and a position, without saving it."""
        return to != self.cursor and self.replace(*self._span(to), "", "erase")

    def kill(self, to: Position) -> bool:
        """Delete between the cursor and a position, into the kill ring."""
        return self.kill_between(*self._span(to), backward=to < self.cursor)

    def kill_between(self, start: Position, end: Position, *, backward: bool = False) -> bool:
        """Delete a range into the kill ring; consecutive kills are joined."""
        cut = self.buffer.between(start, end)
        if not cut:
            return False
        self._kills.push(cut, joins=self.last == "kill", backward=backward)
        return self.replace(start, end, "", "kill")

    def yank(self) -> bool:
        """Insert the last killed text."""
        text = self._kills.latest()
        return bool(text) and self._put(self.cursor, self.cursor, text)

    def yank_pop(self) -> bool:
        """Replace the last yank with the kill before it."""
        return self.last == "yank" and self._put(*self._yanked, self._kills.earlier())

    def undo(self) -> bool:
        change = self._undo.undo()
        return change is not None and self._replay(change, change.inserted, change.removed, change.before)

    def redo(self) -> bool:
        change = self._undo.redo()
        return change is not None and self._replay(change, change.removed, change.inserted, change.after)

    def set_text(self, text: str) -> bool:
        """Replace the text and move the cursor to its end; this can be undone."""
        return self.replace(START, self.buffer.end, text)

    def texts(self) -> Iterator[str]:
        """Yield the current text and all texts that undo or redo can restore."""
        yield self.buffer.text
        yield from self._undo.texts()

    def _replay(self, change: BufferEdit, old: str, new: str, cursor: Position) -> bool:
        self._apply(change.start, advance_position(change.start, old), new)
        self.cursor = cursor
        self.last = "other"
        return True

    def _put(self, start: Position, end: Position, text: str) -> bool:
        changed = self.replace(start, end, text, "yank")
        self._yanked = (start, advance_position(start, text))
        self.last = "yank"
        return changed

    def _span(self, to: Position) -> tuple[Position, Position]:
        return (to, self.cursor) if to < self.cursor else (self.cursor, to)

    def _apply(self, start: Position, end: Position, text: str) -> Position:
        """Change the buffer. Characters that are now adjacent may join: place the cursor after them."""
        at = self.buffer.replace(start, end, text)
        line = self.buffer.lines[at.line]
        if not line.isascii():
            at = Position(at.line, snap_column(line, at.column))
        self.cursor = at
        self.wanted_cell = None
        return at
