"""A running child process: its start, its output, its exit. `process_group` ends it.

We wait for the exit and not for the end of the pipe, which a background child may hold open forever.
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

from tau.base import log
from tau.base.files import anonymous_file
from tau.base.orphan_guard import OrphanGuard
from tau.base.pipe import OutputChunks, Pipe
from tau.base.process_group import ProcessGroup
from tau.base.run import (
    ABORT_GRACE_S,
    RUN_ID,
    Child,
    ChildFiles,
    Command,
    Exit,
    Limits,
    ProcessTree,
    Pty,
    Sandbox,
    Stdin,
)
from tau.base.tasks import shielded

INTERRUPTS = (signal.SIGINT, signal.SIGQUIT)  # shells make background programs ignore these
END_OF_INPUT = b"\x04"  # Ctrl+D
# A session leader without a terminal gets the first one it opens.
ENTER_TERMINAL = ("/bin/sh", "-c", 'exec "$@" 0<>"$0" 1>&0 2>&0')


class ChildPipes(Struct, frozen=True, kw_only=True):
    """Descriptors between us and a child. `writing` is -1 if we cannot write."""

    reading: int
    writing: int = -1
    stdin: int
    stdout: int

    def close_child_side(self) -> None:
        for fd in {self.stdin, self.stdout} - {-1}:
            os.close(fd)

    def close_our_side(self) -> None:
        for fd in {self.reading, self.writing} - {-1}:
            os.close(fd)


async def launch(
    command: Command,
    sandbox: Sandbox,
    limits: Limits,
    guard: OrphanGuard,
    *,
    stdin: Stdin = None,
    stderr: int = -1,
    fds: Sequence[int] = (),
    terminal: Pty | None = None,
    family: ProcessTree | None = None,
) -> "LocalProcess":
    """Start a child in its own session; call this in the event loop that will manage it."""
    run_id = command.env.get(RUN_ID, "")
    pipes = _pipes(stdin) if terminal is None else _terminal(terminal, *await sandbox.open_terminal())
    files = ChildFiles(
        stdin=pipes.stdin,
        stdout=pipes.stdout,
        stderr=stderr if terminal is None else -1,
        fds=fds,
        is_terminal=terminal is not None,
    )
    guard.announce(RUN_ID, run_id)
    try:
        child = await sandbox.spawn(command, files)
    except BaseException:
        guard.forget(RUN_ID, run_id)
        pipes.close_our_side()
        raise
    finally:
        pipes.close_child_side()
    guard.watch(child.pid)
    return LocalProcess(child, pipes, limits, guard, run_id, family)


def spawn(command: Command, files: ChildFiles) -> "LocalChild":
    """Make a child of ours."""
    enter = (*ENTER_TERMINAL, os.ttyname(files.stdin)) if files.is_terminal else ()
    with _default_interrupts():
        child = subprocess.Popen(
            [*enter, *command.argv],
            cwd=command.cwd,
            env=command.env,
            stdin=files.stdin if files.stdin >= 0 else subprocess.DEVNULL,
            stdout=files.stdout,
            stderr=files.stdout if files.stderr < 0 else files.stderr,
            close_fds=True,
            pass_fds=files.fds,
            start_new_session=True,
        )
    return LocalChild(child)


@contextmanager
def _default_interrupts() -> Iterator[None]:
    """Let the child start with default interrupt handling, even if we ignore interrupts.

    Children inherit ignored signals but not handlers, so an empty handler is enough. Python can set handlers
    only in the main thread; a child started from another thread inherits our settings.
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
    writing, child_stdin = -1, -1
    try:
        if stdin == "open":
            child_stdin, writing = os.pipe()
            os.set_blocking(writing, False)
        elif stdin is not None:
            child_stdin = anonymous_file(stdin)
    except BaseException:
        os.close(reading)
        os.close(stdout)
        raise
    return ChildPipes(reading=reading, writing=writing, stdin=child_stdin, stdout=stdout)


def _terminal(pty: Pty, ours: int, theirs: int) -> ChildPipes:
    try:
        os.set_blocking(ours, False)
        termios.tcsetwinsize(theirs, (pty.rows, pty.columns))
        modes = termios.tcgetattr(theirs)
        if not pty.echo:
            modes[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        return ChildPipes(reading=ours, writing=ours, stdin=theirs, stdout=theirs)
    except BaseException:
        os.close(ours)
        os.close(theirs)
        raise


class LocalChild:
    """Implements `tau.base.run.Child` for an ordinary child."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._exit_fd = -1

    @property
    def pid(self) -> int:
        return self._child.pid

    def watch(self, exited: Callable[[int], None]) -> None:
        """Use a process descriptor, or a thread where there are none."""

        def wait_in_thread() -> None:
            status = _exit_status(self._child)
            with suppress(RuntimeError):  # the loop may be closed by now
                self._loop.call_soon_threadsafe(exited, status)

        def on_exit() -> None:
            self.stop_watching()
            exited(_exit_status(self._child))

        try:
            self._exit_fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=wait_in_thread, name=f"tau-wait-{self.pid}", daemon=True).start()
        else:
            self._loop.add_reader(self._exit_fd, on_exit)

    def stop_watching(self) -> None:
        if self._exit_fd >= 0:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = -1

    def reap(self) -> None:
        self._child.wait()


class LocalProcess:
    """Implements `tau.base.run.Process`."""

    def __init__(
        self,
        child: Child,
        pipes: ChildPipes,
        limits: Limits,
        guard: OrphanGuard,
        run_id: str,
        family: ProcessTree | None = None,
    ) -> None:
        self._child = child
        self._guard = guard
        self._run_id = run_id
        self._family = family
        self._pipe = Pipe(pipes.reading)
        self._input = Input(pipes.writing, is_terminal=pipes.writing == pipes.reading)
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._gone = asyncio.Event()
        self._calls: list[Callable[[Exit], None]] = []
        self._status = 0  # as in Popen.returncode: the negative signal number if a signal ended it
        self._timed_out = False
        self._group = ProcessGroup(child, run_id, self._gone)
        child.watch(self._on_exit)
        self._expiry: asyncio.TimerHandle | None = None
        if limits.timeout is not None:
            self._expiry = self._loop.call_later(limits.timeout, self._expire)

    @property
    def pid(self) -> int:
        return self._child.pid

    def output(self) -> OutputChunks:
        return OutputChunks(self.read)

    async def read(self) -> bytes:
        """Return the next chunk of output, empty at the end."""
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
        if self._group.ended:
            return
        await self._group.end(self._limits.grace if grace is None else grace, since=since)
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

    def _on_exit(self, status: int) -> None:
        self._status = status
        self._gone.set()
        self._pipe.drain()
        for call in self._calls:
            call(_exit(self._status, timed_out=self._timed_out))

    def _expire(self) -> None:
        if not self._gone.is_set():
            self._timed_out = True
            self._group.terminate(self._limits.grace)

    def _close(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        if self._gone.is_set():
            self._child.reap()
        self._group.close()
        self._guard.forget(RUN_ID, self._run_id, self.pid)
        self._child.stop_watching()
        self._input.close()
        pipe = self._pipe.release()
        if pipe < 0:
            return
        if self._family is None:
            os.close(pipe)
        else:
            self._family.adopt(pipe)


class Input:
    """The stdin of a child; at a terminal its descriptor is also the output."""

    def __init__(self, fd: int, *, is_terminal: bool) -> None:
        self._fd = fd
        self._is_terminal = is_terminal and fd >= 0

    async def write(self, data: bytes) -> None:
        if self._fd < 0:
            raise BrokenPipeError("This process has no open stdin")
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


def _exit(status: int, *, timed_out: bool) -> Exit:
    code, number = (status, None) if status >= 0 else (None, -status)
    return Exit(code=code, signal=number, timed_out=timed_out)


def _exit_status(child: subprocess.Popen[bytes]) -> int:
    """Wait for the exit and return its status, leaving the zombie where the system allows it."""
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):
            info = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            if info is not None:
                return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
    return child.wait()
