"""Writing text into a page: wrapping, wide characters, and combining marks."""

import re

from tau.tui.text.width import NARROW, grapheme_width, graphemes
from tests.support.terminal.emulator.look import Look, blank
from tests.support.terminal.emulator.page import Page
from tests.support.terminal.emulator.row import EMPTY, TAIL

SIMPLE = re.compile(f"[{NARROW}]+")


class Printer:
    """The modes that apply to written text."""

    def __init__(self) -> None:
        self.autowrap = True
        self.insert = False
        self.joinable = False
        """Whether the last thing written was text, which a mark or joiner may continue."""
        self.last = ""

    def write(self, page: Page, text: str, pen: Look) -> None:
        if text.isascii():
            self._run(page, text, pen)
        else:
            position, end = 0, len(text)
            while position < end:
                simple = SIMPLE.match(text, position)
                if simple is not None and not (self.joinable and not _simple_before(page)):
                    self._run(page, simple[0], pen)
                    position = simple.end()
                else:
                    following = SIMPLE.search(text, position + 1)
                    stop = following.start() if following is not None else end
                    self._clusters(page, text[position:stop], pen)
                    position = stop
                self.joinable = True
        self.joinable = True

    def _run(self, page: Page, text: str, pen: Look) -> None:
        """Single-cell characters."""
        columns = page.columns
        self.last = text[-1]
        if self.insert:
            for char in text:
                self._place(page, char, 1, pen)
            return
        position, end = 0, len(text)
        while position < end:
            x = page.x
            if x >= columns:
                if not self.autowrap:
                    page.rows[page.y].put(columns - 1, text[-1], pen)
                    return
                x = page.x = 0
                page.line_feed(blank(pen), wrapped=True)
            count = min(columns - x, end - position)
            page.rows[page.y].put(x, text[position : position + count], pen)
            page.x = x + count
            position += count

    def _clusters(self, page: Page, text: str, pen: Look) -> None:
        before = _before(page) if self.joinable else None
        if before is not None:
            x, cluster = before
            first = next(iter(graphemes(cluster + text)))
            if len(first) > len(cluster):
                self._extend(page, x, first, pen)
                text = text[len(first) - len(cluster) :]
        for cluster in graphemes(text):
            width = grapheme_width(cluster)
            if width > 0:
                self._place(page, cluster, width, pen)
                continue
            before = _before(page)
            if before is not None:
                x, old = before
                page.row.replace(x, old + cluster)

    def _place(self, page: Page, cluster: str, width: int, pen: Look) -> None:
        """One cluster at the cursor."""
        columns = page.columns
        if width > columns:
            return
        if page.x + width > columns:
            if self.autowrap:
                page.row.erase(page.x, columns, pen)
                page.x = 0
                page.line_feed(blank(pen), wrapped=True)
            elif width > 1:
                page.x = columns - 1
                return
            else:
                page.x = columns - 1
        if self.insert:
            page.row.insert(page.x, width, pen)
        page.row.put(page.x, [cluster, *[TAIL] * (width - 1)], pen)
        page.x += width
        self.last = cluster

    def _extend(self, page: Page, x: int, cluster: str, pen: Look) -> None:
        """The last cluster, at `x`, has become longer and perhaps wider."""
        row = page.row
        old, width = page.x - x, grapheme_width(cluster)
        row.replace(x, cluster)
        self.last = cluster
        if width <= old:
            return
        if x + width <= page.columns:
            look = row.looks[x]
            row.put(x, [cluster, *[TAIL] * (width - 1)], look)
            page.x = x + width
        elif self.autowrap and width <= page.columns:
            look = row.looks[x]
            row.erase(x, page.columns, blank(pen))
            page.x = 0
            page.line_feed(blank(pen), wrapped=True)
            self._place(page, cluster, width, look)


def _before(page: Page) -> tuple[int, str] | None:
    """The character to the left of the cursor, and where it starts."""
    x = page.x - 1
    if x < 0:
        return None
    chars = page.row.chars
    while x > 0 and chars[x] == TAIL:
        x -= 1
    return None if chars[x] in (EMPTY, TAIL) else (x, chars[x])


def _simple_before(page: Page) -> bool:
    before = _before(page)
    return before is None or SIMPLE.fullmatch(before[1]) is not None
