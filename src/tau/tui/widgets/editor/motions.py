"""Cursor motions: from one position in the lines to another, by character, word, line or paragraph."""

from collections.abc import Sequence

from tau.tui.widgets.editor.document import START, Position
from tau.tui.widgets.editor.pastes import is_marker
from tau.tui.widgets.editor.units import next_column, previous_column, snap_column

SPACE, WORD, HAN, HIRAGANA, KATAKANA, SIGN, PASTE = range(7)
Lines = Sequence[str]


def char_class_at(line: str, column: int) -> int:
    """Return the class of the unit at `column`, such as its script; a word is a run of one class."""
    char = line[column]
    if char.isalnum() or char == "_":
        return WORD if char < "\u2e80" else _script(char)
    if char.isspace():
        return SPACE
    if char in "'\u2019":
        between = 0 < column < len(line) - 1 and line[column - 1].isalnum() and line[column + 1].isalnum()
        return WORD if between else SIGN
    return PASTE if is_marker(char) else SIGN


def _script(char: str) -> int:
    if "\u3040" <= char <= "\u309f":
        return HIRAGANA
    if "\u30a0" <= char <= "\u30ff" or "\u31f0" <= char <= "\u31ff" or "\uff66" <= char <= "\uff9f":
        return KATAKANA
    if "\u3130" <= char <= "\u318f":  # Hangul, which puts spaces between words
        return WORD
    is_han = char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"
    return HAN if is_han else WORD


def word_end(line: str, column: int) -> int:
    """Return the end of the word at or after `column`, or the end of the line."""
    while column < len(line) and char_class_at(line, column) == SPACE:
        column = next_column(line, column)
    if column >= len(line):
        return len(line)
    kind = char_class_at(line, column)
    column = next_column(line, column)
    while column < len(line) and kind != PASTE and char_class_at(line, column) == kind:
        column = next_column(line, column)
    return column


def word_start(line: str, column: int) -> int:
    """Return the start of the word at or before `column`, or the start of the line."""
    previous = previous_column(line, column)
    while column > 0 and char_class_at(line, previous) == SPACE:
        column, previous = previous, previous_column(line, previous)
    if column == 0:
        return 0
    kind = char_class_at(line, previous)
    column, previous = previous, previous_column(line, previous)
    while column > 0 and kind != PASTE and char_class_at(line, previous) == kind:
        column, previous = previous, previous_column(line, previous)
    return column


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
        place = line.find(wanted, column)
        while place >= 0 and snap_column(line, place) != place:
            place = line.find(wanted, place + 1)
        if place >= 0:
            return Position(number, place)
        column = 0
    return None


def jump_backward(lines: Lines, at: Position, wanted: str) -> Position | None:
    """Return the nearest occurrence of `wanted` before the cursor."""
    stop = at.column
    for number in range(at.line, -1, -1):
        line = lines[number]
        place = line.rfind(wanted, 0, stop)
        while place >= 0 and snap_column(line, place) != place:
            place = line.rfind(wanted, 0, place + len(wanted) - 1)
        if place >= 0:
            return Position(number, place)
        stop = len(lines[number - 1]) if number else 0
    return None
