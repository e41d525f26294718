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

from tau.base import log
from tau.base.clock import now_ms
from tau.base.files import make_private, write_atomic
from tau.base.sizes import MIB
from tau.coding.session.storage.last_session import this_terminal

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
        self._leader = _leader() if leader is None else leader
        where = this_terminal() if terminal is None else terminal
        self._place = sha256(os.fsencode(cwd)).hexdigest()[:16]
        self._name = f"{self._place}-{where or 'none'}"
        self._path: Path | None = None
        self._todo: bytes | None = None
        self._working = False
        self._writing = threading.Lock()
        self._asked = 0
        self._written = 0

    def found(self) -> StoredDraft | None:
        """Take over the draft left here, unless its tau is still running.

        If this terminal has none, use one from a terminal that no longer exists: nobody else will.
        """
        for path in self._own_paths():
            kept = _read(path)
            if kept is not None and not self._is_taken(kept):
                self._path = path
                return kept
        for path in _files(self._folder, self._place):
            kept = _read(path)
            if kept is not None and not _is_alive(kept.pid) and not _is_alive(kept.leader):
                self._path = self._free_path()
                with suppress(OSError):
                    path.replace(self._path)
                    return kept
        return None

    def encoded(self, draft: Mapping[str, Any], pictures: Sequence[StoredAttachment] = ()) -> bytes | None:
        """The encoded draft; None if it is too long."""
        kept = StoredDraft(str(self._cwd), self._pid, self._leader, now_ms(), dict(draft), list(pictures))
        data = msgspec.json.encode(kept)
        return data if len(data) <= MAX_BYTES else None

    async def put(self, data: bytes) -> None:
        """Write it in the background; of several pending writes, only the last is kept."""
        self._todo = data
        if self._working:
            return
        self._working = True
        try:
            while self._todo is not None:
                data, self._todo = self._todo, None
                await asyncio.to_thread(self._put, data, self._number())
        finally:
            self._working = False

    def put_now(self, data: bytes) -> None:
        """Write it, or remove the file if empty. Errors are logged."""
        self._put(data, self._number())

    def _number(self) -> int:
        self._asked += 1
        return self._asked

    def _put(self, data: bytes, number: int) -> None:
        with self._writing:
            if number > self._written:  # a slow thread may hold outdated data
                self._written = number
                self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            if data:
                make_private(self._folder)
                if self._path is None or self._is_lost(self._path):
                    self._path = self._free_path()
                write_atomic(self._path, data, mode=0o600)
            elif self._path is not None and not self._is_lost(self._path):
                self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("Could not save the draft.", error)

    def remove(self) -> None:
        """It was sent or cleared."""
        self._todo = b"" if self._working else None
        if not self._working:
            self.put_now(b"")

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
        kept = _read(path)
        return kept is not None and self._is_taken(kept)

    def _is_taken(self, kept: StoredDraft) -> bool:
        return kept.pid != self._pid and _is_alive(kept.pid)


def _read(path: Path) -> StoredDraft | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        kept = msgspec.json.decode(path.read_bytes(), type=StoredDraft)
    except (OSError, msgspec.DecodeError):
        return None
    return kept if kept.version == 1 else None


def _files(folder: Path, start: str) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(start) and path.suffix)
    except OSError:
        return []


def _leader() -> int:
    try:
        return os.getsid(0)
    except OSError:
        return 0


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
