"""A persistent shell and its commands: they arrive on standard input, answers return on a separate FIFO."""

import asyncio
import os
import re
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any, Protocol

from msgspec import Struct

from tau.backends.shell.kinds import ShellKind, change_folder_code, export_code, shell_bytes
from tau.base import log
from tau.base.pipe import OutputChunks, Pipe
from tau.base.run import ABORT_GRACE_S, RUN_ID, Exit, Limits, Process, ProcessTree, Runner
from tau.base.sizes import KIB, MIB
from tau.base.tasks import shielded

READY_S = 5.0
SETTLED_S = 2.0
MAX_STATE_BYTES = 16 * MIB
TOO_LARGE = b"L"  # takes the place of such a state
EXIT_S = 0.2
PAUSE_S = 0.01
INLINE_CHARS = 4 * KIB  # shells read pipes byte by byte: longer commands go through a file


class ShellHost(Protocol):
    """The shell that a command runs in."""

    @property
    def process(self) -> Process: ...
    async def release(self, call: "ShellCall") -> None:
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
        self.ended_shell = False
        self.skipped = False  # `set -n` made the shell skip the rest
        self._timed_out = False
        self._calls: list[Callable[[Exit], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        if limits.timeout is not None:
            self._timer = asyncio.get_running_loop().call_later(limits.timeout, self._expire)

    @property
    def pid(self) -> int:
        return self._host.process.pid

    def output(self) -> OutputChunks:
        return OutputChunks(self.read)

    async def read(self) -> bytes:
        chunk = await self._pipe.read()
        if not chunk:
            await self._done.wait()
        return chunk

    async def write(self, data: bytes) -> None:
        raise BrokenPipeError("A command in the session's shell has no standard input")

    async def end_input(self) -> None:
        """Do nothing: there is no input."""

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

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

    def finish(self, how: Exit) -> None:
        """Record the exit reported by the shell."""
        if self._done.is_set():
            return
        self._exit = Exit(code=how.code, signal=how.signal, timed_out=self._timed_out)
        os.close(self._writing)
        if self._timer is not None:
            self._timer.cancel()
        self._done.set()
        self._pipe.drain()
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
            self.finish(Exit(code=None))  # a command that could not be killed never reports
            with suppress(OSError):
                self.place.unlink()
            if (pipe := self._pipe.release()) >= 0:
                self._family.adopt(pipe)
            await self._host.release(self)

    def _expire(self) -> None:
        self._timer = None
        if not self._done.is_set():
            self._timed_out = True
            self._start(self.kill())


class ShellRequest(Struct, frozen=True, kw_only=True):
    """`folder`: where to run; `back`: where to go afterwards."""

    command: str
    env: Mapping[str, str] = {}
    folder: Path | None = None
    back: Path | None = None
    limits: Limits = Limits()


class ShellEnvironment(Struct, frozen=True, kw_only=True):
    """What a session gives its shell: a private folder, a process tree, and callbacks."""

    runner: Runner
    kind: ShellKind
    folder: Path
    family: ProcessTree
    start: Callable[[Coroutine[Any, Any, None]], object]  # starts background work
    moved: Callable[["LiveShell", Path], None]  # called with the folder where a command ended
    saved: Callable[["LiveShell", bytes], None]  # called with its state


class LiveShell:
    """Runs one command at a time. When its process ends, the owner starts another shell."""

    def __init__(self, environment: ShellEnvironment) -> None:
        self._environment = environment
        self._run_id = os.urandom(8).hex()
        self._process: Process | None = None
        self._outputs = f"{environment.folder}/{self._run_id}."
        self._fifo = environment.folder / f"{self._run_id}.answers"
        self._traps = environment.folder / f"{self._run_id}.traps"
        self._answers = -1
        self._writing = -1
        self._received = bytearray()
        self._options = b""  # the part of the state that is sent when it has changed
        self._pause: asyncio.TimerHandle | None = None
        self._ready = asyncio.Event()
        self._call: ShellCall | None = None
        self._requests = 0
        self._has_noexec = False
        self._settled = asyncio.Event()
        self.alive = False
        self.retired = False  # takes no more commands; ends with the running one

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    @property
    def busy(self) -> bool:
        return self._call is not None

    async def open(self, cwd: Path, env: Mapping[str, str], before: str, fds: Sequence[int] = ()) -> bool:
        """Start it; it runs `before` first, which may read from `fds`. Returns False if that failed."""
        environment = self._environment
        os.mkfifo(self._fifo, 0o600)
        self._answers = os.open(self._fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._writing = os.open(self._fifo, os.O_WRONLY | os.O_CLOEXEC)  # so that we never read an EOF
        text = f"{before or ':'}; {export_code({RUN_ID: self._run_id})}"
        driver = environment.kind.driver(self._outputs, str(self._fifo), str(self._traps), text)
        try:
            self._process = await environment.runner.start(
                [environment.runner.shell, *environment.kind.bare, "-c", driver],
                cwd=cwd,
                env={**env, RUN_ID: self._run_id},
                stdin="open",
                fds=fds,
                family=environment.family,
            )
        except BaseException:
            self._close_answers()
            raise
        self.alive = True
        self._process.when_gone(self._on_exit)
        asyncio.get_running_loop().add_reader(self._answers, self._read_answers)
        try:
            async with asyncio.timeout(READY_S):
                await self._ready.wait()
        except TimeoutError:
            self.alive = False
        except BaseException:
            await self.close()
            raise
        if not self.alive:
            await self.close()
        return self.alive

    async def run(self, request: ShellRequest) -> ShellCall:
        assert self._call is None and self.alive
        self._requests += 1
        place = Path(f"{self._outputs}{self._requests}")
        call = ShellCall(self, place, request.limits, self._environment.family, self._environment.start)
        self._call = call
        self._has_noexec = has_noexec(request.command)
        self._settled.clear()
        try:
            await self.process.write(_encode(request, str(self._requests), place, self._environment.kind))
        except BrokenPipeError:
            pass  # it is gone; the call learns that in a moment
        except BaseException:
            await call.__aexit__(asyncio.CancelledError)
            raise
        return call

    async def settle(self) -> None:
        """Wait until the state of the last finished command is saved, and the shell reads on or is gone."""
        if self._call is None and self.alive:
            self._read_on()
            try:
                async with asyncio.timeout(SETTLED_S):
                    await self._settled.wait()
            except TimeoutError:
                self.alive = False

    async def release(self, call: ShellCall) -> None:
        self._call = None
        with suppress(OSError):
            _text_file(call.place).unlink()
        if self.retired or not self.alive:
            await self.close()

    async def close(self) -> None:
        """Close its input so that it exits; then kill it in any case."""
        process, self._process = self._process, None
        if process is None:
            return
        idle = self.alive and not self.busy
        self.alive = False
        self._read_on()
        asyncio.get_running_loop().remove_reader(self._answers)
        self._close_answers()
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_S if idle else 0):
                await process.end_input()
                await process.wait()
        await process.__aexit__(None, None, None)

    def _close_answers(self) -> None:
        os.close(self._answers)
        os.close(self._writing)
        for file in (self._fifo, self._traps):
            with suppress(OSError):
                file.unlink()

    def _read_all_answers(self) -> None:
        with suppress(BlockingIOError):
            while True:
                self._received += os.read(self._answers, 64 * KIB)
                self._take_answers()

    def _read_later(self) -> None:
        """A shell writes its state line by line: leave it alone for a moment, then read all at once."""
        loop = asyncio.get_running_loop()
        if self._pause is None and not self._settled.is_set():
            loop.remove_reader(self._answers)
            self._pause = loop.call_later(PAUSE_S, self._read_on)

    def _read_on(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
            asyncio.get_running_loop().add_reader(self._answers, self._read_answers)

    def _read_answers(self) -> None:
        with suppress(BlockingIOError):
            self._received += os.read(self._answers, 64 * KIB)
            self._take_answers()

    def _take_answers(self) -> None:
        if len(self._received) > MAX_STATE_BYTES:
            log.warning(f"The shell's state is not saved: it is larger than {MAX_STATE_BYTES // MIB} MiB.")
            self._received[:] = TOO_LARGE
        while (end := self._received.find(b"\0")) >= 0:
            answer = bytes(self._received[:end])
            del self._received[: end + 1]
            self._on_answer(answer)

    def _on_answer(self, answer: bytes) -> None:
        match answer[:1]:
            case b"R":
                self._ready.set()
            case b"E":
                code, _, folder = answer[1:].partition(b" ")
                self._environment.moved(self, Path(os.fsdecode(folder.removesuffix(b"\n"))))
                if self._call is not None:
                    self._call.finish(Exit(code=int(code)))
                self._read_later()
            case b"O":
                self._options = answer[1:]
            case b"S":
                self._environment.saved(self, answer[1:] + b"\n" + self._options)
            case b"N":
                self._settled.set()

    def _on_exit(self, how: Exit) -> None:
        if self._process is not None:  # it may exit before we have read its last answer
            self._read_all_answers()
        self.alive = False
        self._ready.set()
        self._settled.set()
        if self._call is not None:
            self._call.ended_shell = not self._call.is_done
            self._call.skipped = self._call.ended_shell and how.code == 0 and self._has_noexec
            self._call.finish(Exit(code=1) if self._call.skipped else how)


def has_noexec(command: str) -> bool:
    """Whether it may turn on `set -n`: the shell then exits with 0, as if all had run."""
    if "set" not in command and "noexec" not in command:
        return False
    return re.search(r"\bset\s+(-\w+\s+)*-\w*n\b|\bnoexec\b", command) is not None


def _encode(request: ShellRequest, number: str, place: Path, kind: ShellKind) -> bytes:
    first = [] if request.folder is None else [change_folder_code(str(request.folder))]
    command = kind.with_variables(request.command, request.env)
    if len(command) > INLINE_CHARS:
        file = _text_file(place)
        file.write_bytes(shell_bytes(command) + b"\0")
        first.append(f"IFS= \\builtin read -r -d '' __tau_run <{quote(str(file))}")
        command = ""
    last = "" if request.back is None else change_folder_code(str(request.back))
    texts = (number, " && ".join(first), command, last)
    return b"".join(shell_bytes(text) + b"\0" for text in texts)


def _text_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.sh")
