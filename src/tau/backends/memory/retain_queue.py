"""Memories on their way to a Hindsight server: each is a file until the server has it."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.backends.memory.hindsight import HindsightClient, HindsightError
from tau.backends.memory.store import MemoryStoreError
from tau.base import log
from tau.base.errors import TauError
from tau.base.files import make_private, try_lock, write_atomic
from tau.base.tasks import Background

BATCH, FLUSH_S = 16, 5.0
MAX_PAUSE_S = 300.0
MAX_WAITING = 1_000
_UNACCEPTABLE = (400, 413, 422)  # the server will never take it


class QueuedMemory(Struct, frozen=True):
    """`item` is what the server gets; `url` and `bank` say where it may be sent."""

    url: str
    bank: str
    item: dict[str, object]


class RetainQueue:
    """Sends batches of 16, or what there is after 5 seconds; one process at a time sends.

    `warn` tells the user; the model never hears of it.
    """

    def __init__(self, folder: Path, client: HindsightClient, background: Background) -> None:
        self.folder = folder
        self.warn: Callable[[str], None] = log.warning
        self._client = client
        self._background = background
        self._is_sending = self._is_failing = self._is_ending = self._has_more = False
        self._hurry = asyncio.Event()

    async def add(self, items: Sequence[dict[str, object]], bank: str) -> None:
        """Keep them on the disk, and send them soon. Raises MemoryStoreError."""
        await asyncio.to_thread(self._write, [QueuedMemory(self._client.url, bank, item) for item in items])
        self.wake()

    def _write(self, items: Sequence[QueuedMemory]) -> None:
        try:
            make_private(self.folder)
            if len(self.waiting()) + len(items) > MAX_WAITING:
                raise MemoryStoreError(
                    f"{MAX_WAITING:,} memories wait for the Hindsight server; tau memory doctor says why."
                )
            for item in items:
                path = self.folder / f"{time.time_ns():020}-{os.urandom(4).hex()}.json"
                write_atomic(path, msgspec.json.encode(item), mode=0o600)
        except OSError as error:
            raise MemoryStoreError(f"Memories cannot be kept in {self.folder}: {error.strerror}.") from error

    def waiting(self) -> list[Path]:
        """The oldest first."""
        try:
            return sorted(path for path in self.folder.iterdir() if path.suffix == ".json")
        except OSError:
            return []

    def wake(self) -> None:
        """Send what waits, soon."""
        waiting = len(self.waiting())
        self._has_more = True
        if waiting >= BATCH and not self._is_failing:
            self._hurry.set()
        if waiting and not self._is_sending:
            self._is_sending = True
            self._background.start(self._keep_sending())

    def finish(self) -> None:
        """Send once more, now. A later session sends what the server does not take."""
        self._is_ending = True
        self._hurry.set()

    async def flush(self) -> bool:
        """Send all that waits for this server; False if another process is sending. Raises TauError."""
        if not self.waiting():
            return True
        fd = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if not try_lock(fd):
                return False
            while batch := await asyncio.to_thread(self._next):
                await self._send(batch)
            return True
        finally:
            os.close(fd)

    async def _keep_sending(self) -> None:
        pause = FLUSH_S
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._hurry.wait()
                if self._is_ending and self._is_failing:
                    return
                self._hurry.clear()
                self._has_more = False
                try:
                    is_done = await self.flush()
                    self._is_failing, pause = False, FLUSH_S
                    if (is_done and not self._has_more) or self._is_ending:
                        return
                except (TauError, OSError) as error:
                    pause = min(2 * pause, MAX_PAUSE_S)
                    if not self._is_failing:
                        self._is_failing = True
                        kept = f"Memories are kept in {self.folder} until the Hindsight server takes them."
                        self.warn(f"{kept} {error}")
        finally:
            self._is_sending = False

    def _next(self) -> list[tuple[Path, QueuedMemory]]:
        """The next batch for one bank; the last text of each document only."""
        batch: dict[str, tuple[Path, QueuedMemory]] = {}
        bank = ""
        for path in self.waiting():
            try:
                queued = msgspec.json.decode(path.read_bytes(), type=QueuedMemory)
            except (msgspec.DecodeError, UnicodeDecodeError):
                self._set_aside(path, "it is damaged.")
                continue
            if queued.url != self._client.url or queued.bank != (bank := bank or queued.bank):
                continue
            document = str(queued.item.get("document_id"))
            if old := batch.get(document):
                old[0].unlink()
            elif len(batch) == BATCH:
                break
            batch[document] = (path, queued)
        return list(batch.values())

    async def _send(self, batch: list[tuple[Path, QueuedMemory]]) -> None:
        body = {"items": [queued.item for _, queued in batch], "async": True}
        try:
            answer = await self._client.ask("POST", batch[0][1].bank, "/memories", body)
            if not answer.success:
                raise HindsightError(f"{self._client.server} did not confirm the memories.")
        except HindsightError as error:
            if error.status not in _UNACCEPTABLE:
                raise
            if len(batch) == 1:
                return self._set_aside(batch[0][0], str(error))
            for one in batch:
                await self._send([one])
        else:
            for path, _ in batch:
                path.unlink()

    def _set_aside(self, path: Path, why: str) -> None:
        aside = path.rename(path.with_suffix(".refused"))
        self.warn(f"A memory was not sent to Hindsight and is kept in {aside}: {why}")
