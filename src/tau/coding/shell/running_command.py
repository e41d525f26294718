"""One command from start to result: collects output, shows progress, reports the end."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.ai.wire import TextContent
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import Exit
from tau.base.tasks import spawn
from tau.coding.output import OutputSink, ProgressUpdates
from tau.coding.shell.details import BashDetails
from tau.coding.shell.result import CommandOutcome, result
from tau.coding.shell.rewrite import TrimmedCommand

if TYPE_CHECKING:
    from tau.backends.shell.session import RunningShellCommand
    from tau.backends.shell.terminal import TerminalInput

terminals = late("tau.backends.shell.terminal")

ReportProgress: TypeAlias = Callable[[str], None]


class Keyboard(Struct, frozen=True):
    """The user's terminal for a `pty` command, or none."""

    person: "TerminalInput | None" = None


class RunningCommand:
    """A context manager: leaving it ends the command unless it was handed over."""

    def __init__(
        self,
        running: "RunningShellCommand",
        ctx: ToolContext,
        sink: OutputSink,
        *,
        details: BashDetails,
        seconds: int,
        limited: TrimmedCommand | None = None,
        keyboard: Keyboard | None = None,
    ) -> None:
        self.running = running
        self.details = details
        self._process = running.process
        self._sink = sink
        self._ctx = ctx
        self._seconds = seconds
        self._limited = limited
        self._keyboard = keyboard
        self._began = time.monotonic()
        self._exited: Exit | None = None
        self._progress = ProgressUpdates(lambda: self._show(self.tail()))
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "RunningCommand":
        self._stack.enter_context(self._sink)
        await self._stack.enter_async_context(self._process)
        self._stack.callback(self._progress.stop)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is asyncio.CancelledError:
            self._progress.send()
        await self._stack.__aexit__(kind, *rest)

    def handed_over(self) -> AsyncExitStack:
        """Hand the open resources to the caller; leaving our own block then closes nothing."""
        self._progress.stop()
        return self._stack.pop_all()

    def tail(self) -> str:
        return self._sink.tail()

    async def follow(self) -> None:
        """Collect output until the end. Can be cancelled and called again without loss."""
        if self._keyboard is None:
            await self._read()
            return
        async with asyncio.TaskGroup() as group:
            feeding = spawn(group, terminals.feed(self._process, self._keyboard.person))
            try:
                await self._read()
            finally:
                feeding.cancel()

    async def to_end(self, report: ReportProgress) -> str:
        """Like `follow`, for a job: progress goes to `report`, failure raises."""
        self._progress = ProgressUpdates(lambda: report(self.tail()))
        try:
            await self.follow()
        finally:
            self._progress.stop()
        output = self.report()
        text = "\n".join(part.text for part in output.content if isinstance(part, TextContent))
        if output.is_error:
            raise ToolError(text)
        return text

    def report(self) -> ToolOutput:
        assert self._exited is not None
        outcome = CommandOutcome(
            exited=self._exited,
            seconds=self._seconds,
            duration_ms=round((time.monotonic() - self._began) * 1000),
            notes=self.running.notes(),
        )
        return result(self._sink, self._ctx.artifacts, self.details, outcome, self._limited)

    async def _read(self) -> None:
        async for chunk in self._process.output():
            self._sink.push(chunk)
            self._progress.note()
            if self._keyboard is not None and self._keyboard.person is not None:
                self._keyboard.person.show(chunk)
        self._exited = await self._process.wait()

    def _show(self, text: str) -> None:
        self._ctx.update(ToolOutput.text(text, self.details))
