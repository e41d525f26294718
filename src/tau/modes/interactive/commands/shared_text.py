"""Helpers shared by commands: text layout and session switching."""

import asyncio
from collections.abc import Collection, Sequence
from itertools import zip_longest

from tau.base.errors import TauError
from tau.coding.session.session import Session
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import pad, truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap

NOTICE_INDENT = 2
NARROW = 40
"""On narrower screens, the last cell of a row moves below the others."""
NEXT_SESSION_S = 60.0


def width_of(display: Display) -> int:
    """Columns available to a line of a notice."""
    return max(display.terminal.columns - NOTICE_INDENT, 10)


def columns(
    display: Display,
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    indent: int = 0,
    cut: bool = True,
    least: int = 0,
) -> list[str]:
    """Align rows of cells; the last cell gets the remaining width and is `cut` to it, or wrapped.

    `least` is the minimum width of the first column. A screen reader gets the cells one after another; on a
    narrow screen the last one gets its own line.
    """
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    if display.theme.linear:
        return [", ".join(cell for cell in row if cell) for row in cleaned]
    ellipsis = display.theme.symbols.ellipsis
    width = max(width_of(display) - indent, 8)
    widths = [
        max(map(visible_width, cells)) for cells in zip_longest(*(row[:-1] for row in cleaned), fillvalue="")
    ]
    widths[:1] = [max(size, least) for size in widths[:1]]
    blanks = " " * indent
    stacked = width < NARROW or sum(widths) + 2 * len(widths) > width - 12
    lines: list[str] = []
    for row in cleaned:
        cells = [
            " " * (size - visible_width(cell)) + cell if place in right else pad(cell, size)
            for place, (cell, size) in enumerate(zip(row[:-1], widths, strict=False))
        ]
        first = "  ".join(cells)
        if stacked:
            lines.append(blanks + truncate(" ".join(filter(None, row[:-1])), width, ellipsis))
            lines += [f"{blanks}  {part}" for part in wrap(row[-1], max(width - 2, 1)) if part]
        else:
            room = width - visible_width(first) - 2
            last, *rest = [truncate(row[-1], room, ellipsis)] if cut else _wrapped(row[-1], room)
            lines.append(f"{blanks}{first}  {last}".rstrip())
            lines += [f"{blanks}{' ' * visible_width(first)}  {part}" for part in rest]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """The text in rows of this width, or in one if a word would have to be broken, such as a long path."""
    fits = all(visible_width(word) <= width for word in text.split())
    return (wrap(text, width) if fits else [text]) or [""]


def bullet(display: Display, text: str) -> list[str]:
    """One list item, wrapped and indented below its first line."""
    first, *others = wrap(clean_line(text), max(width_of(display) - 2, 1)) or [""]
    return [f"- {first}", *(f"  {line}" for line in others)]


async def next_session(current: CurrentSession, old: Session) -> Session:
    """The session that replaces this one. Raises TauError if there is none."""
    waited_s = 0.0
    while current.session is None or current.session is old:
        if waited_s > NEXT_SESSION_S:
            raise TauError("No other session could be opened.")
        await asyncio.sleep(0.01)
        waited_s += 0.01
    return current.session
