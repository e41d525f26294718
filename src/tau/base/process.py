"""One running child on this machine: its output, its exit, the end of its process group.

We wait for the exit and not for the end of the pipe, which a background child may hold open for ever. The
exited child stays a zombie until we are done with its process group: as long as its number is taken, our
signals cannot reach a stranger that was given the same number.
"""

import asyncio
import os
import signal
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from tau.base import log, marked_processes
from tau.base.files import temporary_folder, write_all
from tau.base.orphan_guard import OrphanGuard
from tau.base.pipe import Pipe
from tau.base.process_tree import end_all
from tau.base.run import ABORT_GRACE_S, RUN_ID, Command, Exit, Limits, ProcessTree, Pty, Stdin
from tau.base.tasks import shielded

POLL_S = 0.005
STUCK_S = 2.0
INTERRUPTS = (signal.SIGINT, signal.SIGQUIT)  # what a shell makes background programs ignore
END_OF_INPUT = b"\x04"  # Ctrl+D
# A session leader without a terminal gets the first one that it opens.
ENTER_TERMINAL = ("/bin/sh", "-c", 'exec "$@" 0<>"$0" 1>&0 2>&0')


class ChildPipes(Struct, frozen=True, kw_only=True):
    """Both sides of what joins us and a child. Ours are -1 where there is nothing to write into."""

    reading: int
    writing: int = -1
    stdin: int
    stdout: int
    argv: tuple[str, ...] = ()  # prefix of the command

    def close_theirs(self) -> None:
        for fd in {self.stdin, self.stdout} - {subprocess.DEVNULL}:
            os.close(fd)

    def close_ours(self) -> None:
        for fd in {self.reading, self.writing} - {-1}:
            os.close(fd)


def launch(
    command: Command,
    limits: Limits,
    guard: OrphanGuard,
    *,
    stdin: Stdin = None,
    fds: Sequence[int] = (),
    terminal: Pty | None = None,
    family: ProcessTree | None = None,
) -> "LocalProcess":
    """Start a child in its own session; call it from the event loop that will manage it."""
    run_id = command.env.get(RUN_ID, "")
    ends = _pipes(stdin) if terminal is None else _terminal(terminal)
    guard.announce(RUN_ID, run_id)
    try:
        with _default_interrupts():
            child = subprocess.Popen(
                [*ends.argv, *command.argv],
                cwd=command.cwd,
                env=command.env,
                stdin=ends.stdin,
                stdout=ends.stdout,
                stderr=ends.stdout,
                close_fds=True,
                pass_fds=fds,
                start_new_session=True,
            )
    except BaseException:
        guard.forget(RUN_ID, run_id)
        ends.close_ours()
        raise
    finally:
        ends.close_theirs()
    guard.watch(child.pid)
    return LocalProcess(child, ends, limits, guard, run_id, family)


@contextmanager
def _default_interrupts() -> Iterator[None]:
    """Start a child that can be interrupted, even if we ignore interrupts as a background program does.

    Children inherit what we ignore but not what we handle, so a handler that does nothing is enough. Python
    sets handlers in the main thread only; a child started from another thread inherits what is there.
    """
    ignored = [number for number in INTERRUPTS if signal.getsignal(number) is signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        ignored = []
    try:
        for number in ignored:
            signal.signal(number, lambda *_: None)
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def _pipes(stdin: Stdin) -> ChildPipes:
    reading, stdout = os.pipe()
    writing, given = -1, subprocess.DEVNULL
    try:
        if stdin == "open":
            given, writing = os.pipe()
            os.set_blocking(writing, False)
        elif stdin is not None:
            given = _file_with(stdin)
    except BaseException:
        os.close(reading)
        os.close(stdout)
        raise
    return ChildPipes(reading=reading, writing=writing, stdin=given, stdout=stdout)


def _terminal(wanted: Pty) -> ChildPipes:
    ours, theirs = os.openpty()
    try:
        os.set_blocking(ours, False)
        termios.tcsetwinsize(theirs, (wanted.rows, wanted.columns))
        modes = termios.tcgetattr(theirs)
        if not wanted.echo:
            modes[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        return ChildPipes(
            reading=ours,
            writing=ours,
            stdin=theirs,
            stdout=theirs,
            argv=(*ENTER_TERMINAL, os.ttyname(theirs)),
        )
    except BaseException:
        os.close(ours)
        os.close(theirs)
        raise


def _file_with(data: bytes) -> int:
    """An anonymous file to read from: unlike a pipe, it takes any amount at once and never blocks."""
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
        self,
        child: subprocess.Popen[bytes],
        ends: ChildPipes,
        limits: Limits,
        guard: OrphanGuard,
        run_id: str,
        family: ProcessTree | None = None,
    ) -> None:
        self._child = child
        self._guard = guard
        self._run_id = run_id
        self._family = family
        self._pipe = Pipe(ends.reading)
        self._input = Input(ends.writing, is_terminal=ends.writing == ends.reading)
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._gone = asyncio.Event()
        self._calls: list[Callable[[Exit], None]] = []
        self._status = 0  # as in Popen.returncode: minus the signal if one ended it
        self._timed_out = False
        self._kill_at: float | None = None
        self._group_ended = False
        self._timers: list[asyncio.TimerHandle] = []
        self._exit_fd = self._watch()
        if limits.timeout is not None:
            self._timers.append(self._loop.call_later(limits.timeout, self._expire))

    @property
    def pid(self) -> int:
        return self._child.pid

    def output(self) -> "ProcessOutput":
        return ProcessOutput(self)

    async def read(self) -> bytes:
        """The next piece of output, empty at the end."""
        chunk = await self._pipe.read()
        if not chunk:
            await self._gone.wait()
        return chunk

    async def write(self, data: bytes) -> None:
        await self._input.write(data)

    async def end_input(self) -> None:
        await self._input.end()

    async def wait(self) -> Exit:
        """Wait for the exit. Read the output before or meanwhile: a full pipe blocks the process forever."""
        await self._gone.wait()
        return _exit(self._status, timed_out=self._timed_out)

    def when_gone(self, call: Callable[[Exit], None]) -> None:
        if self._gone.is_set():
            self._loop.call_soon(call, _exit(self._status, timed_out=self._timed_out))
        else:
            self._calls.append(call)

    async def kill(self, *, since: float | None = None, grace: float | None = None) -> None:
        """Send TERM to the group, and KILL after the grace period; returns when the process is gone."""
        if self._group_ended:
            return
        if since is not None and marked_processes.can_be_found():
            await end_all(lambda: self._younger(since), self._limits.grace if grace is None else grace)
        else:
            await self._kill_group(grace)
        if not self._gone.is_set():
            log.warning(f"Could not kill process {self.pid}; leaving it.")

    async def __aenter__(self) -> "LocalProcess":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Background children of a command survive if it exited normally and we were not interrupted."""
        interrupted = kind is not None and not issubclass(kind, Exception)
        try:
            if interrupted or self._timed_out or not self._gone.is_set():
                await shielded(self.kill(grace=ABORT_GRACE_S if interrupted else None))
        finally:
            self._close()

    async def _kill_group(self, grace: float | None) -> None:
        deadline = self._terminate(grace)
        marked_processes.send(marked_processes.marked(RUN_ID, self._run_id), signal.SIGTERM)
        with suppress(TimeoutError):  # then the timer has sent KILL
            async with asyncio.timeout_at(deadline):
                await self._gone.wait()
                self._child.wait()
                pause = POLL_S
                while marked_processes.group_has_processes(self.pid, signal_group=self._signal):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, 20 * POLL_S)
                self._group_ended = True
        with suppress(TimeoutError):
            async with asyncio.timeout(STUCK_S):
                await self._gone.wait()
        self._group_ended = True
        await end_all(lambda: marked_processes.marked(RUN_ID, self._run_id), 0)

    def _younger(self, since: float) -> list[int]:
        """The process itself while it lives, and those that it started later than `since`."""
        found = marked_processes.marked(RUN_ID, self._run_id, since=since)
        return found if self._gone.is_set() or self.pid in found else [self.pid, *found]

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
        _exit_status(self._child)
        with suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._on_exit)

    def _on_exit(self) -> None:
        if self._exit_fd >= 0:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = -1
        self._status = _exit_status(self._child)
        self._gone.set()
        self._pipe.ending()
        for call in self._calls:
            call(_exit(self._status, timed_out=self._timed_out))

    def _expire(self) -> None:
        if not self._gone.is_set():
            self._timed_out = True
            self._terminate()

    def _terminate(self, grace: float | None = None) -> float:
        """Ask the group to end, once; returns the time at which it is made to."""
        kill_at = self._loop.time() + (self._limits.grace if grace is None else grace)
        if self._kill_at is None:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a stopped process cannot obey
        if self._kill_at is None or kill_at < self._kill_at:
            self._kill_at = kill_at
            self._timers.append(self._loop.call_at(kill_at, self._signal, signal.SIGKILL))
        return self._kill_at

    def _signal(self, number: int) -> bool:
        """Send a signal to the group; False if it has no members."""
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
        self._group_ended = True
        self._guard.forget(RUN_ID, self._run_id, self.pid)
        if self._exit_fd >= 0:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = -1
        self._input.close()
        pipe = self._pipe.release()
        if pipe < 0:
            return
        if self._family is None:
            os.close(pipe)
        else:
            self._family.adopt(pipe)


class Input:
    """What a child reads, as we write it; at a terminal the descriptor is that of the output."""

    def __init__(self, fd: int, *, is_terminal: bool) -> None:
        self._fd = fd
        self._is_terminal = is_terminal and fd >= 0

    async def write(self, data: bytes) -> None:
        if self._fd < 0:
            raise BrokenPipeError("This process has nothing to read from")
        loop = asyncio.get_running_loop()
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                await _until_writable(loop, self._fd)

    async def end(self) -> None:
        if self._is_terminal:
            await self.write(END_OF_INPUT)
        else:
            self.close()

    def close(self) -> None:
        if self._fd >= 0 and not self._is_terminal:
            os.close(self._fd)
        self._fd = -1


async def _until_writable(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    ready = asyncio.Event()
    loop.add_writer(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(fd)


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


def _exit(status: int, *, timed_out: bool) -> Exit:
    code, number = (status, None) if status >= 0 else (None, -status)
    return Exit(code=code, signal=number, timed_out=timed_out)


def _exit_status(child: subprocess.Popen[bytes]) -> int:
    """Wait for the exit and learn its status, without taking the zombie away where the system allows that."""
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):
            info = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            if info is not None:
                return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
    return child.wait()
