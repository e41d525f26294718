"""The sessions that are open in this server, by id; stored ones are opened on demand."""

import asyncio
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from tau.base.errors import UsageError
from tau.coding.session.storage.header import read_header
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.session_store import SessionStore
from tau.modes.event_json import encode_masked
from tau.modes.serve.completions import FileNames
from tau.modes.serve.errors import HttpError, SessionHolder, not_found
from tau.modes.serve.event_ring import EventRing
from tau.modes.serve.holders import find_holder
from tau.modes.serve.idempotency import AnsweredRequests
from tau.modes.serve.live_session import LiveSession, SessionReset
from tau.sdk import SessionOptions, session_store

MAX_SESSIONS = 64
IDLE_S = 300
_ID = r"[0-9A-Za-z_-]{1,64}"


class SessionPool:
    """`options` hold for every session; those whose folder is not below `root` do not exist here."""

    def __init__(
        self,
        options: SessionOptions,
        root: Path,
        tasks: asyncio.TaskGroup,
        *,
        dialog_timeout_s: float = 600,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.options = options
        self.root = root
        self.environ = environ
        self.live: dict[str, LiveSession] = {}
        self.answers = AnsweredRequests()
        self.files = FileNames()
        self.has_sessions = asyncio.Event()
        self.closed = False
        self._tasks = tasks
        self._dialog_timeout_s = dialog_timeout_s
        self._opening = asyncio.Lock()

    @property
    def store(self) -> SessionStore:
        folder = self.options.session_dir
        if folder is not None:
            return SessionStore(folder, self.root, flat=True)
        return session_store(self.environ, self.root)

    def find(self, id: str) -> Path:
        """The file of a stored session. Raises HttpError."""
        missing = not_found(f'There is no session "{id[:64]}".')
        if not re.fullmatch(_ID, id):
            raise missing
        try:
            path = self.store.find_path(id)
        except UsageError:
            raise missing from None
        header = read_header(path)
        if path.stem.rpartition("_")[2] != id or header is None or not self.contains(Path(header.cwd)):
            raise missing
        return path

    def contains(self, folder: Path) -> bool:
        return Path(os.path.realpath(folder)).is_relative_to(self.root)

    async def open(self, id: str) -> LiveSession:
        """Raises HttpError: 404, or 409 if another process writes the session."""
        if (live := self.live.get(id)) is not None:
            return live
        async with self._opening:
            if (live := self.live.get(id)) is not None:
                return live
            path = await asyncio.to_thread(self.find, id)
            header = read_header(path)
            assert header is not None
            options = self.options.next(resume=str(path))
            return await self._start(replace(options, cwd=Path(header.cwd), copy_locked=False), path)

    async def create(self, cwd: str | None, model: str | None) -> LiveSession:
        folder = self.root / (cwd or ".")
        is_path = "\0" not in str(folder)
        if is_path and not self.contains(folder):
            raise HttpError(403, "outside_root", f'The folder "{cwd}" is not below {self.root}; see --root.')
        if not (is_path and os.path.isdir(folder)):  # noqa: PTH112 (a long name is no error here)
            raise not_found(f'There is no folder "{str(folder)[:500]}".')
        options = replace(self.options.next(), cwd=folder)
        async with self._opening:
            return await self._start(replace(options, model=model) if model else options, None)

    def settle(self, live: LiveSession, id: str) -> str | None:
        """A command may have opened another session in place of `id`: move its clients there.

        Returns its id.
        """
        place = next((key for key, one in self.live.items() if one is live), None)
        if place is None or live.id == id:
            return None
        if place != live.id:
            self.live[live.id] = self.live.pop(place)
            ring, live.ring = live.ring, EventRing()
            ring.append(
                encode_masked(SessionReset("The conversation continues in another session.", live.id))
            )
            ring.end()
            live.watch_log()
            live.host.report_notices()
        return live.id

    async def close_session(self, id: str) -> None:
        live = self.live.pop(id, None)
        if not self.live:
            self.has_sessions.clear()
        if live is not None:
            await live.close()

    async def close_idle(self) -> None:
        """Close the sessions that nobody has used for a while; a new one without messages would be lost."""
        before = time.monotonic() - IDLE_S
        for id, live in list(self.live.items()):
            if live.saved and not live.in_use and live.used_s < before:
                await self.close_session(id)

    async def close(self) -> None:
        self.closed = True
        async with self._opening:
            for id in list(self.live):
                await self.close_session(id)

    async def _start(self, options: SessionOptions, path: Path | None) -> LiveSession:
        if self.closed:
            raise HttpError(409, "stopping", "The server is stopping.")
        await self._make_room()
        live = LiveSession(options, self._tasks, self.environ, dialog_timeout_s=self._dialog_timeout_s)
        try:
            await live.host.open()
        except SessionLocked as error:
            raise locked(path) from error
        live.watch_log()
        self.live[live.id] = live
        self.has_sessions.set()
        live.host.report_notices()
        return live

    async def _make_room(self) -> None:
        if len(self.live) < MAX_SESSIONS:
            return
        idle = [live for live in self.live.values() if not live.in_use]
        if not idle:
            raise HttpError(
                429, "too_many_sessions", f"{MAX_SESSIONS} sessions are in use; close one of them first."
            )
        await self.close_session(min(idle, key=lambda live: (not live.saved, live.used_s)).id)


def locked(path: Path | None) -> HttpError:
    holder = (find_holder(path) if path is not None else None) or SessionHolder(None, None)
    who = f"process {holder.pid}" if holder.pid else "another process"
    return HttpError(
        409,
        "session_locked",
        f"The session is open in {who} ({holder.face or 'tau'}); close it there to continue here.",
        holder=holder,
    )
