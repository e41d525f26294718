"""Draws a terminal screen as an SVG picture: text runs, colors, lines and a window frame.

The picture has no scripts and no fonts of its own: text sits on a fixed grid in whatever monospace font the
viewer has, and box-drawing characters are lines, so that they meet in every font.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from tests.support.terminal.virtual import Cell

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE = 8.4, 18, 14
BASELINE = 13.5
MARGIN, TITLE_HEIGHT = 14, 34
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
BACKGROUND, FOREGROUND, FRAME, TITLE = "#14171c", "#d7dae0", "#2b303a", "#8a919e"
BUTTONS = ("#f0717a", "#e5b567", "#8fce7f")
ANSI = (
    *("#1d2129", "#f0717a", "#8fce7f", "#e5b567", "#7fb4ff", "#c792ea", "#74c7d4", "#c8ccd4"),
    *("#6c7482", "#ff9aa2", "#b2e8a4", "#f2cf7f", "#a9ccff", "#dcb3f5", "#9be3ee", "#ffffff"),
)
STEPS = (0, 95, 135, 175, 215, 255)
# The arms of a line from the middle of its cell.
LINES = {
    "─": "lr", "━": "lr", "│": "ud", "┃": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "udr",
    "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu",
}  # fmt: skip
HEAVY = "━┃"
# Left, top, width and height, as shares of the cell.
BLOCKS = {
    "█": (0.0, 0.0, 1.0, 1.0),
    "▀": (0.0, 0.0, 1.0, 0.5),
    "▄": (0.0, 0.5, 1.0, 0.5),
    "▌": (0.0, 0.0, 0.5, 1.0),
    "▐": (0.5, 0.0, 0.5, 1.0),
    "▎": (0.0, 0.0, 0.25, 1.0),
    "▏": (0.0, 0.0, 0.125, 1.0),
    "▁": (0.0, 0.875, 1.0, 0.125),
}


class Style(NamedTuple):
    """How a run of cells is drawn, with all colors resolved; no fill means the window's background."""

    color: str
    fill: str
    bold: bool
    italic: bool
    lines: tuple[str, ...]


def terminal_svg(rows: Sequence[Sequence[Cell]], cursor: tuple[int, int] | None, title: str) -> str:
    """Return the picture of a screen. `cursor` is a row and a column, or nothing if it is hidden."""
    columns = max(map(len, rows))
    width = round(columns * CELL_WIDTH + 2 * MARGIN)
    height = len(rows) * CELL_HEIGHT + TITLE_HEIGHT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONTS}" font-size="{FONT_SIZE}" '
        f'xml:space="preserve" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="9" fill="{BACKGROUND}" '
        f'stroke="{FRAME}"/>',
        *(
            f'<circle cx="{20 + 18 * number}" cy="{TITLE_HEIGHT // 2}" r="5.5" fill="{color}"/>'
            for number, color in enumerate(BUTTONS)
        ),
        f'<text x="{width // 2}" y="{TITLE_HEIGHT // 2 + 4.5}" text-anchor="middle" font-size="12.5" '
        f'fill="{TITLE}">{escape(title)}</text>',
        f'<g transform="translate({MARGIN} {TITLE_HEIGHT})">',
    ]
    for number, row in enumerate(rows):
        at = cursor[1] if cursor is not None and cursor[0] == number else None
        parts += _draw_row(number, row, at)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _draw_row(number: int, row: Sequence[Cell], cursor: int | None) -> Iterator[str]:
    styled = [
        (column, " " if "hidden" in cell.attrs else cell.char, _style(cell, column == cursor))
        for column, cell in enumerate(row)
    ]
    for fill, run in groupby(styled, lambda one: one[2].fill):
        cells = list(run)
        if fill:
            yield _rectangle(cells[0][0], number, len(cells), fill)
    for style, run in groupby(styled, lambda one: one[2]):
        yield from _draw_run(number, list(run), style)


def _draw_run(number: int, cells: Sequence[tuple[int, str, Style]], style: Style) -> Iterator[str]:
    """Draw the cells of one style: plain text together, every other character at its own place."""
    for kind, run in groupby(cells, lambda one: _kind(one[1])):
        part = list(run)
        column, text = part[0][0], "".join(char for _, char, _ in part)
        if kind == "text":
            # Browsers join several spaces into one.
            for word in re.finditer(r".+" if style.lines else r"\S+( \S+)*", text):
                yield _text(column + word.start(), number, word[0], len(word[0]), style)
        elif kind == "line":
            yield from _lines(number, [(column, char) for column, char, _ in part], style)
        else:
            for column, char, _ in part:
                if char in BLOCKS:
                    left, top, wide, high = BLOCKS[char]
                    yield _rectangle(column + left, number + top, wide, style.color, high)
                elif char:
                    yield _text(column, number, char, 0, style)


def _kind(char: str) -> str:
    if char in LINES:
        return "line"
    return "text" if len(char) == 1 and " " <= char < "ʰ" else "symbol"


def _style(cell: Cell, is_cursor: bool) -> Style:
    color, fill = _color(cell.fg) or FOREGROUND, _color(cell.bg)
    if ("inverse" in cell.attrs) != is_cursor:
        color, fill = fill or BACKGROUND, color
    if "dim" in cell.attrs:
        color = _blend(color, fill or BACKGROUND)
    names = (("underline", "underline"), ("strike", "line-through"), ("overline", "overline"))
    lines = tuple(drawn for name, drawn in names if name in cell.attrs)
    return Style(color, fill, "bold" in cell.attrs, "italic" in cell.attrs, lines)


def _color(name: str) -> str:
    """Resolve a color of the terminal: "", a number of its palette, or "#rrggbb"."""
    if not name or name.startswith("#"):
        return name
    number = int(name)
    if number < 16:
        return ANSI[number]
    if number < 232:
        number -= 16
        parts = (STEPS[number // 36], STEPS[number // 6 % 6], STEPS[number % 6])
    else:
        parts = (8 + 10 * (number - 232),) * 3
    return "#{:02x}{:02x}{:02x}".format(*parts)


def _blend(color: str, ground: str) -> str:
    """The color of dim text: between its own and the background."""
    pairs = [(int(color[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{(3 * one + 2 * other) // 5:02x}" for one, other in pairs)


def _text(column: int, row: int, text: str, length: int, style: Style) -> str:
    """`length` in cells keeps the text on the grid in any font; 0 leaves a character as wide as it is."""
    wide = f' textLength="{_number(length * CELL_WIDTH)}"' if length > 1 else ""
    bold = ' font-weight="bold"' if style.bold else ""
    italic = ' font-style="italic"' if style.italic else ""
    lines = f' text-decoration="{" ".join(style.lines)}"' if style.lines else ""
    place = f'x="{_number(column * CELL_WIDTH)}" y="{_number(row * CELL_HEIGHT + BASELINE)}"'
    return f'<text {place}{wide} fill="{style.color}"{bold}{italic}{lines}>{escape(text, quote=False)}</text>'


def _rectangle(column: float, row: float, columns: float, fill: str, rows: float = 1) -> str:
    place = f'x="{_number(column * CELL_WIDTH)}" y="{_number(row * CELL_HEIGHT)}"'
    size = f'width="{_number(columns * CELL_WIDTH)}" height="{_number(rows * CELL_HEIGHT)}"'
    return f'<rect {place} {size} fill="{fill}"/>'


def _lines(row: int, cells: Sequence[tuple[int, str]], style: Style) -> Iterator[str]:
    """Draw box-drawing characters as one path; a rule is one stroke."""
    steps = []
    middle = row * CELL_HEIGHT + CELL_HEIGHT / 2
    for char, run in groupby(cells, lambda one: one[1]):
        columns = [column for column, _ in run]
        first = columns[0] * CELL_WIDTH
        if LINES[char] == "lr":
            steps.append(f"M{_number(first)} {_number(middle)}h{_number(len(columns) * CELL_WIDTH)}")
            continue
        for column in columns:
            x = column * CELL_WIDTH + CELL_WIDTH / 2
            ends = {"l": (-CELL_WIDTH / 2, 0), "r": (CELL_WIDTH / 2, 0), "u": (0, -9), "d": (0, 9)}
            for arm in LINES[char]:
                right, down = ends[arm]
                steps.append(f"M{_number(x)} {_number(middle)}l{_number(right)} {_number(down)}")
    if steps:
        weight = 2 if any(char in HEAVY for _, char in cells) else 1
        yield f'<path d="{"".join(steps)}" stroke="{style.color}" stroke-width="{weight}" fill="none"/>'


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
