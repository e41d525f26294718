"""Messages with Content-Length headers over the pipes of a child process, as in LSP and DAP."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tau.base import secrets
from tau.base.errors import TauError
from tau.base.run import Exit, Limits, Process, Runner
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.tasks import shielded
from tau.base.text import clean_line, shortened

MAX_FRAME_BYTES = 64 * MIB
MAX_HEADER_BYTES = 4 * KIB
STDERR_BYTES = 64 * KIB
STDERR_PAUSE_S = 0.001
WRITE_S = 10.0
END_S = 1.0  # from the end of input to TERM
_SHOWN_STDERR = 300


class FrameError(TauError):
    """The stream is not one of frames; nothing after this point can be trusted."""


class ProcessGone(TauError):
    """The process ended, or was ended."""


class FrameReader:
    """Cuts a stream into message bodies, however its pieces arrive."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._size = -1  # of the body that is being read

    def feed(self, chunk: bytes) -> list[bytes]:
        """The bodies that are complete now. Raises FrameError."""
        self._buffer += chunk
        bodies: list[bytes] = []
        while True:
            if self._size < 0 and not self._read_header():
                return bodies
            if len(self._buffer) < self._size:
                return bodies
            bodies.append(bytes(self._buffer[: self._size]))
            del self._buffer[: self._size]
            self._size = -1

    @property
    def is_inside(self) -> bool:
        """Whether a message has begun and not ended."""
        return self._size >= 0 or bool(self._buffer)

    def _read_header(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES + 4)
        if end < 0:
            if len(self._buffer) > MAX_HEADER_BYTES:
                raise FrameError(f"sent a header of more than {format_bytes(MAX_HEADER_BYTES)}")
            first = bytes(self._buffer[:32])
            if first and not b"content-".startswith(first[:8].lower()):
                raise FrameError(f"sent {_quote(first)} instead of a header")
            return False
        header = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        for line in header.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                size = int(value[:20])
                if size > self._max_bytes:
                    most = format_bytes(self._max_bytes)
                    raise FrameError(f"announced a message of {format_bytes(size)}; at most {most} is read")
                self._size = size
        if self._size < 0:
            raise FrameError(f"sent {_quote(header)} instead of a header")
        return True


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _quote(data: bytes) -> str:
    return repr(shortened(clean_line(data.decode("utf-8", "replace")), 60))


class StderrRing:
    """Keeps the end of what a process prints to stderr."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._reading = -1
        self._timer: asyncio.TimerHandle | None = None
        self.on_data: Callable[[bytes], None] = lambda data: None

    def open(self) -> int:
        """The descriptor for the child, which the caller closes."""
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        asyncio.get_running_loop().add_reader(self._reading, self._drain)
        return writing

    def close(self) -> None:
        if self._reading >= 0:
            self._drain()
            asyncio.get_running_loop().remove_reader(self._reading)
            if self._timer is not None:
                self._timer.cancel()
            os.close(self._reading)
            self._reading = -1

    @property
    def last(self) -> str:
        with suppress(OSError):
            while self._reading >= 0 and (data := os.read(self._reading, STDERR_BYTES)):
                self._kept += data
                del self._kept[:-STDERR_BYTES]
        lines = bytes(self._kept).decode("utf-8", "replace").strip().splitlines()
        return secrets.mask(shortened(clean_line(" / ".join(lines[-3:])), _SHOWN_STDERR))

    def _drain(self) -> None:
        """Take a piece and rest: a server that never stops printing must not use our time."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._reading)
        try:
            data = os.read(self._reading, STDERR_BYTES)
        except BlockingIOError:
            data = b""
            loop.add_reader(self._reading, self._drain)
            return
        except OSError:
            data = b""
        self._kept += data
        del self._kept[:-STDERR_BYTES]
        self.on_data(data)
        if data:
            self._timer = loop.call_later(STDERR_PAUSE_S, self._watch)

    def _watch(self) -> None:
        if self._reading >= 0:
            asyncio.get_running_loop().add_reader(self._reading, self._drain)


class FramedProcess:
    """A process that talks in frames. `name` is how errors call it."""

    def __init__(self, name: str, process: Process, errors: StderrRing) -> None:
        self._name = name
        self._process = process
        self._errors = errors
        self._writing = asyncio.Lock()
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def send(self, body: bytes) -> None:
        """Raises ProcessGone."""
        if self.gone.done():
            raise ProcessGone(self.gone.result())
        try:
            async with self._writing, asyncio.timeout(WRITE_S):
                await self._process.write(frame(body))
        except TimeoutError:
            self.end(f"{self._name} does not read its input")
            raise ProcessGone(self.gone.result()) from None
        except OSError:
            raise ProcessGone(f"{self._name} no longer reads its input") from None

    async def read(self, take: Callable[[bytes], Awaitable[None]]) -> None:
        """Pass on each message until it ends; then the process is gone."""
        frames = FrameReader()
        try:
            async for chunk in self._process.output():
                for body in frames.feed(chunk):
                    await take(body)
                    if self.gone.done():
                        return
                await asyncio.sleep(0)  # a flood must not hold the event loop
                if self.gone.done():
                    return
            ended = await self._process.wait()
            self.end(
                self._name + _describe(ended) + (" in the middle of a message" if frames.is_inside else "")
            )
        except FrameError as error:
            self.end(f"{self._name} {error}")

    def end(self, reason: str) -> None:
        if not self.gone.done():
            printed = f"; it printed: {self._errors.last}" if self._errors.last else ""
            self.gone.set_result(reason + printed)

    async def close(self) -> None:
        """End its input, wait a moment, kill its group."""
        await shielded(self._close())

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(END_S):
                await self._process.end_input()
                await self._process.wait()
        except (OSError, TimeoutError):
            pass
        await self._process.__aexit__(None, None, None)
        self._errors.close()
        self.end(f"{self._name} was stopped")


async def start_framed(
    name: str, runner: Runner, argv: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> FramedProcess:
    """Start a program that talks in frames. Raises ProcessGone."""
    errors = StderrRing()
    stderr = errors.open()
    try:
        process = await runner.start(
            argv, cwd=cwd, env=env, stdin="open", stderr=stderr, limits=Limits(grace=1.0)
        )
    except (OSError, ValueError, TauError) as error:
        errors.close()
        raise ProcessGone(f"{name} cannot start: {getattr(error, 'strerror', None) or error}") from None
    finally:
        os.close(stderr)
    return FramedProcess(name, process, errors)


def _describe(ended: Exit) -> str:
    return f" ended with signal {ended.signal}" if ended.code is None else f" exited with code {ended.code}"
