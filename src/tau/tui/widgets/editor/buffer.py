"""An editor's text as lines, with a single mutation method."""

from typing import NamedTuple


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
