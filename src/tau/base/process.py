"""One running child on this machine: its output as it comes, its exit, the end of its whole process group.

We wait for the exit and not for the end of the pipe, which a background child may hold open for ever. The
exited child stays a zombie until we are done with its process group: as long as its number is taken, our
signals cannot reach a stranger that was given the same number.
"""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from tau.base import log
from tau.base.files import temporary_folder, write_all
from tau.base.guard import Guard
from tau.base.run import RUN_ID, Command, Exit, Limits
from tau.base.sizes import KIB, MIB
from tau.base.tasks import shielded

CHUNK_BYTES = 64 * KIB
QUIET_S = 0.05  # after the exit, output is over when the pipe is silent for this long,
DRAIN_S = 0.5  # or after this time at the latest,
DRAIN_BYTES = MIB  # or after this much, which is more than a pipe can hold
POLL_S = 0.005
STUCK_S = 2.0


def launch(command: Command, limits: Limits, stdin: bytes | None, guard: Guard) -> "LocalProcess":
    """Start a child in its own session; call it from the event loop that shall look after it."""
    run_id = command.env.get(RUN_ID, "")
    guard.announce(run_id)
    reading, writing = os.pipe()
    given = subprocess.DEVNULL
    try:
        os.set_blocking(reading, False)
        if stdin is not None:
            given = _file_with(stdin)
        child = subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env=command.env,
            stdin=given,
            stdout=writing,
            stderr=writing,
            close_fds=True,
            start_new_session=True,
        )
    except BaseException:
        guard.forget(run_id)
        os.close(reading)
        raise
    finally:
        os.close(writing)
        if given >= 0:
            os.close(given)
    guard.watch(child.pid)
    return LocalProcess(child, reading, limits, guard, run_id)


def _file_with(data: bytes) -> int:
    """A nameless file to read from: unlike a pipe it takes any amount at once and never blocks us."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("tau-stdin")
    else:
        path = temporary_folder() / f"tau-stdin-{os.urandom(8).hex()}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        path.unlink()
    try:
        write_all(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


class LocalProcess:
    """Implements `tau.base.run.Process`."""

    def __init__(
        self, child: subprocess.Popen[bytes], pipe: int, limits: Limits, guard: Guard, run_id: str
    ) -> None:
        self._child = child
        self._guard = guard
        self._run_id = run_id
        self._pipe = pipe
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._gone = asyncio.Event()
        self._status = 0  # as in Popen.returncode: minus the signal if one ended it
        self._timed_out = False
        self._kill_at: float | None = None
        self._group_ended = False
        self._output_ended = False
        self._busy = False
        self._drain_until = 0.0
        self._drained_bytes = 0
        self._news: asyncio.Future[bool] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._exit_fd = self._watch()
        if limits.timeout is not None:
            self._timers.append(self._loop.call_later(limits.timeout, self._expire))

    @property
    def pid(self) -> int:
        return self._child.pid

    def output(self) -> AsyncIterator[bytes]:
        return ProcessOutput(self)

    async def read(self) -> bytes:
        """The next piece of output, empty at the end. Never reads ahead: a slow reader slows the child."""
        if self._busy:
            await asyncio.sleep(0)  # a child that never pauses must not keep the loop from everything else
        while not self._output_ended:
            try:
                chunk = os.read(self._pipe, CHUNK_BYTES)
            except BlockingIOError:
                self._busy = False
                self._output_ended = not await self._more_to_come()
                continue
            if self._gone.is_set():
                self._drained_bytes += len(chunk)
            self._busy = True
            self._output_ended = not chunk or self._drained_bytes > DRAIN_BYTES
            if chunk:
                return chunk
        await self._gone.wait()
        return b""

    async def wait(self) -> Exit:
        """How the process ended. Read its output before or beside this: a full pipe blocks it for ever."""
        await self._gone.wait()
        code, number = (self._status, None) if self._status >= 0 else (None, -self._status)
        return Exit(code=code, signal=number, timed_out=self._timed_out)

    async def kill(self) -> None:
        """TERM to the group, after the grace period KILL to who is left; returns when the process is gone."""
        if self._group_ended:
            return
        deadline = self._terminate()
        _signal_strays(self._run_id, signal.SIGTERM)
        try:
            async with asyncio.timeout_at(deadline):
                await self._gone.wait()
                self._child.wait()
                pause = POLL_S
                while self._signal(0) and _anyone_lives_in(self.pid):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, 20 * POLL_S)
                self._group_ended = True
        except TimeoutError:
            pass
        finally:
            if not self._group_ended:
                self._signal(signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(STUCK_S):
                await self._gone.wait()
        self._group_ended = True
        _signal_strays(self._run_id, signal.SIGKILL)
        if not self._gone.is_set():
            log.warning(f"Process {self.pid} could not be killed and is left alone.")

    async def __aenter__(self) -> "LocalProcess":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """What a command left in the background lives on if it ended by itself and nobody interrupted us."""
        interrupted = kind is not None and not issubclass(kind, Exception)
        try:
            if interrupted or self._timed_out or not self._gone.is_set():
                await shielded(self.kill())
        finally:
            self._close()

    def _watch(self) -> int:
        """Have `_on_exit` called, by a process descriptor where there is one, else (-1) by a thread."""
        try:
            fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._watch_in_thread, name=f"tau-wait-{self.pid}", daemon=True).start()
            return -1
        self._loop.add_reader(fd, self._on_exit)
        return fd

    def _watch_in_thread(self) -> None:
        status = _exit_status(self._child)
        with suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._on_exit, status)

    def _on_exit(self, status: int | None = None) -> None:
        if self._exit_fd >= 0:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = -1
        self._status = _exit_status(self._child) if status is None else status
        self._drain_until = self._loop.time() + DRAIN_S
        self._gone.set()
        self._tell(False)

    async def _more_to_come(self) -> bool:
        """Wait until the pipe has something; False if the process is gone and nothing came."""
        if not self._gone.is_set():
            await self._next_news(None)
            return True
        seconds = min(QUIET_S, self._drain_until - self._loop.time())
        return seconds > 0 and await self._next_news(seconds)

    async def _next_news(self, seconds: float | None) -> bool:
        """Wait for output (True), the exit or the end of `seconds` (False)."""
        if self._news is not None:
            raise RuntimeError("The output of a process has one reader at a time")
        self._news = self._loop.create_future()
        self._loop.add_reader(self._pipe, self._tell, True)
        timer = None if seconds is None else self._loop.call_later(seconds, self._tell, False)
        try:
            return await self._news
        finally:
            self._news = None
            self._loop.remove_reader(self._pipe)
            if timer is not None:
                timer.cancel()

    def _tell(self, readable: bool) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(readable)

    def _expire(self) -> None:
        if not self._gone.is_set():
            self._timed_out = True
            self._terminate()

    def _terminate(self) -> float:
        """Ask the group to end, once; returns the time at which it is made to."""
        if self._kill_at is None:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a stopped process cannot obey
            self._kill_at = self._loop.time() + self._limits.grace
            self._timers.append(self._loop.call_at(self._kill_at, self._signal, signal.SIGKILL))
        return self._kill_at

    def _signal(self, number: int) -> bool:
        """Send a signal to the group; False if nobody is there to get it."""
        if self._group_ended:
            return False
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._gone.is_set():
            self._child.wait()
        self._group_ended = self._output_ended = True
        self._guard.forget(self._run_id, self.pid)
        if self._exit_fd >= 0:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = -1
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


class ProcessOutput:
    """The output of one process, as an iterator that needs no closing."""

    def __init__(self, source: LocalProcess) -> None:
        self._source = source

    def __aiter__(self) -> "ProcessOutput":
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._source.read()
        if not chunk:
            raise StopAsyncIteration
        return chunk


def _anyone_lives_in(group: int) -> bool:
    """Whether a process group that is not empty has more than dead members whom nobody has waited for."""
    try:
        processes = [entry.path for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return True  # no way to tell here
    for path in processes:
        with suppress(OSError), open(f"{path}/stat", "rb") as file:  # noqa: PTH123 - many, and fast
            state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
            if int(its_group) == group and state not in b"ZX":
                return True
    return False


def _signal_strays(run_id: str, number: int) -> None:
    """Reach those that left the process group, as `setsid` does: they still carry the id of their command."""
    mark = f"\0{RUN_ID}={run_id}\0".encode()
    with suppress(OSError):  # where there is no /proc, they cannot be found
        for entry in os.scandir("/proc"):
            with suppress(OSError):
                if entry.name.isdigit() and mark in b"\0" + Path(f"{entry.path}/environ").read_bytes():
                    os.kill(int(entry.name), number)


def _exit_status(child: subprocess.Popen[bytes]) -> int:
    """Wait for the exit and learn its status, without taking the zombie away where the system allows that."""
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):
            info = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            if info is not None:
                return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
    return child.wait()
