"""One command in a persistent shell: its output channel, its exit, its time limit."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from tau.base.pipe import Pipe
from tau.base.run import ABORT_GRACE_S, Exit, Limits, Process, ProcessTree
from tau.base.tasks import shielded


class ShellHost(Protocol):
    """The shell that a command runs in."""

    @property
    def process(self) -> Process: ...
    async def left(self, call: "ShellCall") -> None:
        """The command has finished, or its shell is gone."""
        ...


class ShellCall:
    """Implements `tau.base.run.Process` for a command inside a shell, whose process it shares.

    The output goes through a FIFO that only this command's processes have open, so late writes cannot appear
    in the output of the next command. We hold the writing end too, so the reader does not see EOF before the
    shell has opened the FIFO.
    """

    def __init__(
        self,
        host: ShellHost,
        place: Path,
        limits: Limits,
        family: ProcessTree,
        start: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        os.mkfifo(place, 0o600)
        self._host = host
        self.place = place
        self._family = family
        self._start = start
        self._pipe = Pipe(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        self._writing = os.open(place, os.O_WRONLY | os.O_CLOEXEC)
        self._began = time.monotonic()
        self._done = asyncio.Event()
        self._exit = Exit(code=None)
        self._timed_out = False
        self._calls: list[Callable[[Exit], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        if limits.timeout is not None:
            self._timer = asyncio.get_running_loop().call_later(limits.timeout, self._expire)

    @property
    def pid(self) -> int:
        return self._host.process.pid

    def output(self) -> "CallOutput":
        return CallOutput(self)

    async def read(self) -> bytes:
        chunk = await self._pipe.read()
        if not chunk:
            await self._done.wait()
        return chunk

    async def write(self, data: bytes) -> None:
        raise BrokenPipeError("A command in the session's shell has no standard input")

    async def end_input(self) -> None:
        """Do nothing: there is no input."""

    async def wait(self) -> Exit:
        await self._done.wait()
        return self._exit

    def when_gone(self, call: Callable[[Exit], None]) -> None:
        if self._done.is_set():
            asyncio.get_running_loop().call_soon(call, self._exit)
        else:
            self._calls.append(call)

    async def kill(self, *, since: float | None = None, grace: float | None = None) -> None:
        """Kill the shell too: otherwise it would run the next line of the command.

        Background processes of earlier commands keep running.
        """
        await self._host.process.kill(since=since or self._began, grace=grace)

    def ended(self, how: Exit) -> None:
        """Record the exit reported by the shell."""
        if self._done.is_set():
            return
        self._exit = Exit(code=how.code, signal=how.signal, timed_out=self._timed_out)
        os.close(self._writing)
        if self._timer is not None:
            self._timer.cancel()
        self._done.set()
        self._pipe.ending()
        for call in self._calls:
            call(self._exit)

    async def __aenter__(self) -> "ShellCall":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Like a process: background children keep running, unless we were interrupted."""
        interrupted = kind is not None and not issubclass(kind, Exception)
        kill = interrupted or self._timed_out or not self._done.is_set()
        await shielded(self._leave(kill=kill, grace=ABORT_GRACE_S if interrupted else None))

    async def _leave(self, *, kill: bool, grace: float | None) -> None:
        try:
            if kill:
                await self.kill(grace=grace)
        finally:
            self.ended(Exit(code=None))  # a command that could not be killed never reports
            with suppress(OSError):
                self.place.unlink()
            if (pipe := self._pipe.release()) >= 0:
                self._family.adopt(pipe)
            await self._host.left(self)

    def _expire(self) -> None:
        self._timer = None
        if not self._done.is_set():
            self._timed_out = True
            self._start(self.kill())


class CallOutput:
    """The output of one command, as an iterator that need not be closed."""

    def __init__(self, call: ShellCall) -> None:
        self._call = call

    def __aiter__(self) -> "CallOutput":
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._call.read()
        if not chunk:
            raise StopAsyncIteration
        return chunk
