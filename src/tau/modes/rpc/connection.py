"""The pipe to an agent that was started as a child process: requests, answers and other lines."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tau.base.errors import TauError
from tau.base.run import OUTSIDE, LocalRunner, Process
from tau.base.sizes import KIB, MIB
from tau.base.tasks import spawn

STOP_TIMEOUT_S = 5.0
MAX_STDERR_BYTES = 64 * KIB
MAX_LINE_BYTES = 256 * MIB

Frame = dict[str, Any]


class RpcError(TauError):
    """The agent refused a command, or is gone; `code` is for programs."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class _Answer(Struct, frozen=True):
    type: str = ""
    id: str = ""
    success: bool = False
    data: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = "The command failed."  # events have other kinds
    code: str = ""


class RpcConnection:
    """`on_frame` gets every line that is not an answer; `on_end` is called when nothing more comes."""

    def __init__(self, on_frame: Callable[[Frame], None], on_end: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_end = on_end
        self._stack = AsyncExitStack()
        self._process: Process | None = None
        self._ready: asyncio.Future[None] | None = None
        self._pending: dict[str, asyncio.Future[bytes]] = {}
        self._stderr = bytearray()
        self._count = 0
        self.gone: RpcError | None = None

    @property
    def stderr(self) -> str:
        """The end of what the agent wrote to stderr."""
        return self._stderr.decode("utf-8", "replace")

    @property
    def pid(self) -> int:
        """Raises RpcError if it is not running."""
        return self._running().pid

    async def start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], ready_timeout_s: float
    ) -> asyncio.TaskGroup:
        """Start the agent and wait until it is ready; returns the group for work that ends with it.

        Raises RpcError with its stderr if it does not get ready.
        """
        runner = self._stack.enter_context(closing(LocalRunner()))
        reading, writing = os.pipe()
        try:
            # The agent is the user's own program: it may have all of our environment, keys included.
            self._process = await runner.start(
                argv, cwd=cwd, env={**os.environ, **env}, sandbox=OUTSIDE, stdin="open", stderr=writing
            )
        except OSError as error:
            os.close(reading)
            raise RpcError(f"{argv[0]} cannot be started: {error.strerror or error}.") from error
        finally:
            os.close(writing)
        await self._stack.enter_async_context(self._process)
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        loop.add_reader(reading, self._read_stderr, reading)
        self._stack.callback(self._close_stderr, reading)
        tasks = await self._stack.enter_async_context(asyncio.TaskGroup())
        spawn(tasks, self._read_lines(self._process))
        try:
            async with asyncio.timeout(ready_timeout_s):
                await self._ready
        except TimeoutError:
            await self.stop()
            raise RpcError(f"The agent was not ready in time. {self.stderr}".strip()) from None
        except RpcError:
            await self.stop()
            raise
        return tasks

    async def stop(self) -> None:
        """Close the agent's stdin, which ends it; end it if it does not."""
        if self._process is None:
            return
        process, self._process = self._process, None
        with suppress(OSError):
            await process.end_input()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            await process.kill()
        await self._stack.aclose()

    async def request(self, command: str, fields: Mapping[str, Any], timeout_s: float | None) -> bytes:
        """Send any command and return the data of its answer as JSON. Raises RpcError."""
        self._count += 1
        id = f"req_{self._count}"
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[id] = future
        try:
            await self.write({"id": id, "type": command, **fields})
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError:
            raise RpcError(f"The agent did not answer {command} within {timeout_s:g} s.") from None
        finally:
            del self._pending[id]

    async def write(self, frame: Mapping[str, Any]) -> None:
        """Raises RpcError if the agent is gone."""
        try:
            await self._running().write(msgspec.json.encode(frame) + b"\n")
        except BrokenPipeError:
            raise self.gone or RpcError("The agent is gone.", "gone") from None

    def _running(self) -> Process:
        if self._process is None or self.gone is not None:
            raise self.gone or RpcError("The agent is not running.", "gone")
        return self._process

    async def _read_lines(self, process: Process) -> None:
        rest = bytearray()
        async for chunk in process.output():
            rest += chunk
            if b"\n" in chunk:
                *lines, tail = bytes(rest).split(b"\n")
                rest = bytearray(tail)
                for line in lines:
                    self._take(line)
            elif len(rest) > MAX_LINE_BYTES:
                break
        self._end(RpcError(f"The agent has ended. {self.stderr}".strip(), "gone"))

    def _end(self, error: RpcError) -> None:
        """Nothing more comes: whoever waits gets the error."""
        self.gone = error
        waiting: list[asyncio.Future[Any]] = [*self._pending.values()]
        if self._ready is not None:
            waiting.append(self._ready)
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # perhaps nobody waits anymore
        self._on_end()

    def _take(self, line: bytes) -> None:
        try:
            answer = msgspec.json.decode(line, type=_Answer)
            if answer.type == "response" and (future := self._pending.get(answer.id)) is not None:
                _resolve(future, answer)
                return
            frame = msgspec.json.decode(line, type=Frame)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # something else printed to stdout
        if answer.type == "ready" and self._ready is not None and not self._ready.done():
            self._ready.set_result(None)
        else:
            self._on_frame(frame)

    def _read_stderr(self, fd: int) -> None:
        data = os.read(fd, MAX_STDERR_BYTES)
        if not data:
            asyncio.get_running_loop().remove_reader(fd)
        self._stderr += data
        del self._stderr[:-MAX_STDERR_BYTES]

    def _close_stderr(self, fd: int) -> None:
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)


def _resolve(future: asyncio.Future[bytes], answer: _Answer) -> None:
    if future.done():
        return
    if answer.success:
        future.set_result(bytes(answer.data))
    else:
        future.set_exception(RpcError(answer.error, answer.code))
