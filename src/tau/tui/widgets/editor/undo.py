"""Undo and redo of every change; typed letters are undone word by word."""

from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple

from tau.tui.widgets.editor.buffer import Position, advance_position

STEPS = 1_000
"""Older steps are forgotten."""
KEPT_CHARS = 8_000_000
"""So are steps beyond this much text."""

EditKind = Literal["type", "erase", "other"]


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
        joined = _joined(self._done[-1], change) if joins and self._done else None
        if joined is not None:
            self._chars -= self._done.pop().size
            change = joined
        self._done.append(change)
        self._chars += change.size
        while len(self._done) > STEPS or (self._chars > KEPT_CHARS and len(self._done) > 1):
            self._chars -= self._done.popleft().size

    def undo(self) -> BufferEdit | None:
        """Return the change to undo."""
        if not self._done:
            return None
        self._undone.append(self._done.pop())
        return self._undone[-1]

    def redo(self) -> BufferEdit | None:
        """Return the change to redo."""
        if not self._undone:
            return None
        self._done.append(self._undone.pop())
        return self._done[-1]

    def texts(self) -> Iterator[str]:
        """Yield all texts it can restore."""
        for change in (*self._done, *self._undone):
            yield change.removed
            yield change.inserted


def _joined(last: BufferEdit, new: BufferEdit) -> BufferEdit | None:
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
