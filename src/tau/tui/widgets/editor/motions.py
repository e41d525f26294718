"""Cursor motions: from one position in the lines to another."""

from collections.abc import Sequence

from tau.tui.widgets.editor.buffer import START, Position
from tau.tui.widgets.editor.units import next_column, previous_column, snap_column
from tau.tui.widgets.editor.word_boundaries import word_end, word_start

Lines = Sequence[str]


def left(lines: Lines, at: Position) -> Position:
    if at.column > 0:
        return Position(at.line, previous_column(lines[at.line], at.column))
    return Position(at.line - 1, len(lines[at.line - 1])) if at.line > 0 else at


def right(lines: Lines, at: Position) -> Position:
    if at.column < len(lines[at.line]):
        return Position(at.line, next_column(lines[at.line], at.column))
    return Position(at.line + 1, 0) if at.line + 1 < len(lines) else at


def word_left(lines: Lines, at: Position) -> Position:
    """Return the start of the word to the left, across blank lines."""
    number, column = at
    while True:
        line = lines[number]
        if line[:column].strip():
            return Position(number, word_start(line, column))
        if number == 0:
            return START
        number -= 1
        column = len(lines[number])


def word_right(lines: Lines, at: Position) -> Position:
    """Return the end of the word to the right, across blank lines."""
    number, column = at
    while True:
        line = lines[number]
        if line[column:].strip():
            return Position(number, word_end(line, column))
        if number == len(lines) - 1:
            return Position(number, len(line))
        number += 1
        column = 0


def line_start(lines: Lines, at: Position) -> Position:
    return Position(at.line, 0)


def line_end(lines: Lines, at: Position) -> Position:
    return Position(at.line, len(lines[at.line]))


def text_start(lines: Lines, at: Position) -> Position:
    return START


def text_end(lines: Lines, at: Position) -> Position:
    return Position(len(lines) - 1, len(lines[-1]))


def paragraph_up(lines: Lines, at: Position) -> Position:
    """Return the blank line above the paragraph, or the start of the text."""
    number = at.line if at.column > 0 else at.line - 1
    while number >= 0 and not lines[number].strip():
        number -= 1
    while number >= 0 and lines[number].strip():
        number -= 1
    return Position(max(number, 0), 0)


def paragraph_down(lines: Lines, at: Position) -> Position:
    """Return the blank line below the paragraph, or the end of the text."""
    number = at.line
    while number < len(lines) and not lines[number].strip():
        number += 1
    while number < len(lines) and lines[number].strip():
        number += 1
    return Position(number, 0) if number < len(lines) else text_end(lines, at)


def jump_forward(lines: Lines, at: Position, wanted: str) -> Position | None:
    """Return the next occurrence of `wanted` after the cursor."""
    column = next_column(lines[at.line], at.column)
    for number in range(at.line, len(lines)):
        line = lines[number]
        found = line.find(wanted, column)
        while found >= 0 and snap_column(line, found) != found:
            found = line.find(wanted, found + 1)
        if found >= 0:
            return Position(number, found)
        column = 0
    return None


def jump_backward(lines: Lines, at: Position, wanted: str) -> Position | None:
    """Return the nearest occurrence of `wanted` before the cursor."""
    stop = at.column
    for number in range(at.line, -1, -1):
        line = lines[number]
        found = line.rfind(wanted, 0, stop)
        while found >= 0 and snap_column(line, found) != found:
            found = line.rfind(wanted, 0, found + len(wanted) - 1)
        if found >= 0:
            return Position(number, found)
        stop = len(lines[number - 1]) if number else 0
    return None
