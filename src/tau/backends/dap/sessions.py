"""The debug sessions of an agent: one at a time, its adapter's processes, its end when it is not used."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tau.backends.dap.breakpoints import BreakpointKind
from tau.backends.dap.config import KIND, AdapterSpec, FoundAdapters, find_adapters
from tau.backends.dap.connection import DapError
from tau.backends.dap.protocol import BreakpointRow, DebugSummary
from tau.backends.dap.session import DebugSession
from tau.backends.dap.target import StartKind
from tau.base.errors import TauError
from tau.base.framing import FramedProcess, ProcessGone, StderrRing, start_framed
from tau.base.run import QUIET, Limits, Process, Runner
from tau.base.tasks import shielded, spawn
from tau.config.paths import Paths
from tau.config.program_files import stamps_of

READY_S = 10.0  # for a socket of an adapter
MAX_FINISHED = 10  # sessions that are still listed
LOOPBACK = "127.0.0.1"
BRIDGE = str(Path(__file__).with_name("bridge.py"))


class AdapterProcesses:
    """Implements `AdapterHost`: the adapter, connections to its socket, and what it starts in a terminal.

    An adapter that listens does so in the sandbox, where only a process of ours can reach it.
    """

    def __init__(
        self, spec: AdapterSpec, cwd: Path, program: str, runner: Runner, group: asyncio.TaskGroup
    ) -> None:
        self._spec, self._cwd, self._program, self._runner, self._group = spec, cwd, program, runner, group
        self._adapter: Process | None = None
        self._errors = StderrRing()
        self._terminals: list[Process] = []
        self._port = 0
        self._socket = ""
        self.at = ("", 0)  # where an adapter waits that we do not start
        self.add_output: Callable[[str, str], None] = lambda category, text: None

    async def connect(self, host: str = "", port: int = 0) -> FramedProcess:
        """Raises DapError."""
        if port:
            return await self._bridge(f"{port}@{host or LOOPBACK}")
        if self.at[1]:
            return await self._bridge(f"{self.at[1]}@{self.at[0]}")
        if self._spec.transport == "stdio":
            return await self._start([self._spec.program, *self._spec.args])
        if self._adapter is None:
            await self._listen()
        elif self._spec.transport == "connect":
            raise DapError(f"{self._spec.name} takes one connection only")
        return await self._bridge(self._socket or f"{self._port}@{LOOPBACK}")

    async def _listen(self) -> None:
        if self._spec.transport == "socket":
            name = f"dap-{os.urandom(6).hex()}.sock"
            self._socket = str(self._runner.temporary_folder() / name)
        else:
            self._port = _free_port()
        names = {
            "{socket}": self._socket,
            "{port}": str(self._port),
            "{host}": LOOPBACK,
            "{program}": self._program,
        }
        argv = [self._spec.program, *(_filled(word, names) for word in self._spec.args)]
        # What it prints may be the program's output too.
        self._errors.on_data = lambda data: self.add_output("stderr", data.decode("utf-8", "replace"))
        stderr = self._errors.open()
        try:
            self._adapter = await self._runner.start(
                argv, cwd=self._cwd, env=QUIET, stderr=stderr, limits=Limits(grace=1.0)
            )
        except (OSError, ValueError, TauError) as error:
            self._errors.close()
            raise DapError(
                f"{self._spec.name} cannot start: {getattr(error, 'strerror', None) or error}"
            ) from None
        finally:
            os.close(stderr)
        spawn(self._group, self._read(self._adapter, "stdout"), name="dap output")

    async def _bridge(self, address: str) -> FramedProcess:
        python = sys.executable
        return await self._start([python, "-I", "-S", BRIDGE, address, str(READY_S)])

    async def _start(self, argv: list[str]) -> FramedProcess:
        try:
            return await start_framed(self._spec.name, self._runner, argv, self._cwd, QUIET)
        except ProcessGone as error:
            raise DapError(str(error)) from None

    async def _read(self, process: Process, category: str) -> None:
        async for chunk in process.output():
            self.add_output(category, chunk.decode("utf-8", "replace"))
            await asyncio.sleep(0)

    async def run_in_terminal(self, argv: list[str], cwd: Path, env: dict[str, str]) -> int:
        """Its pid, or 0 where the adapter could not use it. Raises OSError."""
        process = await self._runner.start(argv, cwd=cwd, env={**QUIET, **env}, limits=Limits(grace=1.0))
        self._terminals.append(process)
        spawn(self._group, self._read(process, "stdout"), name="dap terminal")
        return 0 if self._runner.contained else process.pid

    @property
    def last_words(self) -> str:
        return self._errors.last if self._adapter is not None else ""

    async def close(self) -> None:
        await shielded(self._close())

    async def _close(self) -> None:
        ours = [*self._terminals, *([self._adapter] if self._adapter is not None else [])]
        self._terminals = []
        for process in ours:
            with suppress(OSError):
                await process.__aexit__(None, None, None)
        self._errors.close()
        if self._socket:
            with suppress(OSError):
                Path(self._socket).unlink()


class DebugSessions:
    """An async context manager. `runner` starts adapters; without `trusted`, none of the project."""

    def __init__(
        self,
        cwd: Path,
        runner: Runner,
        paths: Paths,
        environ: Mapping[str, str],
        found: FoundAdapters,
        *,
        trusted: bool,
    ) -> None:
        self.cwd, self._runner, self._paths, self._environ = cwd, runner, paths, environ
        self.found, self.trusted = found, trusted
        self.has_changed: Callable[[], bool] = lambda: False  # what the project says, since it was trusted
        self._group = asyncio.TaskGroup()
        self._sessions: list[DebugSession] = []
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._starting = False

    async def __aenter__(self) -> "DebugSessions":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for session in self._sessions:
            await session.end()
        await self._group.__aexit__(None, None, None)

    def _find(self) -> FoundAdapters:
        trusted = self.trusted and not self.has_changed()
        return find_adapters(self.cwd, self._paths, self._environ, trusted=trusted)

    async def look_again(self) -> None:
        """Read the configuration again if its files changed."""
        if stamps_of(KIND.names, self.cwd, self._paths) != self.found.stamps:
            self.found = await asyncio.to_thread(self._find)

    @property
    def last(self) -> DebugSession | None:
        return self._sessions[-1] if self._sessions else None

    def active(self) -> DebugSession:
        """Raises DapError."""
        if self.last is None or self.last.is_over:
            raise DapError("No active debug session. Launch or attach first.")
        return self.last

    def summaries(self) -> list[DebugSummary]:
        return [session.summary() for session in self._sessions]

    async def start(
        self,
        spec: AdapterSpec,
        kind: StartKind,
        arguments: dict[str, Any],
        *,
        cwd: Path,
        program: str,
        timeout_s: float,
        at: tuple[str, int] = ("", 0),
        breakpoints: Iterable[tuple[BreakpointKind, BreakpointRow]] = (),
    ) -> DebugSession:
        """`at`: where the adapter already waits. `breakpoints` are set before it runs. Raises DapError."""
        last = self.last
        if self._starting or (last is not None and not last.is_over):
            busy = last.id if last is not None else "1"
            raise DapError(f"Debug session {busy} is still active. Terminate it before launching another.")
        self._starting = True
        try:
            if last is not None:
                await last.end()
            self._count += 1
            host = AdapterProcesses(spec, cwd, program, self._runner, self._group)
            host.at = at
            session = DebugSession(str(self._count), spec, cwd, program, host, self._group)
            host.add_output = session.output.add
            if any(arguments.get(key) is True for key in spec.entry_stop):
                session.expected_stop = "entry"
            for breakpoint_kind, row in breakpoints:
                session.breakpoints.put(breakpoint_kind, row)
            self._sessions = [*self._sessions[-MAX_FINISHED:], session]
            try:
                await session.start(kind, arguments, timeout_s)
            except BaseException:
                self._sessions.remove(session)
                raise
        finally:
            self._starting = False
        self._arm(self.found.idle_s)
        return session

    # Idle sessions

    def _arm(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._end_idle)

    def _end_idle(self) -> None:
        self._timer = None
        session = self.last
        if session is None or session.is_over:
            return
        left = session.idle_left(self.found.idle_s)
        if left > 0:
            self._arm(left)
        else:
            session.why_ended = f"not used for {self.found.idle_s / 60:g} minutes"
            spawn(self._group, session.end(), name="dap idle")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _filled(word: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        word = word.replace(name, value)
    return word
