"""Word boundaries: letters and digits of any script, punctuation, and runs of Han and of kana."""

from tau.tui.widgets.editor.pastes import is_marker
from tau.tui.widgets.editor.units import next_column, previous_column

SPACE, WORD, HAN, HIRAGANA, KATAKANA, SIGN, PASTE = range(7)


def char_class_at(line: str, column: int) -> int:
    """Return the class of the unit at `column`; a word is a run of one class."""
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
