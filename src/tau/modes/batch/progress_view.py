"""Shows how a batch proceeds: one live block in a terminal, else a line for each task that ends."""

import shutil
import sys
import time
from collections.abc import Callable

from tau.base.text import clean_line, plain, shortened
from tau.modes.batch.coordinator import (
    AttemptEnded,
    AttemptProgress,
    AttemptStarted,
    BatchEvent,
    BatchNotice,
    TaskEnded,
)

REDRAW_S = 0.2
MAX_ROWS = 10


class ProgressView:
    """`write` takes text for stderr. Lines about ended tasks scroll; the block below them is drawn again."""

    def __init__(
        self, write: Callable[[str], None], total: int, done: int, *, live: bool, spent: float
    ) -> None:
        self._write = write
        self._total = total
        self._ended = done
        self._already = done
        self._live = live
        self._spent = spent
        self._running: dict[str, AttemptProgress] = {}
        self._counts: dict[str, int] = {}
        self._tokens = 0
        self._started = time.monotonic()
        self._drawn = 0
        self._drawn_at = 0.0

    def show(self, event: BatchEvent) -> None:
        line = ""
        match event:
            case AttemptStarted():
                self._running[event.id] = AttemptProgress(event.id, "starting", 0.0, 0)
            case AttemptProgress():
                self._running[event.id] = event
            case AttemptEnded():
                self._leave(event.id)
                line = f"{event.id}: again, {clean_line(event.reason)}"
            case TaskEnded(result=result):
                self._leave(result.id)
                self._ended += 1
                self._spent += result.cost
                self._counts[result.status] = self._counts.get(result.status, 0) + 1
                why = f" ({shortened(clean_line(result.error), 160)})" if result.error else ""
                line = f"[{self._ended}/{self._total}] {result.id}: {result.status.replace('_', ' ')}{why}"
            case BatchNotice():
                line = event.message
        if line:
            self._print(line)
        elif self._live and time.monotonic() - self._drawn_at >= REDRAW_S:
            self._draw()

    def finish(self) -> None:
        self._erase()

    def _leave(self, key: str) -> None:
        if (last := self._running.pop(key, None)) is not None:
            self._tokens += last.tokens

    def _print(self, line: str) -> None:
        self._erase()
        self._write(f"{plain(line)}\n")
        if self._live:
            self._draw()

    def _draw(self) -> None:
        self._erase()
        minutes = max(1e-9, (time.monotonic() - self._started) / 60)
        tokens = self._tokens + sum(one.tokens for one in self._running.values())
        cost = self._spent + sum(one.cost for one in self._running.values())
        new = self._ended - self._already
        projected = f", about ${cost / self._ended * self._total:.2f} in all" if new and cost else ""
        counts = "".join(
            f", {count} {status.replace('_', ' ')}" for status, count in sorted(self._counts.items())
        )
        rows = [
            f"{self._ended} of {self._total} ended{counts}, {len(self._running)} running; "
            f"${cost:.2f}{projected}; {tokens / minutes:,.0f} tokens a minute"
        ]
        for one in list(self._running.values())[:MAX_ROWS]:
            rows.append(f"  {one.id}: {one.activity or 'thinking'}, {one.tokens:,} tokens, ${one.cost:.2f}")
        if len(self._running) > MAX_ROWS:
            rows.append(f"  and {len(self._running) - MAX_ROWS} more")
        width = _columns()
        self._write("".join(f"{shortened(plain(row), width - 1)}\n" for row in rows))
        self._drawn, self._drawn_at = len(rows), time.monotonic()

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0


def _columns() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def write_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
