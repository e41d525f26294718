"""A shell that lives on: one process, commands on its standard input, its answers on a pipe of their own."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec import Struct

from tau.backends.shell.call import ShellCall
from tau.backends.shell.kinds import ShellKind, change_folder, exports
from tau.base.run import RUN_ID, Exit, Limits, Process, ProcessTree, Runner
from tau.base.sizes import KIB

READY_S = 5.0
SAVED_S = 2.0
GOODBYE_S = 0.2
INLINE_CHARS = 4 * KIB  # a shell reads a pipe byte by byte: longer commands go through a file


class ShellRequest(Struct, frozen=True, kw_only=True):
    """`folder` is where to go before; with `back`, where to go afterwards; `save_to` is for the state."""

    command: str
    save_to: Path
    env: Mapping[str, str] = {}
    folder: Path | None = None
    back: Path | None = None
    limits: Limits = Limits()


class ShellEnvironment(Struct, frozen=True, kw_only=True):
    """What a shell of a session is given by it: a private folder, its family, and whom to tell the news."""

    runner: Runner
    kind: ShellKind
    folder: Path
    family: ProcessTree
    start: Callable[[Coroutine[Any, Any, None]], object]  # work that nobody waits for
    moved: Callable[["LiveShell", Path], None]  # a command ended in this folder
    saved: Callable[["LiveShell", Path], None]  # its state is in this file


class LiveShell:
    """Runs one command at a time. It is over when its process is; whoever owns it starts another one."""

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
        self.retired = False  # it takes no more commands, and ends with the one that runs

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    @property
    def busy(self) -> bool:
        return self._call is not None

    async def open(self, cwd: Path, env: Mapping[str, str], before: str) -> bool:
        """Start it; `before` is what it reads first. False if it did not get through that."""
        around = self._around
        self._answers, theirs = os.pipe()
        os.set_blocking(self._answers, False)
        text = f"{before or ':'}; {exports({RUN_ID: self._run_id})}"
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
        asyncio.get_running_loop().add_reader(self._answers, self._hear)
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
            pass  # it is gone, and the call is told so in a moment
        except BaseException:
            await call.__aexit__(asyncio.CancelledError)
            raise
        return call

    async def settled(self) -> None:
        """Wait until the state of the last command that has ended is saved, which is a matter of a moment."""
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
        """Say goodbye, so that what it wants to do at its end is done; then end it in any case."""
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

    def _hear(self) -> None:
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
        self._hear_rest()
        self.alive = False
        self._greeted.set()
        self._settled.set()
        if self._call is not None:
            self._call.ended(how)

    def _hear_rest(self) -> None:
        """A shell that was told to go after its answer may be gone before we have heard it."""
        if self._process is not None:
            self._hear()


def _encoded(request: ShellRequest, place: Path, kind: ShellKind) -> bytes:
    first = [] if request.folder is None else [change_folder(str(request.folder))]
    command = kind.with_variables(request.command, request.env)
    if len(command) > INLINE_CHARS:
        file = _text_file(place)
        file.write_bytes(_bytes(command) + b"\0")
        first.append(f"IFS= builtin read -r -d '' __tau_run <{quote(str(file))}")
        command = ""
    last = "" if request.back is None else change_folder(str(request.back))
    texts = (str(place), " && ".join(first), command, last, str(request.save_to))
    return b"".join(_bytes(text) + b"\0" for text in texts)


def _text_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.sh")


def _bytes(text: str) -> bytes:
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:  # half of a character that JSON lets pass
        return text.encode(errors="replace")
