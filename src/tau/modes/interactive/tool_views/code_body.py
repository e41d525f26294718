"""Code in a block: numbered, highlighted lines from the start or end of a text."""

from collections.abc import Sequence
from typing import NamedTuple

from tau.base.late import late
from tau.modes.interactive.tool_views.body_parts import (
    MAX_LINE_ROWS,
    MAX_ROWS,
    LazyRows,
    first_lines,
    last_lines,
    more_row,
)
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap_hard

highlighting = late("tau.tui.widgets.highlight")

COLORED_CHARS = 8_000
"""The end of a longer text is not highlighted: its context is too costly to parse in each frame."""
_LEAST_ROOM = 8
"""Minimum text columns beside line numbers; with less, the numbers are dropped."""


class CodeLine(NamedTuple):
    """A line and its label, usually its number."""

    label: str
    text: str
    is_remark: bool = False
    """A remark between lines, not code."""


class CodeBody(NamedTuple):
    """Lines in a language. `known_before` are hidden but provide context for highlighting."""

    lines: Sequence[CodeLine]
    language: str = ""
    known_before: Sequence[str] = ()
    above: int = 0
    below: int = 0


def first_code(text: str, language: str, max_lines: int) -> CodeBody:
    """The first lines of a text, numbered."""
    lines, below = first_lines(text, max_lines)
    rows = [CodeLine(str(number), line) for number, line in enumerate(lines, 1)]
    return CodeBody(rows, language, below=below)


def last_code(text: str, language: str, max_lines: int, label: str = "") -> CodeBody:
    """The last lines of a growing text, numbered or with the same label."""
    lines, above = last_lines(text, max_lines)
    rows = [CodeLine(label or str(number), line) for number, line in enumerate(lines, above + 1)]
    if len(text) > COLORED_CHARS:
        return CodeBody(rows, above=above)
    return CodeBody(rows, language, text.split("\n", above)[:above], above)


def code(theme: Theme, shown: CodeBody, max_rows: int = MAX_ROWS, *, wrapped: bool = True) -> Component:
    """Highlighted code. Without `wrapped`, each line takes one row."""

    def paint(width: int) -> list[str]:
        styled = _highlight(theme, shown)
        labels = max((len(line.label) for line in shown.lines), default=0)
        gutter = labels + 2 if labels and width - labels - 2 >= _LEAST_ROOM else 0
        rows = [more_row(theme, shown.above, "earlier line", width)] if shown.above else []
        below = shown.below
        for number, (line, text) in enumerate(zip(shown.lines, styled, strict=True)):
            line_rows = _code_rows(theme, line.label, text, gutter, width)
            if not wrapped and len(line_rows) > 1:
                line_rows = [
                    truncate(_gutter(theme, line.label, gutter) + text, width, theme.symbols.ellipsis)
                ]
            if len(rows) + len(line_rows) > max_rows:
                below += len(shown.lines) - number
                break
            rows += line_rows
        if below > 0:
            rows.append(more_row(theme, below, "more line", width))
        return rows

    return LazyRows(theme, paint)


def _highlight(theme: Theme, shown: CodeBody) -> list[str]:
    lines = [line.text[: MAX_LINE_ROWS * 100] for line in shown.lines]
    own = [line for line, source in zip(lines, shown.lines, strict=True) if not source.is_remark]
    if shown.language:
        highlighter = highlighting.Highlighter(shown.language, theme)
        done: list[str] = [*highlighter.feed([*shown.known_before, *own]), *highlighter.flush()]
        colored = iter(done[len(shown.known_before) :])
    else:
        colored = iter([theme["codeBlock"](clean(line).replace("\n", " ")) for line in own])
    return [
        theme["muted"](clean(line).replace("\n", " ")) if source.is_remark else next(colored)
        for line, source in zip(lines, shown.lines, strict=True)
    ]


def _gutter(theme: Theme, label: str, gutter: int) -> str:
    if not gutter:
        return ""
    if theme.linear:
        return f"{label}: " if label[:1].isdigit() else ""
    return theme["diffLineNumber"](f"{label:>{gutter - 2}}") + "  " if label else " " * gutter


def _code_rows(theme: Theme, label: str, text: str, gutter: int, width: int) -> list[str]:
    first = _gutter(theme, label, gutter)
    if theme.linear:
        text = text or ("blank" if first else "")
        return wrap_hard(first + text, width)[:MAX_LINE_ROWS]
    if not text:
        return [theme["diffLineNumber"](f"{label:>{gutter - 2}}") if gutter and label else ""]
    room = max(width - gutter, 1)
    rows = [text] if visible_width(text) <= room else wrap_hard(text, room)[:MAX_LINE_ROWS]
    return [first + rows[0], *[" " * gutter + row for row in rows[1:]]]
