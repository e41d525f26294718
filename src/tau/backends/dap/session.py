"""A debug session as the agent sees it: it starts, runs, stops somewhere, and ends."""

import asyncio
import time
from pathlib import Path
from typing import Any, Literal

from tau.backends.dap.config import AdapterSpec
from tau.backends.dap.connection import DapError, RequestTimeout
from tau.backends.dap.programs import AdapterHost, DebuggedPrograms
from tau.backends.dap.protocol import DebugSummary, SessionStatus, StackFrame, StopPlace, rows_of
from tau.backends.dap.stop_report import read_place
from tau.backends.dap.target import StartKind
from tau.base import log
from tau.base.tasks import shielded, spawn

STOP_CAPTURE_S = 5.0
SessionState = Literal["stopped", "running", "terminated"]


class DebugSession(DebuggedPrograms):
    def __init__(
        self, id: str, spec: AdapterSpec, cwd: Path, program: str, host: AdapterHost, group: asyncio.TaskGroup
    ) -> None:
        super().__init__(spec, cwd, host, group)
        self.id, self.program = id, program
        self._place: tuple[int, StopPlace] | None = None
        self._disposing: asyncio.Task[None] | None = None
        self._is_started = False
        self.launched_at = time.time()

    async def start(self, kind: StartKind, arguments: dict[str, Any], timeout_s: float) -> None:
        """Handshake, then wait a moment for a first stop. Raises DapError, with nothing left running."""
        try:
            target = await self.add_target(await self._host.connect())
            await target.start(kind, arguments, self._configure, timeout_s)
        except BaseException as error:
            words = self._host.last_words
            await self.end(kill=kind == "launch")
            if isinstance(error, DapError) and words and words not in str(error):
                raise DapError(f"{error}; it printed: {words}") from None
            raise
        self._is_started = True
        await self._wait(lambda: self.stops > 0 or self.is_over, min(STOP_CAPTURE_S, timeout_s))

    @property
    def status(self) -> SessionStatus:
        if self.is_over:
            return "terminated"
        if any(target.stop is not None for target in self.targets if target.is_live):
            return "stopped"
        return "running" if self._is_started else "launching"

    async def request(self, command: str, arguments: Any, timeout_s: float) -> dict[str, Any]:
        """Raises DapError."""
        return await self.target.request(command, arguments, timeout_s)

    async def thread_id(self, timeout_s: float) -> int:
        """The stopped thread, else the first. Raises DapError."""
        target = self.target
        stopped = (target.stop or {}).get("threadId")
        if isinstance(stopped, int):
            return stopped
        if not target.thread_ids:
            await target.threads(timeout_s)
        if not target.thread_ids:
            raise DapError("Debugger reported no threads.")
        return target.thread_ids[0]

    async def go(self, command: str, timeout_s: float) -> SessionState:
        """Continue or step, and wait for the next stop or the end. Raises DapError."""
        target, thread, stops = self.target, await self.thread_id(timeout_s), self.stops
        before, target.stop = target.stop, None
        try:
            await target.request(command, {"threadId": thread}, timeout_s)
        except RequestTimeout:
            pass  # it runs, without an answer
        except DapError:
            target.stop = before
            raise
        await self._wait(lambda: self.stops > stops or self.is_over, timeout_s)
        return self._state(stops)

    async def pause(self, timeout_s: float) -> SessionState:
        """Raises DapError."""
        if self.status != "stopped":
            target, thread, stops = self.target, await self.thread_id(timeout_s), self.stops
            self.expected_stop = "pause"
            await target.request("pause", {"threadId": thread}, timeout_s)
            if not await self._wait(lambda: self.stops > stops or self.is_over, timeout_s):
                raise DapError(f"DAP event stopped timed out after {timeout_s * 1000:.0f}ms")
        return self._state(-1)

    def _state(self, stops: int) -> SessionState:
        if self.is_over:
            return "terminated"
        return "stopped" if self.stops > stops else "running"

    async def place(self) -> StopPlace | None:
        """Where it stopped; asked once for each stop."""
        target = self.current
        if self.status != "stopped" or target is None or target.stop is None:
            return None
        if self._place is None or self._place[0] != self.stops:
            stops = self.stops
            self._place = (stops, await read_place(target, target.stop))
        return self._place[1]

    async def frame(self) -> StackFrame:
        """The frame that is meant without another one. Raises DapError."""
        place = await self.place()
        if place is None or place.top is None:
            raise DapError("No active stack frame. Run stack_trace first or supply frame_id.")
        return place.top

    async def frames(self, levels: int, timeout_s: float) -> list[StackFrame]:
        """Raises DapError."""
        thread = await self.thread_id(timeout_s)
        answer = await self.request(
            "stackTrace", {"threadId": thread, "startFrame": 0, "levels": levels}, timeout_s
        )
        return rows_of(answer, "stackFrames", StackFrame)

    async def end(self, *, kill: bool | None = None) -> None:
        """End the program, or let go of one that we attached to; then the adapter."""
        self.is_over = True
        first = self.targets[0] if self.targets else None
        if self._disposing is None:
            await shielded(
                self._dispose(kill=(first is None or first.kind == "launch") if kill is None else kill)
            )
        else:
            await asyncio.wait((self._disposing,))
        self._notify()

    async def _dispose(self, *, kill: bool) -> None:
        for target in reversed(self.targets):
            try:
                await target.end(kill=kill and target.kind == "launch")
            except Exception as error:
                log.warning("A debug target could not be ended.", error)
        await self._host.close()

    def idle_left(self, idle_s: float) -> float:
        return self.used_at + idle_s - time.time()

    def summary(self) -> DebugSummary:
        place = self._place[1] if self._place and self._place[0] == self.stops else None
        return DebugSummary(
            id=self.id,
            adapter=self.spec.name,
            cwd=str(self.cwd),
            program=self.program,
            status=self.status,
            launched_at=self.launched_at,
            last_used_at=self.used_at,
            stop=place if self.status == "stopped" else None,
            threads=sum(len(target.thread_ids) for target in self.targets if target.is_live),
            breakpoint_files=self.breakpoints.files,
            breakpoint_count=self.breakpoints.count("source"),
            function_breakpoint_count=self.breakpoints.count("function"),
            exit_code=self.exit_code,
            output_bytes=self.output.bytes,
            output_truncated=self.output.truncated,
            needs_configuration_done=any(not t.is_configured for t in self.targets if t.is_live),
            children=len(self.targets) - 1,
            why_ended=self.why_ended if self.is_over else "",
        )

    def _on_over(self) -> None:
        if self._is_started:
            self._disposing = spawn(self._group, self._dispose(kill=True), name="dap end")
