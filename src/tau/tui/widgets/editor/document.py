"""A text being edited: the buffer, the cursor, undo, and what the last command was."""

from collections.abc import Iterator
from typing import Literal

from tau.tui.widgets.editor.buffer import START, Buffer, Position, moved_by
from tau.tui.widgets.editor.kill_ring import KillRing
from tau.tui.widgets.editor.undo import BufferEdit, EditKind, UndoStack
from tau.tui.widgets.editor.units import snapped

Last = Literal["", "move", "type", "erase", "kill", "yank", "other"]


class EditorDocument:
    """One text and its cursor. Every change of the text goes through `replace` and can be undone.

    The text is given to it clean (`intake`); markers of pastes are characters like others here.
    """

    __slots__ = ("_kills", "_undo", "_yanked", "buffer", "cursor", "last", "wanted_cell")

    def __init__(self, text: str = "", *, kills: KillRing | None = None) -> None:
        self.buffer = Buffer(text)
        self.cursor = self.buffer.end
        self.last: Last = ""
        """What was done last: kills in a row are joined, a yank can be followed by a yank-pop."""
        self.wanted_cell: int | None = None
        """The cell that moves up and down try to keep."""
        self._kills = kills if kills is not None else KillRing()
        self._undo = UndoStack()
        self._yanked: tuple[Position, Position] = (START, START)

    @property
    def line(self) -> str:
        """The line of the cursor."""
        return self.buffer.lines[self.cursor.line]

    @property
    def is_empty(self) -> bool:
        return self.buffer.lines == [""]

    def move(self, to: Position | None) -> bool:
        """Put the cursor there; False if it does not move."""
        self.last = "move"
        self.wanted_cell = None
        if to is None or to == self.cursor:
            return False
        self.cursor = to
        return True

    def place(self, offset: int) -> None:
        """Put the cursor at an offset, or behind the character it falls into."""
        number, column = self.buffer.position(offset)
        self.move(Position(number, snapped(self.buffer.lines[number], column)))

    def replace(self, start: Position, end: Position, text: str, last: Last = "other") -> bool:
        """Put `text` where [start, end) was, and the cursor behind it. False if there is nothing to do."""
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
        """Put `text` at the cursor."""
        return bool(text) and self.replace(self.cursor, self.cursor, text, last)

    def erase(self, to: Position) -> bool:
        """Delete from the cursor to a place before or behind it, without keeping it."""
        return to != self.cursor and self.replace(*self._span(to), "", "erase")

    def kill(self, to: Position) -> bool:
        """Delete from the cursor to a place before or behind it, into the kill ring."""
        return self.kill_between(*self._span(to), backward=to < self.cursor)

    def kill_between(self, start: Position, end: Position, *, backward: bool = False) -> bool:
        """Delete a part of the text into the kill ring; kills in a row become one text there."""
        cut = self.buffer.between(start, end)
        if not cut:
            return False
        self._kills.push(cut, joins=self.last == "kill", backward=backward)
        return self.replace(start, end, "", "kill")

    def yank(self) -> bool:
        """Insert what was cut last."""
        text = self._kills.latest()
        return bool(text) and self._put(self.cursor, self.cursor, text)

    def yank_pop(self) -> bool:
        """After a yank: what was cut before that in its place."""
        return self.last == "yank" and self._put(*self._yanked, self._kills.earlier())

    def undo(self) -> bool:
        """Take the last change back."""
        change = self._undo.undo()
        if change is None:
            return False
        self._applied(change.start, moved_by(change.start, change.inserted), change.removed)
        self.cursor = change.before
        self.last = "other"
        return True

    def redo(self) -> bool:
        """Make the change again that was taken back last."""
        change = self._undo.redo()
        if change is None:
            return False
        self._applied(change.start, moved_by(change.start, change.removed), change.inserted)
        self.cursor = change.after
        self.last = "other"
        return True

    def set_text(self, text: str) -> bool:
        """Another text, with the cursor at its end; this can be undone."""
        return self.replace(START, self.buffer.end, text)

    def texts(self) -> Iterator[str]:
        """All texts it holds or can bring back."""
        yield self.buffer.text
        yield from self._undo.texts()

    def _put(self, start: Position, end: Position, text: str) -> bool:
        changed = self.replace(start, end, text, "yank")
        self._yanked = (start, moved_by(start, text))
        self.last = "yank"
        return changed

    def _span(self, to: Position) -> tuple[Position, Position]:
        return (to, self.cursor) if to < self.cursor else (self.cursor, to)

    def _applied(self, start: Position, end: Position, text: str) -> Position:
        """Change the buffer. Letters that stand side by side now may be one: the cursor goes behind it."""
        at = self.buffer.replace(start, end, text)
        line = self.buffer.lines[at.line]
        if not line.isascii():
            at = Position(at.line, snapped(line, at.column))
        self.cursor = at
        self.wanted_cell = None
        return at
