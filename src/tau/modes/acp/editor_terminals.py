"""Commands in terminals of the editor, where the user sees them and can stop them."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import Signals
from typing import Unpack

from acp import RequestError
from acp import schema as a
from acp.interfaces import Client

from tau.base.errors import ToolError
from tau.base.run import OUTSIDE, Exit, Limits, Process, ProcessTree, Runner, StartOptions, inherited
from tau.base.sizes import MIB
from tau.base.tasks import spawn
from tau.modes.acp.editor_files import ask_editor

OUTPUT_BYTES = 8 * MIB
POLL_S = 0.2
STOP_S = 5.0  # for an editor to end a command
GONE = "The editor is gone or does not answer; the command may still be running there."


class EditorRunner:
    """Implements `tau.base.run.Runner`: shell commands that no sandbox contains run in the editor, the others
    in `inner`. `shown` gets the command and its terminal."""

    def __init__(
        self,
        inner: Runner,
        client: Client,
        session_id: Callable[[], str],
        shown: Callable[[str, str], None],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._inner = inner
        self._client = client
        self._session_id = session_id
        self._shown = shown
        self._tasks = tasks

    @property
    def shell(self) -> str:
        return self._inner.shell

    @property
    def contained(self) -> bool:
        return self._inner.contained

    async def start(
        self, command: str | Sequence[str], *, cwd: Path, **options: Unpack[StartOptions]
    ) -> Process:
        sandbox, env, limits = options.get("sandbox"), options.get("env"), options.get("limits")
        special = options.get("stdin") is not None or options.get("stderr", -1) != -1
        special |= any(options.get(name) for name in ("fds", "terminal", "family"))
        is_open = sandbox is OUTSIDE or (sandbox is None and not self._inner.contained)
        if special or not is_open or not isinstance(command, str):
            return await self._inner.start(command, cwd=cwd, **options)
        return await self._in_editor(command, cwd, env or {}, limits or Limits())

    async def _in_editor(self, command: str, cwd: Path, env: Mapping[str, str], limits: Limits) -> Process:
        session_id = self._session_id()
        hidden = set(os.environ) - set(inherited(os.environ))  # keys, which the editor may have too
        variables = {**dict.fromkeys(hidden, ""), **env, "TAU": "1"}
        request = self._client.create_terminal(
            session_id,
            self.shell,
            args=["-c", command],
            cwd=str(cwd),
            env=[a.EnvVariable(name=name, value=value) for name, value in variables.items()],
            output_byte_limit=OUTPUT_BYTES,
        )
        opened: asyncio.Future[a.CreateTerminalResponse] = asyncio.get_running_loop().create_future()
        spawn(self._tasks, self._open(session_id, request, opened))
        try:
            made = await ask_editor(opened)
        except RequestError as error:
            raise ToolError(f"The editor did not open a terminal: {error}.") from error
        except asyncio.CancelledError:
            if not opened.cancelled():  # it was opened at the same moment
                spawn(self._tasks, self._end(session_id, opened.result()))
            raise
        self._shown(command, made.terminal_id)
        return EditorProcess(self._client, session_id, made.terminal_id, limits)

    async def _open(
        self,
        session_id: str,
        request: Awaitable[a.CreateTerminalResponse],
        opened: asyncio.Future[a.CreateTerminalResponse],
    ) -> None:
        """Pass on what the editor answers. Stop a command that it starts after the call has ended."""
        try:
            made = await request
        except Exception as error:  # it must not end the other sessions
            if not opened.done():
                opened.set_exception(error)
            return
        if not opened.done():
            opened.set_result(made)
            return
        await self._end(session_id, made)

    async def _end(self, session_id: str, made: a.CreateTerminalResponse) -> None:
        async with EditorProcess(self._client, session_id, made.terminal_id, Limits()):
            pass

    async def prepare(self) -> bool:
        return await self._inner.prepare()

    def temporary_folder(self) -> Path:
        return self._inner.temporary_folder()

    def family(self) -> ProcessTree:
        return self._inner.family()

    def remove_at_exit(self, folder: Path) -> None:
        self._inner.remove_at_exit(folder)

    def forget_folder(self, folder: Path) -> None:
        self._inner.forget_folder(folder)


class EditorProcess:
    """Implements `tau.base.run.Process`. A terminal has no pid here and takes no input."""

    pid = 0

    def __init__(self, client: Client, session_id: str, terminal_id: str, limits: Limits) -> None:
        self._client = client
        self._session_id = session_id
        self._id = terminal_id
        self._limits = limits
        self._seen = ""
        self._exit: Exit | None = None
        self._when_gone: list[Callable[[Exit], None]] = []

    async def output(self) -> AsyncIterator[bytes]:
        """Editors do not report output; they are asked again and again."""
        loop = asyncio.get_running_loop()
        limit_s = self._limits.timeout
        end = None if limit_s is None else loop.time() + limit_s
        while True:
            state = await self._state()
            if new := _added(self._seen, state.output):
                self._seen = state.output
                yield new.encode("utf-8", "replace")
            if state.exit_status is not None:
                self._end(_exit_of(state.exit_status.exit_code, state.exit_status.signal))
                return
            if end is not None and loop.time() >= end:
                await self.kill()
                self._end(Exit(code=None, timed_out=True))
                return
            await asyncio.sleep(POLL_S)

    async def write(self, data: bytes) -> None:
        raise BrokenPipeError("The editor's terminals take no input.")

    async def end_input(self) -> None:
        """It has none."""

    async def wait(self) -> Exit:
        if self._exit is None:
            try:
                answer = await self._client.wait_for_terminal_exit(self._session_id, self._id)
            except (RequestError, ConnectionError) as error:
                raise ToolError(GONE) from error
            self._end(_exit_of(answer.exit_code, answer.signal))
        assert self._exit is not None
        return self._exit

    async def kill(self, *, since: float | None = None, grace: float | None = None) -> None:
        with suppress(RequestError, ToolError):
            await ask_editor(self._client.kill_terminal(self._session_id, self._id), STOP_S)

    def when_gone(self, call: Callable[[Exit], None]) -> None:
        self._when_gone.append(call)

    async def __aenter__(self) -> "EditorProcess":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._exit is None:
            await self.kill()
        with suppress(RequestError, ToolError):
            await ask_editor(self._client.release_terminal(self._session_id, self._id), STOP_S)

    async def _state(self) -> a.TerminalOutputResponse:
        try:
            return await ask_editor(self._client.terminal_output(self._session_id, self._id))
        except (RequestError, ToolError) as error:
            raise ToolError(GONE) from error

    def _end(self, exited: Exit) -> None:
        if self._exit is None:
            self._exit = exited
            for call in self._when_gone:
                call(exited)


def _exit_of(code: int | None, signal: str | None) -> Exit:
    names = {one.name: int(one) for one in Signals}
    if signal is None:
        return Exit(code=code)
    return Exit(
        code=None, signal=int(signal) if signal.isdecimal() and len(signal) < 4 else names.get(signal, 9)
    )


def _added(before: str, now: str) -> str:
    """What is new at the end, though the editor may have dropped the start."""
    if now.startswith(before):
        return now[len(before) :]
    tail = before[-200:]
    at = now.rfind(tail)
    return now[at + len(tail) :] if at >= 0 else now
