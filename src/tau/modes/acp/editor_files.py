"""Files as the editor has them, unsaved changes included."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from acp import RequestError
from acp import schema as a
from acp.interfaces import Client

from tau.agent.ports import ABSENT, DirectoryScan, FileSystem, Stat
from tau.base.errors import ToolError
from tau.base.sizes import MIB

MAX_BYTES = 8 * MIB  # of a file that an editor is asked for
TIMEOUT_S = 30.0
INVALID = "The editor's answer does not follow the protocol."

T = TypeVar("T")


class EditorFiles:
    """Implements `tau.agent.ports.FileSystem` over another one, for text files that the editor may have open.

    Folders, large and binary files are those on disk, and so is everything that the editor cannot do.
    """

    def __init__(
        self,
        disk: FileSystem,
        client: Client,
        session_id: Callable[[], str],
        capabilities: a.FileSystemCapabilities,
    ) -> None:
        self._disk = disk
        self._client = client
        self._session_id = session_id
        self._can_read = bool(capabilities.read_text_file)
        self._can_write = bool(capabilities.write_text_file)

    async def read(self, path: Path) -> bytes:
        stored = await self._disk.read(path)
        if not self._can_read or len(stored) > MAX_BYTES or _as_text(stored) is None:
            return stored
        try:
            answer = await ask_editor(self._client.read_text_file(self._session_id(), str(path)))
        except RequestError:  # it does not want to open this one
            return stored
        return _like(stored, answer.content)

    async def read_part(self, path: Path, start: int, size: int) -> bytes:
        return await self._disk.read_part(path, start, size)

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        text = _as_text(data)
        if not self._can_write or text is None or len(data) > MAX_BYTES:
            return await self._disk.write(path, data, expect=expect)
        before = await self._disk.stat(path)
        if before is None or (expect is not None and before != expect):
            # A new file needs its folders and permissions, a changed one its refusal.
            written = await self._disk.write(path, data, expect=ABSENT if expect is None else expect)
            await self._hand_over(path, text, written)
            return await self._disk.stat(path) or written
        await self._disk.read_part(path, 0, 1)  # fails if a link took the place of a folder
        await self._hand_over(path, text, before)
        after = await self._disk.stat(path)
        if after is None or after == before:  # it was not saved: commands would see the old text
            return await self._disk.write(path, data, expect=after or ABSENT)
        return after

    async def stat(self, path: Path) -> Stat | None:
        return await self._disk.stat(path)

    async def list(self, path: Path) -> Sequence[str]:
        return await self._disk.list(path)

    async def scan(self, path: Path, *, most: int) -> DirectoryScan:
        return await self._disk.scan(path, most=most)

    async def remove(self, path: Path, *, expect: Stat | None = None) -> None:
        await self._disk.remove(path, expect=expect)

    async def _hand_over(self, path: Path, text: str, before: Stat) -> None:
        """Raises ToolError, which says what is on disk: an editor may die in the middle of a write."""
        try:
            await ask_editor(self._client.write_text_file(self._session_id(), str(path), text))
        except (RequestError, ToolError) as error:
            refused = isinstance(error, RequestError)
            said = f"The editor refused to write {path}: {error}." if refused else str(error)
            if await self._disk.stat(path) != before:
                left = "The file has changed on disk and may be incomplete; read it again."
            else:
                is_new = await self._disk.read(path) == text.encode()
                left = "On disk, the file has the new text." if is_new else "On disk, nothing has changed."
            raise ToolError(f"{said} {left}") from error


async def ask_editor(request: Awaitable[T], limit_s: float | None = None) -> T:
    """Raises ToolError if the editor is gone or does not answer properly, RequestError if it refuses."""
    limit_s = limit_s or TIMEOUT_S
    try:
        async with asyncio.timeout(limit_s):
            return await request
    except TimeoutError:
        raise ToolError(f"The editor did not answer within {limit_s:.0f} seconds.") from None
    except ConnectionError as error:
        raise ToolError("The editor is gone.") from error
    except ValueError as error:
        raise ToolError(INVALID) from error


def _as_text(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _like(stored: bytes, text: str) -> bytes:
    """The editor's text as bytes: many hold it without its byte order mark and with plain line ends."""
    mark = "\ufeff" if stored.startswith(b"\xef\xbb\xbf") and not text.startswith("\ufeff") else ""
    if b"\r\n" in stored and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return f"{mark}{text}".encode("utf-8", "replace")
