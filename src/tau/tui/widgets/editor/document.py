"""A document being edited: buffer, cursor, undo, and the last command."""

from collections.abc import Iterator
from typing import Literal

from tau.tui.widgets.editor.buffer import START, Buffer, Position, advance_position
from tau.tui.widgets.editor.kill_ring import KillRing
from tau.tui.widgets.editor.undo import BufferEdit, EditKind, UndoStack
from tau.tui.widgets.editor.units import snap_column

Last = Literal["", "move", "type", "erase", "kill", "yank", "other"]


class EditorDocument:
    """One text and its cursor. Every change goes through `replace` and can be undone.

    Its text must be clean (`intake`); paste markers are ordinary characters here.
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
        """The cursor's line."""
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
        after = self._applied(start, end, text)
        kind: EditKind = last if last == "type" or last == "erase" else "other"
        joins = kind != "other" and self.last == kind
        self._undo.record(BufferEdit(start, removed, text, before, after, kind), joins=joins)
        self.last = last
        return True

    def insert(self, text: str, last: Last = "other") -> bool:
        """Insert `text` at the cursor."""
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
        """Undo the last change."""
        change = self._undo.undo()
        if change is None:
            return False
        self._applied(change.start, advance_position(change.start, change.inserted), change.removed)
        self.cursor = change.before
        self.last = "other"
        return True

    def redo(self) -> bool:
        """Redo the last undone change."""
        change = self._undo.redo()
        if change is None:
            return False
        self._applied(change.start, advance_position(change.start, change.removed), change.inserted)
        self.cursor = change.after
        self.last = "other"
        return True

    def set_text(self, text: str) -> bool:
        """Replace the text and move the cursor to its end; this can be undone."""
        return self.replace(START, self.buffer.end, text)

    def texts(self) -> Iterator[str]:
        """Yield the current text and all texts that undo or redo can restore."""
        yield self.buffer.text
        yield from self._undo.texts()

    def _put(self, start: Position, end: Position, text: str) -> bool:
        changed = self.replace(start, end, text, "yank")
        self._yanked = (start, advance_position(start, text))
        self.last = "yank"
        return changed

    def _span(self, to: Position) -> tuple[Position, Position]:
        return (to, self.cursor) if to < self.cursor else (self.cursor, to)

    def _applied(self, start: Position, end: Position, text: str) -> Position:
        """Change the buffer. Characters that are now adjacent may join: place the cursor after them."""
        at = self.buffer.replace(start, end, text)
        line = self.buffer.lines[at.line]
        if not line.isascii():
            at = Position(at.line, snap_column(line, at.column))
        self.cursor = at
        self.wanted_cell = None
        return at
