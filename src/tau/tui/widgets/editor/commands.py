"""Editing commands by action name; each returns whether it did anything."""

from collections.abc import Callable
from typing import Literal

from tau.tui.input.key import Key
from tau.tui.widgets.editor import motions
from tau.tui.widgets.editor.document import EditorDocument, Position
from tau.tui.widgets.editor.motions import jump_backward, jump_forward, word_end, word_start
from tau.tui.widgets.editor.units import next_column, previous_column

Direction = Literal["", "forward", "backward"]
_Command = Callable[[EditorDocument], bool]
Motion = Callable[[motions.Lines, Position], Position]


class Jump:
    """Whether a jump is waiting for its character, and in which direction."""

    __slots__ = ("_direction",)

    def __init__(self) -> None:
        self._direction: Direction = ""

    @property
    def is_waiting(self) -> bool:
        return self._direction != ""

    def begin(self, direction: Direction) -> bool:
        self._direction = direction
        return True

    def end(self) -> None:
        self._direction = ""

    def handle(self, key: Key, document: EditorDocument) -> bool:
        """Jump to the typed character; False, without a jump, if the key types nothing."""
        jump = jump_forward if self._direction == "forward" else jump_backward
        self._direction = ""
        if not key.text:
            return False
        document.move(jump(document.buffer.lines, document.cursor, key.text))
        return True


def _command(act: Callable[[EditorDocument, Position], bool], motion: Motion) -> _Command:
    return lambda document: act(document, motion(document.buffer.lines, document.cursor))


# At a line's start or end, delete only the newline: words of other lines may be out of view.
def _word_before(lines: motions.Lines, at: Position) -> Position:
    return (
        motions.left(lines, at)
        if at.column == 0
        else Position(at.line, word_start(lines[at.line], at.column))
    )


def _word_after(lines: motions.Lines, at: Position) -> Position:
    line = lines[at.line]
    return (
        motions.right(lines, at) if at.column == len(line) else Position(at.line, word_end(line, at.column))
    )


def _to_line_start(lines: motions.Lines, at: Position) -> Position:
    return motions.left(lines, at) if at.column == 0 else motions.line_start(lines, at)


def _to_line_end(lines: motions.Lines, at: Position) -> Position:
    return motions.right(lines, at) if at.column == len(lines[at.line]) else motions.line_end(lines, at)


def delete_line(document: EditorDocument) -> bool:
    """Cut the cursor's line with its newline (the preceding one for the last line)."""
    number, lines = document.cursor.line, document.buffer.lines
    start = Position(number, 0)
    if number < len(lines) - 1:
        return document.kill_between(start, Position(number + 1, 0))
    if number > 0:
        start = Position(number - 1, len(lines[number - 1]))
    return document.kill_between(start, document.buffer.end)


def transpose(document: EditorDocument) -> bool:
    """Swap the two characters around the cursor, or the last two at the end of a line."""
    line, (number, column) = document.line, document.cursor
    right_start = column if column < len(line) else previous_column(line, column)
    left_start = previous_column(line, right_start)
    end = next_column(line, right_start)
    if left_start == right_start or right_start == end:
        return False
    swapped = line[right_start:end] + line[left_start:right_start]
    return document.replace(Position(number, left_start), Position(number, end), swapped)


COMMANDS: dict[str, _Command] = {
    "tui.editor.cursorLeft": _command(EditorDocument.move, motions.left),
    "tui.editor.cursorRight": _command(EditorDocument.move, motions.right),
    "tui.editor.cursorWordLeft": _command(EditorDocument.move, motions.word_left),
    "tui.editor.cursorWordRight": _command(EditorDocument.move, motions.word_right),
    "tui.editor.cursorLineStart": _command(EditorDocument.move, motions.line_start),
    "tui.editor.cursorLineEnd": _command(EditorDocument.move, motions.line_end),
    "tui.editor.cursorParagraphUp": _command(EditorDocument.move, motions.paragraph_up),
    "tui.editor.cursorParagraphDown": _command(EditorDocument.move, motions.paragraph_down),
    "tui.editor.cursorStart": _command(EditorDocument.move, motions.text_start),
    "tui.editor.cursorEnd": _command(EditorDocument.move, motions.text_end),
    "tui.editor.deleteCharBackward": _command(EditorDocument.erase, motions.left),
    "tui.editor.deleteCharForward": _command(EditorDocument.erase, motions.right),
    "tui.editor.deleteWordBackward": _command(EditorDocument.kill, _word_before),
    "tui.editor.deleteWordForward": _command(EditorDocument.kill, _word_after),
    "tui.editor.deleteToLineStart": _command(EditorDocument.kill, _to_line_start),
    "tui.editor.deleteToLineEnd": _command(EditorDocument.kill, _to_line_end),
    "tui.editor.deleteLine": delete_line,
    "tui.editor.transpose": transpose,
    "tui.editor.yank": EditorDocument.yank,
    "tui.editor.yankPop": EditorDocument.yank_pop,
    "tui.editor.undo": EditorDocument.undo,
    "tui.editor.redo": EditorDocument.redo,
}
"""Commands that need no layout, history or popup; shared by the editor and the input field."""
