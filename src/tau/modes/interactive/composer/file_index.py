"""The index of files below the working folder: built on first use, rebuilt when stale."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from tau.modes.interactive.composer.file_listing import FileListing, ListingCancelled
from tau.modes.interactive.composer.path_search import FileIndex

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Tasks
    from tau.tui.timer import Timer

MAX_FILES = 300_000
MAX_S = 20.0
STALE_S = 5.0
SLICE_S = 0.003
"""Keys never wait longer than this for the index."""


class WorkspaceFiles:
    """`on_news` is called when more files are known."""

    def __init__(
        self, current: "CurrentSession", timer: "Timer", tasks: "Tasks", on_news: Callable[[], None]
    ) -> None:
        self._current = current
        self._timer = timer
        self._tasks = tasks
        self._on_news = on_news
        self._folder = Path()
        self._ready: FileIndex | None = None
        self._building: FileIndex | None = None
        self._built_at = 0.0
        self._closed = False

    @property
    def is_whole(self) -> bool:
        """Whether the last scan is complete."""
        return self._ready is not None

    def close(self) -> None:
        """Stop indexing."""
        self._closed = True

    def index(self, *, fresh: bool = False) -> FileIndex | None:
        """The index so far; None if there is none yet. `fresh`: rebuild it if stale."""
        if self._current.cwd != self._folder:
            self._folder, self._ready, self._building = self._current.cwd, None, None
        now = self._timer.time()
        is_due = self._ready is None or (fresh and now - self._built_at > STALE_S)
        if is_due and self._building is None and not self._closed:
            self._building = FileIndex()
            self._tasks.start(self._build(self._building, self._folder))
        found = self._ready or self._building
        return found if found is not None and found.settled else None

    async def _build(self, index: FileIndex, folder: Path) -> None:
        def wanted() -> bool:
            return self._building is index and not self._closed and self._current.cwd == folder

        timer = self._timer
        end = timer.time() + MAX_S
        listing = FileListing(folder, wanted)
        try:
            async with aclosing(listing.pieces()) as pieces:
                async for piece in pieces:
                    index.add(piece)
                    index.cut = _limit(index.count, timer.time() > end)
                    if index.cut:
                        break
                    # Show partial results whenever they have doubled.
                    if self._ready is None and index.count >= 2 * index.settled:
                        await self._settle(index)
                    await asyncio.sleep(0)
            index.gone = listing.gone
            await self._settle(index)
            if wanted():
                self._ready, self._built_at = index, timer.time()
                self._on_news()
        except ListingCancelled:
            return
        finally:
            if self._building is index:
                self._building = None

    async def _settle(self, index: FileIndex) -> None:
        for _ in index.settle():
            await asyncio.sleep(0)
        if self._ready is None and self._building is index:
            self._on_news()


def _limit(count: int, late: bool) -> str:
    if count >= MAX_FILES:
        return f"Only the first {MAX_FILES:,} files are indexed; type a folder for more."
    return f"Indexing stopped after {MAX_S:.0f} s at {count:,} files; type a folder for more." if late else ""
