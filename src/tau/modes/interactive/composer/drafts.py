"""Drafts, saved to disk while they are written and restored after a crash."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tau.base import log, secrets
from tau.base.clock import now_ms
from tau.base.files import make_private, write_atomic
from tau.base.sizes import MIB
from tau.coding.session.storage.last_session import terminal_id

MAX_BYTES = 4 * MIB
KEPT_S = 30 * 24 * 3600
MAX_WINDOWS = 9
"""How many tau processes on one terminal and folder can have separate drafts."""
_ENDING = ".json"


class StoredAttachment(Struct, frozen=True):
    token: str
    path: str


class StoredDraft(Struct, frozen=True, rename="camel"):
    """The content of a draft file. `pid` and `leader` identify its owner: the tau process and its shell."""

    cwd: str
    pid: int
    leader: int
    time_ms: int
    draft: dict[str, Any]
    pictures: list[StoredAttachment] = []
    version: int = 1


class DraftStore:
    """One small file per folder and terminal; none while there is no draft.

    `leader` is the process of the terminal's shell, `pid` our own.
    """

    def __init__(
        self,
        folder: Path,
        cwd: Path,
        *,
        terminal: str | None = None,
        leader: int | None = None,
        pid: int | None = None,
    ) -> None:
        self._folder = folder
        self._cwd = cwd
        self._pid = os.getpid() if pid is None else pid
        self._leader = os.getsid(0) if leader is None else leader
        where = terminal_id() if terminal is None else terminal
        self._place = sha256(os.fsencode(cwd)).hexdigest()[:16]
        self._name = f"{self._place}-{where or 'none'}"
        self._path: Path | None = None
        self._pending: bytes | None = None
        self._is_saving = False
        self._lock = threading.Lock()
        self._last_number = 0
        self._written_number = 0

    def take_over(self) -> StoredDraft | None:
        """Take over the draft left here, unless its tau is still running.

        If this terminal has none, use one from a terminal that no longer exists: nobody else will.
        """
        for path in self._own_paths():
            stored = _read(path)
            if stored is not None and not self._is_taken(stored):
                self._path = path
                return stored
        for path in _files(self._folder, self._place):
            stored = _read(path)
            if stored is not None and not _is_alive(stored.pid) and not _is_alive(stored.leader):
                self._path = self._free_path()
                with suppress(OSError):
                    path.replace(self._path)
                    return stored
        return None

    def encode(self, draft: Mapping[str, Any], pictures: Sequence[StoredAttachment] = ()) -> bytes | None:
        """The encoded draft; None if it is too long."""
        stored = StoredDraft(str(self._cwd), self._pid, self._leader, now_ms(), dict(draft), list(pictures))
        data = msgspec.json.encode(stored)
        return data if len(data) <= MAX_BYTES else None

    async def save(self, data: bytes) -> None:
        """Write it in the background; of several pending writes, only the last is kept."""
        self._pending = data
        if self._is_saving:
            return
        self._is_saving = True
        try:
            while self._pending is not None:
                data, self._pending = self._pending, None
                await asyncio.to_thread(self._save, data, self._next_number())
        finally:
            self._is_saving = False

    def save_now(self, data: bytes) -> None:
        """Write it, or remove the file if empty. Errors are logged."""
        self._save(data, self._next_number())

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def _save(self, data: bytes, number: int) -> None:
        with self._lock:
            if number > self._written_number:  # a slow thread may hold outdated data
                self._written_number = number
                self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            if data:
                make_private(self._folder)
                if self._path is None or self._is_lost(self._path):
                    self._path = self._free_path()
                write_atomic(self._path, secrets.mask_line(data), mode=0o600)
            elif self._path is not None and not self._is_lost(self._path):
                self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("Could not save the draft.", error)

    def remove(self) -> None:
        """It was sent or cleared."""
        self._pending = b"" if self._is_saving else None
        if not self._is_saving:
            self.save_now(b"")

    def clean(self) -> None:
        """Remove drafts unused for a month."""
        oldest = time.time() - KEPT_S
        for path in _files(self._folder, ""):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _own_paths(self) -> Iterator[Path]:
        for number in range(1, MAX_WINDOWS + 1):
            suffix = "" if number == 1 else f"-{number}"
            yield self._folder / f"{self._name}{suffix}{_ENDING}"

    def _free_path(self) -> Path:
        """A name no other tau is using."""
        paths = list(self._own_paths())
        return next((path for path in paths if not self._is_lost(path)), paths[-1])

    def _is_lost(self, path: Path) -> bool:
        """Whether another running tau writes to this file."""
        stored = _read(path)
        return stored is not None and self._is_taken(stored)

    def _is_taken(self, stored: StoredDraft) -> bool:
        return stored.pid != self._pid and _is_alive(stored.pid)


def _read(path: Path) -> StoredDraft | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        stored = msgspec.json.decode(path.read_bytes(), type=StoredDraft)
    except (OSError, msgspec.DecodeError):
        return None
    return stored if stored.version == 1 else None


def _files(folder: Path, start: str) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(start) and path.suffix)
    except OSError:
        return []


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        pass
    return True
