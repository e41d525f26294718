"""Content whose every word is unique, wide and narrow, colored and plain."""

import re
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

WORD = re.compile(r"\[\w+\.\d+\.\d+\]")
NARROWEST_FOR_WORDS = 14
"""Below this width words are cut and no longer distinguishable."""

Fillers = tuple[tuple[str, int], ...]

# Fillers beside a word, with their widths.
FILLERS: Fillers = (
    *(("", 0), ("", 0), (" plain", 6), (" = {x}", 6), ("...", 3)),
    *(("漢字", 4), ("한", 2), ("カナ", 4), ("🙂", 2), ("👩\u200d💻", 2), ("🇩🇪", 2), ("e\u0301", 1)),
)
AGREED_FILLERS = tuple(one for one in FILLERS if one[0] not in ("👩\u200d💻", "🇩🇪", "e\u0301"))
"""Those whose width all terminals agree on."""
STYLES = (
    ("", ""),
    ("", ""),
    ("\x1b[1m", "\x1b[22m"),
    ("\x1b[31m", "\x1b[39m"),
    ("\x1b[38;5;208m", "\x1b[39m"),
    ("\x1b[38;2;10;20;30m", "\x1b[39m"),
    ("\x1b[44m", "\x1b[49m"),
    ("\x1b[4;3m", "\x1b[24;23m"),
    ("\x1b]8;;https://example.org/a\x1b\\", "\x1b]8;;\x1b\\"),
)


class Item(NamedTuple):
    """A word and its filler; never broken where the width allows it."""

    word: str
    filler: str
    filler_cells: int
    style: int

    @property
    def cells(self) -> int:
        return len(self.word) + self.filler_cells

    def shown(self) -> str:
        opening, closing = STYLES[self.style]
        return f"{opening}{self.word}{self.filler}{closing}"


Line = tuple[Item, ...]


def make_line(seed: int, owner: str, number: int, longest: int = 12, fillers: Fillers = FILLERS) -> Line:
    """An empty line now and then; mostly short ones, sometimes one of many rows. Its name decides."""
    random = Random(f"{seed} {owner} {number}")
    if random.random() < 0.06:
        return ()
    count = random.choice((1, 1, 2, 3, longest))
    items = []
    for place in range(count):
        filler, cells = random.choice(fillers)
        items.append(Item(f"[{owner}.{number}.{place}]", filler, cells, random.randrange(len(STYLES))))
    return tuple(items)


def rows_of(line: Line, width: int) -> list[str]:
    """Items side by side, as many as fit; an item that is too wide is split."""
    rows: list[str] = []
    row, used = "", 0
    for item in line:
        if used and used + item.cells > width:
            rows.append(row)
            row, used = "", 0
        if item.cells <= width:
            row, used = row + item.shown(), used + item.cells
            continue
        rows += [item.word[at : at + width] for at in range(0, len(item.word), width)]
    if used or not rows:
        rows.append(row)
    return rows


def words(rows: Iterable[str]) -> list[str]:
    """The words of rows that a terminal may have wrapped, in order."""
    return WORD.findall("".join(rows))
