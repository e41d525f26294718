"""Parses Vim commands, and finds where they lead and what they act on."""

import re
from collections.abc import Callable
from typing import NamedTuple

from tau.tui.widgets.editor import motions
from tau.tui.widgets.editor.document import EditorDocument, Position
from tau.tui.widgets.editor.motions import PASTE, SPACE, char_class_at
from tau.tui.widgets.editor.units import next_column, previous_column

_COMMAND = re.compile(r"([1-9]\d{0,3})?([dcy]?)([1-9]\d{0,3})?(.*)", re.DOTALL)
_IN_VISUAL = re.compile(r"([1-9]\d{0,3})?(.*)", re.DOTALL)
_UNFINISHED = ("", "g", "r")
_LINEWISE = ("j", "k", "gg", "G")


class VimCommand(NamedTuple):
    """What was typed: `3dw` is the number 3, the operator d and the key w."""

    number: int | None
    operator: str
    key: str

    @property
    def times(self) -> int:
        return self.number or 1


class Span(NamedTuple):
    """A part of the text: from `start` up to `end`, or the whole lines of both."""

    start: Position
    end: Position
    linewise: bool = False


def parse(typed: str) -> VimCommand | None:
    """The command, or None while it is unfinished."""
    found = _COMMAND.fullmatch(typed)
    assert found is not None
    one, operator, other, key = found.groups()
    if key in _UNFINISHED:
        return None
    counts = [int(digits) for digits in (one, other) if digits]
    count = None if not counts else counts[0] * (counts[1] if len(counts) > 1 else 1)
    return VimCommand(count, operator, key)


def parse_visual(typed: str) -> VimCommand | None:
    """Operators act at once on the selection."""
    found = _IN_VISUAL.fullmatch(typed)
    assert found is not None
    count, key = found.groups()
    return None if key in ("", "g") else VimCommand(int(count) if count else None, "", key)


def find_span(command: VimCommand, document: EditorDocument) -> Span | None:
    """What an operator acts on; None if the key is no motion."""
    at, lines = document.cursor, document.buffer.lines
    operator, key = command.operator, command.key
    if key == operator:
        return Span(at, Position(min(at.line + command.times, len(lines)) - 1, 0), linewise=True)
    if key == "w" and operator == "c" and document.line[at.column : at.column + 1].strip():
        key = "e"  # cw leaves the blank after the word
    target = find_target(command._replace(key=key), document)
    if target is None:
        return None
    start, end = sorted((at, target))
    if key in _LINEWISE:
        return Span(start, end, linewise=True)
    if key == "w" and end.line > start.line and not lines[end.line][: end.column].strip():
        end = Position(end.line - 1, len(lines[end.line - 1]))  # dw stays on the line of the last word
    if key in ("e", "$"):
        end = Position(end.line, next_column(lines[end.line], end.column))
    return None if start == end else Span(start, end)


def find_target(command: VimCommand, document: EditorDocument) -> Position | None:
    """Where a motion leads; None if the key is no motion."""
    at, lines = document.cursor, document.buffer.lines
    last = len(lines) - 1
    match command.key:
        case "0":
            return Position(at.line, 0)
        case "^":
            return Position(at.line, indent_of(lines[at.line]))
        case "$":
            number = min(at.line + command.times - 1, last)
            return Position(number, previous_column(lines[number], len(lines[number])))
        case "gg" | "G" as key:
            number = (0 if key == "gg" else last) if command.number is None else min(command.number - 1, last)
            return Position(number, indent_of(lines[number]))
        case "j" | "k" as key:
            number = min(max(at.line + (command.times if key == "j" else -command.times), 0), last)
            return Position(number, min(at.column, len(lines[number])))
        case "h" | "l" | " " | "w" | "b" | "e" as key:
            for _ in range(command.times):
                at = _MOTIONS[key](lines, at)
            return at
    return None


def _left(lines: motions.Lines, at: Position) -> Position:
    return Position(at.line, previous_column(lines[at.line], at.column)) if at.column else at


def _right(lines: motions.Lines, at: Position) -> Position:
    return Position(at.line, next_column(lines[at.line], at.column))


def _word(lines: motions.Lines, at: Position) -> Position:
    """The start of the next word; an empty line is one."""
    number, column = at
    line = lines[number]
    if column < len(line) and (kind := char_class_at(line, column)) != SPACE:
        column = next_column(line, column)
        while column < len(line) and kind != PASTE and char_class_at(line, column) == kind:
            column = next_column(line, column)
    while True:
        while column < len(line) and char_class_at(line, column) == SPACE:
            column = next_column(line, column)
        if column < len(line) or number == len(lines) - 1:
            return Position(number, column)
        number, column = number + 1, 0
        line = lines[number]
        if not line:
            return Position(number, 0)


def _word_end(lines: motions.Lines, at: Position) -> Position:
    """The last character of the word at or after the next character."""
    number, column = motions.word_right(lines, motions.right(lines, at))
    return Position(number, previous_column(lines[number], column))


_MOTIONS: dict[str, Callable[[motions.Lines, Position], Position]] = {
    "h": _left,
    "l": _right,
    " ": _right,
    "w": _word,
    "b": motions.word_left,
    "e": _word_end,
}


def indent_of(line: str) -> int:
    """The column of the first character that is not blank."""
    return min(len(line) - len(line.lstrip()), len(line))


def clamp(document: EditorDocument) -> None:
    """Outside insert mode the cursor is on a character, never after the last one."""
    line, (number, column) = document.line, document.cursor
    if line and column >= len(line):
        wanted = document.wanted_cell
        document.move(Position(number, previous_column(line, len(line))))
        document.wanted_cell = wanted
