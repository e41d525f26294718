"""The programs of a debug session: one that tau starts, and others that it starts; what they all share."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from tau.backends.dap.breakpoints import REQUESTS, BreakpointKind, Breakpoints
from tau.backends.dap.config import AdapterSpec
from tau.backends.dap.connection import DapError
from tau.backends.dap.output import OutputRing
from tau.backends.dap.target import DebugTarget, StartKind
from tau.base.framing import FramedProcess
from tau.base.tasks import spawn

CHILD_S = 10.0
CONFIGURE_S = 5.0
MAX_TARGETS = 50
STOP_SIGNALS = ("SIGSTOP", "SIGINT", "SIGTRAP")


class AdapterHost(Protocol):
    """Starts the processes of one session, all through the runner, and ends them."""

    async def connect(self, host: str = "", port: int = 0) -> FramedProcess:
        """A connection to the adapter; for a child, another one, or to the port that the adapter names."""
        ...

    async def run_in_terminal(self, argv: list[str], cwd: Path, env: dict[str, str]) -> int: ...
    @property
    def last_words(self) -> str: ...
    async def close(self) -> None: ...


class DebuggedPrograms:
    """Hears of all that its targets do. It is over when the first program is."""

    def __init__(self, spec: AdapterSpec, cwd: Path, host: AdapterHost, group: asyncio.TaskGroup) -> None:
        self.spec, self.cwd = spec, cwd
        self._host, self._group = host, group
        self.breakpoints = Breakpoints()
        self.output = OutputRing()
        self.targets: list[DebugTarget] = []
        self.current: DebugTarget | None = None
        self.stops = 0
        self.expected_stop = ""  # entry or pause: what some adapters call a signal
        self.is_over = False
        self.why_ended = ""
        self.exit_code: int | None = None
        self.used_at = time.time()
        self._changed = asyncio.Event()

    async def add_target(self, link: FramedProcess) -> DebugTarget:
        if self.is_over or len(self.targets) >= MAX_TARGETS:
            await link.close()
            raise DapError(f"the session is over, or has more than {MAX_TARGETS} programs")
        target = DebugTarget(self.spec, link, self._group, self)
        self.targets.append(target)
        return target

    async def _start_child(self, kind: StartKind, configuration: dict[str, object]) -> None:
        """A program that the first one started; breakpoints hold there too."""
        address = configuration.get("connect")
        place = address if isinstance(address, dict) else {}
        try:
            port = place.get("port")
            link = await self._host.connect(
                str(place.get("host", "127.0.0.1")), port if isinstance(port, int) else 0
            )
            target = await self.add_target(link)
            await target.start(kind, configuration, self._configure, CHILD_S)
        except DapError as error:
            self.output.add("console", f"tau could not debug a child program: {error}\n")
            self._notify()

    async def _configure(self, target: DebugTarget) -> None:
        for kind, path in self.breakpoints.lists():
            await self._send(target, kind, path, CONFIGURE_S)
        filters = target.capabilities.get("exceptionBreakpointFilters")
        rows = [row for row in filters if isinstance(row, dict)] if isinstance(filters, list) else []
        wanted = [
            row["filter"]
            for row in rows
            if "filter" in row and (row.get("default") or row["filter"] in self.spec.exception_filters)
        ]
        if rows:
            with suppress(DapError):
                await target.connection.request("setExceptionBreakpoints", {"filters": wanted}, CONFIGURE_S)

    def on_event(self, target: DebugTarget, event: str, body: dict[str, object]) -> None:
        match event:
            case "stopped":
                self._name_stop(body)
                self.stops += 1
                self.current = target
            case "output":
                if body.get("category") != "telemetry":
                    self.output.add(str(body.get("category", "console")), str(body.get("output", "")))
                return
            case "exited":
                code = body.get("exitCode")
                if isinstance(code, int) and (target is self.targets[0] or self.exit_code is None):
                    self.exit_code = code
            case "breakpoint":
                self.breakpoints.on_event(body)
            case "debugpyAttach":
                spawn(self._group, self._start_child("attach", body), name="dap child")
        self._check_over()
        self._notify()

    def _name_stop(self, body: dict[str, object]) -> None:
        """Call an expected stop what it is."""
        expected, self.expected_stop = self.expected_stop, ""
        said = f"{body.get('description')} {body.get('text')}"
        if expected and any(signal in said for signal in STOP_SIGNALS):
            body |= {"reason": expected, "description": "", "text": ""}

    async def on_request(self, command: str, arguments: dict[str, object]) -> dict[str, object]:
        """A reverse request. Raises DapError."""
        match command:
            case "startDebugging":
                configuration = arguments.get("configuration")
                kind: StartKind = "attach" if arguments.get("request") == "attach" else "launch"
                wanted = configuration if isinstance(configuration, dict) else {}
                spawn(self._group, self._start_child(kind, wanted), name="dap child")
                return {}
            case "runInTerminal":
                words = arguments.get("args")
                argv = [str(word) for word in words] if isinstance(words, list) else []
                env = arguments.get("env")
                given = (
                    {str(k): str(v) for k, v in env.items() if v is not None} if isinstance(env, dict) else {}
                )
                cwd = Path(str(arguments.get("cwd") or self.cwd))
                pid = await self._host.run_in_terminal(argv, cwd, given)
                return {"processId": pid} if pid else {}
        raise DapError(f"tau does not support {command[:100]}")

    def on_end(self, target: DebugTarget) -> None:
        if target is self.targets[0] and not self.is_over:
            self.why_ended = target.connection.why_gone
        self._check_over()
        self._notify()

    def _check_over(self) -> None:
        """Over when the first program is, or, if it only starts others, when these are."""
        if self.is_over or not self.targets:
            return
        first, *children = self.targets
        has_ended = first.is_over or (
            bool(children) and not first.has_program and all(child.is_over for child in children)
        )
        if has_ended:
            self.is_over = True
            self._on_over()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not condition():
                    await self._changed.wait()
        return condition()

    @property
    def target(self) -> DebugTarget:
        """What requests are about: the program that stopped last, else the newest. Raises DapError."""
        self.used_at = time.time()
        live = [target for target in self.targets if target.is_live]
        if not live:
            raise DapError("No active debug session. Launch or attach first.")
        if self.current in live:
            return self.current
        return next((target for target in reversed(live) if target.has_program), live[-1])

    async def set_breakpoints(self, kind: BreakpointKind, path: str, timeout_s: float) -> None:
        """Send a list of breakpoints to all programs. Raises DapError."""
        live = [target for target in self.targets if target.is_live]
        if not live:
            raise DapError("No active debug session. Launch or attach first.")
        self.used_at = time.time()
        for target in live:
            await target.configure()
            await self._send(target, kind, path, timeout_s)

    async def _send(self, target: DebugTarget, kind: BreakpointKind, path: str, timeout_s: float) -> None:
        arguments = self.breakpoints.request(kind, path)
        answer = await target.connection.request(REQUESTS[kind], arguments, timeout_s)
        self.breakpoints.apply(kind, path, answer.get("breakpoints"))

    def _on_over(self) -> None:
        """All that there was to debug has ended."""
