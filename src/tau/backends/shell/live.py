"""A persistent shell: one process that reads commands from standard input and answers on a separate pipe."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec import Struct

from tau.backends.shell.call import ShellCall
from tau.backends.shell.kinds import ShellKind, change_folder_code, export_code
from tau.base.run import RUN_ID, Exit, Limits, Process, ProcessTree, Runner
from tau.base.sizes import KIB

READY_S = 5.0
SAVED_S = 2.0
GOODBYE_S = 0.2
INLINE_CHARS = 4 * KIB  # shells read pipes byte by byte: longer commands go through a file


class ShellRequest(Struct, frozen=True, kw_only=True):
    """`folder`: where to run; `back`: where to go afterwards; `save_to`: where to save the state."""

    command: str
    save_to: Path
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
    saved: Callable[["LiveShell", Path], None]  # called with the file that has its state


class LiveShell:
    """Runs one command at a time. When its process ends, the owner starts another shell."""

    def __init__(self, around: ShellEnvironment) -> None:
        self._around = around
        self._run_id = os.urandom(8).hex()
        self._process: Process | None = None
        self._answers = -1
        self._heard = bytearray()
        self._greeted = asyncio.Event()
        self._call: ShellCall | None = None
        self._requests = 0
        self._saving: Path | None = None
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

    async def open(self, cwd: Path, env: Mapping[str, str], before: str) -> bool:
        """Start it; it runs `before` first. Returns False if that failed."""
        around = self._around
        self._answers, theirs = os.pipe()
        os.set_blocking(self._answers, False)
        text = f"{before or ':'}; {export_code({RUN_ID: self._run_id})}"
        try:
            self._process = await around.runner.start(
                [around.runner.shell, *around.kind.bare, "-c", around.kind.driver(theirs, text)],
                cwd=cwd,
                env={**env, RUN_ID: self._run_id},
                stdin="open",
                fds=(theirs,),
                family=around.family,
            )
        except BaseException:
            os.close(self._answers)
            raise
        finally:
            os.close(theirs)
        self.alive = True
        self._process.when_gone(self._gone)
        asyncio.get_running_loop().add_reader(self._answers, self._read_answers)
        try:
            async with asyncio.timeout(READY_S):
                await self._greeted.wait()
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
        place = self._around.folder / f"{self._run_id}.{self._requests}"
        call = ShellCall(self, place, request.limits, self._around.family, self._around.start)
        self._call = call
        self._saving = request.save_to
        self._settled.clear()
        try:
            await self.process.write(_encoded(request, place, self._around.kind))
        except BrokenPipeError:
            pass  # it is gone; the call learns that in a moment
        except BaseException:
            await call.__aexit__(asyncio.CancelledError)
            raise
        return call

    async def settled(self) -> None:
        """Wait until the state of the last finished command is saved."""
        if self._saving is not None and self._call is None and self.alive:
            with suppress(TimeoutError):
                async with asyncio.timeout(SAVED_S):
                    await self._settled.wait()

    async def left(self, call: ShellCall) -> None:
        self._call = None
        with suppress(OSError):
            _text_file(call.place).unlink()
        if self.retired or not self.alive:
            await self.close()

    async def close(self) -> None:
        """Ask it to exit so that exit traps run; then kill it in any case."""
        process, self._process = self._process, None
        if process is None:
            return
        idle = self.alive and not self.busy
        self.alive = False
        with suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_S if idle else 0):
                await process.end_input()
                await process.wait()
        asyncio.get_running_loop().remove_reader(self._answers)
        os.close(self._answers)
        await process.__aexit__(None, None, None)

    def _read_answers(self) -> None:
        try:
            data = os.read(self._answers, 64 * KIB)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._answers)
        self._heard += data
        while b"\0" in self._heard:
            answer, _, rest = bytes(self._heard).partition(b"\0")
            self._heard = bytearray(rest)
            self._answered(answer)

    def _answered(self, answer: bytes) -> None:
        match answer[:1]:
            case b"R":
                self._greeted.set()
            case b"E":
                code, _, folder = answer[1:].partition(b" ")
                self._around.moved(self, Path(os.fsdecode(folder.removesuffix(b"\n"))))
                if self._call is not None:
                    self._call.ended(Exit(code=int(code)))
            case b"S" if self._saving is not None:
                self._around.saved(self, self._saving)
                self._saving = None
                self._settled.set()

    def _gone(self, how: Exit) -> None:
        self._read_remaining_answers()
        self.alive = False
        self._greeted.set()
        self._settled.set()
        if self._call is not None:
            self._call.ended(how)

    def _read_remaining_answers(self) -> None:
        """Read remaining answers: the shell may exit before we have read its last one."""
        if self._process is not None:
            self._read_answers()


def _encoded(request: ShellRequest, place: Path, kind: ShellKind) -> bytes:
    first = [] if request.folder is None else [change_folder_code(str(request.folder))]
    command = kind.with_variables(request.command, request.env)
    if len(command) > INLINE_CHARS:
        file = _text_file(place)
        file.write_bytes(_bytes(command) + b"\0")
        first.append(f"IFS= builtin read -r -d '' __tau_run <{quote(str(file))}")
        command = ""
    last = "" if request.back is None else change_folder_code(str(request.back))
    texts = (str(place), " && ".join(first), command, last, str(request.save_to))
    return b"".join(_bytes(text) + b"\0" for text in texts)


def _text_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.sh")


def _bytes(text: str) -> bytes:
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate, which JSON allows
        return text.encode(errors="replace")
