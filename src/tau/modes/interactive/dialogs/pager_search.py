"""Search in a pager: block by block, without holding the event loop."""

import asyncio
import time
from collections.abc import Callable, Sequence

from tau.modes.interactive.dialogs.paged_rows import PagedRows, PagerPlace
from tau.modes.interactive.screen_protocols import Tasks
from tau.tui.render.audit import visible_text
from tau.tui.style import Style

_SLICE_S = 0.02
_FAR = 1 << 30


class PagerSearch:
    """Ignores case unless the text has capitals. `say` shows a message."""

    def __init__(self, view: PagedRows, tasks: Tasks, say: Callable[[str], None]) -> None:
        self._view = view
        self._tasks = tasks
        self._say = say
        self._text = ""
        self._folds = True
        self._match: PagerPlace | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self, text: str) -> None:
        """Search for this text, or again for the last one."""
        text = " ".join(text.split())
        if text:
            self._text, self._folds, self._match = text, text == text.lower(), None
        self.next(1)

    def next(self, step: int) -> None:
        """Go to the next match, or the previous one."""
        self.stop()
        if not self._text:
            self._say("Nothing to search for yet.")
        elif self._view.blocks:
            self._task = self._tasks.start(self._go_on(step))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def highlight(self, row: str, style: Style) -> str:
        """The row with its matches in this style; such a row loses its own colors."""
        text = visible_text(row) if self._text else ""
        folded = text.lower() if self._folds else text
        at = folded.find(self._text)
        if not text or at < 0 or len(folded) != len(text):
            return row
        parts, end = [], 0
        while at >= 0:
            parts += [text[end:at], style(text[at : at + len(self._text)])]
            end = at + len(self._text)
            at = folded.find(self._text, end)
        return "".join([*parts, text[end:]])

    async def _go_on(self, step: int) -> None:
        view, count = self._view, len(self._view.blocks)
        start = self._match
        if start is None or start.block != view.chosen:
            start = PagerPlace(view.chosen, -1 if step > 0 else _FAR)
        began = time.monotonic()
        for distance in range(count + 1):
            if time.monotonic() - began > _SLICE_S:
                self._say("Searching")
                await asyncio.sleep(0)
                began = time.monotonic()
            block = (start.block + step * distance) % count
            found = find_in_rows(view.rows_of(block), self._text, folds=self._folds)
            if distance == 0:
                found = [row for row in found if (row > start.row if step > 0 else row < start.row)]
            if found:
                self._match = PagerPlace(block, found[0] if step > 0 else found[-1])
                view.select(*self._match)
                wraps = self._match < start if step > 0 else self._match > start
                other = "top" if step > 0 else "end"
                self._say(f"Continued from the {other}." if wraps else "")
                return
        self._say(f'Not found: "{self._text}".')


def find_in_rows(rows: Sequence[str], needle: str, *, folds: bool) -> list[int]:
    """The rows where the text begins, also if it is wrapped. `folds`: ignore case."""
    lines = [visible_text(row).strip() for row in rows]
    text = " ".join(lines)
    text = text.lower() if folds else text
    found: list[int] = []
    at, row, end = text.find(needle), -1, 0
    while at >= 0:
        while row < 0 or end <= at:
            row += 1
            end += len(lines[row]) + 1
        if not found or found[-1] != row:
            found.append(row)
        at = text.find(needle, at + 1)
    return found
