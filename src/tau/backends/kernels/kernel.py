"""One kernel: its process, its running cell, and how to stop them."""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tau.backends.kernels import cells
from tau.backends.kernels.cells import (
    LABELS,
    CellEnd,
    CellEvent,
    CellHost,
    KernelError,
    KernelLanguage,
    Listen,
)
from tau.backends.kernels.channel import (
    VARIABLE,
    CellBegun,
    CellDone,
    Channel,
    HostCall,
    KernelMessage,
    KernelReady,
    Marks,
    Pong,
    Show,
)
from tau.backends.kernels.running_cell import RunningCell
from tau.base import log
from tau.base.run import ABORT_GRACE_S, Exit, Process, Runner
from tau.base.sizes import KIB
from tau.base.tasks import shielded, spawn
from tau.base.text import clean_line, shortened

START_S = 30.0
BEGIN_S = 10.0  # for a kernel that has not begun the cell: interrupts before that are lost
INTERRUPT_S = (0.5, 1.0)  # grace after each interrupt; then the kernel is killed
CLOSE_S = 2.0
MAX_LATE_BYTES = 64 * KIB


class KernelLaunch(Struct, frozen=True, kw_only=True):
    """What to start; `env` extends our own environment."""

    language: KernelLanguage
    argv: Sequence[str]
    env: Mapping[str, str]


class Kernel:
    """Runs one cell at a time.

    `stopping` is the task that stops an abandoned cell; wait for it before running the next one. `ended`
    means the kernel did not stop a cell in time and was ended.
    """

    def __init__(self, launch: KernelLaunch) -> None:
        self.language = launch.language
        self.program = launch.argv[0]
        self.version = ""
        self.exit: Exit | None = None
        self._launch = launch
        self._process: Process | None = None
        self._channel: Channel | None = None
        self._started = asyncio.Event()  # set when ready or dead
        self._gone = asyncio.Event()
        self._marks: Marks | None = None
        self._late = bytearray()  # output received between cells
        self._shown: dict[int, Show | CellDone] = {}
        self._changed = asyncio.Event()
        self._running: RunningCell | None = None
        self._calls: asyncio.TaskGroup | None = None
        self._count = 0
        self._pings = self._pongs = 0
        self._group: asyncio.TaskGroup | None = None
        self.stopping: asyncio.Task[None] | None = None
        self.ended = False

    @property
    def alive(self) -> bool:
        return not self._gone.is_set()

    async def start(self, runner: Runner, cwd: Path, group: asyncio.TaskGroup) -> None:
        """Start the process in `group`. Raises KernelError if it does not come up."""
        self._group = group
        label = LABELS[self.language]
        try:
            await self._launch_process(runner, cwd, group)
            async with asyncio.timeout(START_S):
                await self._started.wait()
        except TimeoutError:
            await shielded(self.kill())
            raise KernelError(f"The {label} kernel was not ready after {START_S:g} s.") from None
        except OSError as error:
            await shielded(self.kill())
            program, why = self._launch.argv[0], error.strerror or error
            raise KernelError(f"The {label} kernel cannot be started with {program}: {why}.") from error
        except BaseException:
            await shielded(self.kill())
            raise
        if self._gone.is_set():
            lines = self._late.decode("utf-8", "replace").strip().splitlines()
            output = f" Output: {shortened(clean_line(lines[-1]), 300)}" if lines else ""
            raise KernelError(f"The {label} kernel ({self._launch.argv[0]}) exited during startup.{output}")

    async def run(self, code: str, timeout_s: float, listen: Listen, host: CellHost) -> CellEnd:
        """Run a cell and pass its output to `listen`. Cancellation stops the cell, then propagates.

        If the cell does not stop promptly, it is stopped in the background.
        """
        self._count += 1
        self._running = running = RunningCell(self._count, listen, host)
        if self._late:
            self._emit(cells.TextOutput(bytes(self._late)))
            self._late.clear()
        try:
            async with asyncio.TaskGroup() as calls:
                self._calls = calls
                if self._channel is None or not self.alive:
                    return self._death()
                self._channel.send("run", id=running.id, code=code)
                try:
                    return await self._end_of(running, timeout_s)
                finally:
                    for task in running.tasks:
                        task.cancel()
        finally:
            self._calls = None
            if self.stopping is None:
                self._running = None

    async def notice_exit(self) -> None:
        """If the kernel has exited, wait until that is recorded: a cell sent now would be lost with it."""
        if self.alive and (self._channel is None or self._channel.peer_closed):
            await self.kill()

    async def ping(self, within_s: float) -> bool:
        """Return whether the kernel still answers."""
        if self._channel is None or not self.alive:
            return False
        self._pings += 1
        wanted = self._pings
        self._channel.send("ping", id=wanted)
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self._pongs < wanted and self.alive:
                    self._changed.clear()
                    await self._changed.wait()
        return self._pongs >= wanted

    async def close(self) -> None:
        """Ask it to exit, then kill it if it does not."""
        if self._channel is not None and self._running is None and self.alive:
            self._channel.send("close")
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._gone.wait()
        await self.kill()

    async def kill(self) -> None:
        """Kill it and all its child processes."""
        if self._process is not None and self.alive:
            await self._process.kill()
            await self._gone.wait()
        elif self._channel is not None:
            self._channel.close()

    async def _launch_process(self, runner: Runner, cwd: Path, group: asyncio.TaskGroup) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._channel = await Channel.connect(ours, self._take, self._on_lost)
            env = {**self._launch.env, VARIABLE: str(theirs.fileno())}
            self._process = await runner.start(self._launch.argv, cwd=cwd, env=env, fds=[theirs.fileno()])
        spawn(group, self._supervise_process(), name=f"kernel-{self._process.pid}")

    async def _supervise_process(self) -> None:
        """Read the kernel's output until it exits; then end its leftover processes."""
        process = self._process
        assert process is not None
        try:
            async with process:
                try:
                    async for chunk in process.output():
                        await self._take_output(chunk)
                    self.exit = await process.wait()
                finally:
                    await shielded(process.kill())
        except Exception as error:
            log.error("Supervising a kernel failed.", error)
        finally:
            self._gone.set()
            self._started.set()
            self._changed.set()
            if self._channel is not None:
                self._channel.close()
            if self._running is not None:
                self._running.finish(self._death())

    async def _take_output(self, chunk: bytes) -> None:
        if self._marks is None:
            self._keep(chunk)
            return
        for piece in self._marks.split(chunk):
            if isinstance(piece, bytes):
                self._keep(piece)
                continue
            while piece not in self._shown and self._channel is not None:
                self._changed.clear()
                await self._changed.wait()
            message = self._shown.pop(piece, None)
            running = self._running
            if isinstance(message, CellDone):
                if running is not None and running.id == message.id:
                    status = "interrupted" if running.stopping else message.status
                    running.finish(CellEnd(status=status, exit_code=message.exit, stdin_wanted=message.stdin))
            elif message is not None and (event := _event(message)) is not None:
                self._emit(event)

    def _keep(self, data: bytes) -> None:
        if self._running is not None:
            self._emit(cells.TextOutput(data))
        else:
            self._late += data
            del self._late[:-MAX_LATE_BYTES]

    def _emit(self, event: CellEvent) -> None:
        if self._running is not None:
            try:
                self._running.listen(event)
            except Exception as error:
                log.error("A listener failed on cell output.", error)

    def _take(self, message: KernelMessage) -> None:
        match message:
            case Show() | CellDone():
                self._shown[message.seq] = message
                self._changed.set()
            case HostCall():
                self._on_call(message)
            case CellBegun():
                if self._running is not None and self._running.id == message.id:
                    self._running.begun.set()
            case Pong():
                self._pongs = message.id
                self._changed.set()
            case KernelReady():
                self.version = message.version
                self._marks = Marks(message.mark)
                self._started.set()
            case _:
                self._emit(cells.StatusOutput(message.event))

    def _on_lost(self) -> None:
        """A kernel without its channel is useless; it exits, or is ended."""
        self._channel = None
        self._changed.set()
        if self.alive and self._process is not None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _on_call(self, call: HostCall) -> None:
        running = self._running
        if running is not None and not running.stopping and self._calls is not None:
            running.begin(spawn(self._calls, running.answer(call, self._reply, self)))
        else:
            self._reply(call, ok=False, error="No cell is running.")

    def _reply(self, call: HostCall, **fields: Any) -> None:
        if self._channel is not None:
            self._channel.send("reply", id=call.id, **fields)

    async def _end_of(self, running: RunningCell, timeout_s: float) -> CellEnd:
        try:
            async with asyncio.timeout(timeout_s) as running.clock:
                await running.over.wait()
        except TimeoutError:
            await self._stop(running)
            return replace(running.end, timed_out=True)
        except asyncio.CancelledError:
            assert self._group is not None
            self.stopping = spawn(self._group, self._stop(running))
            await shielded(asyncio.wait({self.stopping}, timeout=ABORT_GRACE_S))
            running.listen = lambda event: None  # its caller has moved on
            raise
        finally:
            running.clock = None
        return running.end

    async def _stop(self, running: RunningCell) -> None:
        """Interrupt the cell like Ctrl+C; end the kernel if that fails."""
        running.stopping = True
        for task in running.tasks:
            task.cancel()
        try:
            if not running.begun.is_set():  # the kernel is still loading, or busy with a background task
                interrupt(self._process if self.alive else None)
                with suppress(TimeoutError):
                    async with asyncio.timeout(BEGIN_S):
                        await running.begun.wait()
            for seconds in INTERRUPT_S:
                interrupt(self._process if self.alive else None)
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await running.over.wait()
                        return
            self.ended = True
            await self.kill()
            running.finish(self._death())
        finally:
            self.stopping = None
            if self._calls is None:  # its caller has moved on
                self._running = None

    def _death(self) -> CellEnd:
        if self._running is not None and self._running.stopping:
            return CellEnd(status="interrupted", lost=True)
        code = None if self.exit is None else self.exit.code
        return CellEnd(status="died", exit_code=code, lost=True, reason=describe_exit(self.exit))


def interrupt(process: Process | None) -> None:
    """Send Ctrl+C to a kernel and its children."""
    if process is not None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGINT)


def describe_exit(exited: Exit | None) -> str:
    """Describe how a process ended."""
    if exited is None:
        return "it stopped responding"
    if exited.signal is None:
        return f"it exited with code {exited.code}"
    try:
        return f"it was killed by signal {signal.Signals(exited.signal).name}"
    except ValueError:
        return f"it was killed by signal {exited.signal}"


def _event(show: Show) -> CellEvent | None:
    match show.kind:
        case "json":
            return cells.JsonOutput(show.value)
        case "image":
            return cells.ImageOutput(show.data, show.mime)
        case "markdown":
            return cells.MarkdownOutput(show.text)
        case "html":
            return cells.HtmlOutput(show.text)
        case "text":
            return cells.TextOutput(show.text.encode("utf-8", "replace"))
    return None
