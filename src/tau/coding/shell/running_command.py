"""One command from start to result: collects output, shows progress, reports the end."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.ai.wire import TextContent
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import Exit
from tau.base.tasks import spawn
from tau.coding.output import OutputSink, ProgressUpdates
from tau.coding.ports import JobReport
from tau.coding.shell.details import BashDetails
from tau.coding.shell.result import result
from tau.coding.shell.rewrite import TrimmedCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.backends.shell.session import RunningShellCommand
    from tau.backends.shell.terminal import TerminalInput
    from tau.coding.shell.blocked_attempts import BlockedAttempt
    from tau.coding.shell.contained_commands import ContainedCommands

terminals = late("tau.backends.shell.terminal")


class RunningCommand:
    """A context manager: leaving it ends the command unless it was detached.

    `blocked` is what a sandbox kept it from doing, known with its report; `mark` is when it began there.

    `in_terminal`: the command runs in a terminal, which the user controls through `keyboard`, if any.
    """

    def __init__(
        self,
        running: "RunningShellCommand",
        ctx: ToolContext,
        sink: OutputSink,
        *,
        details: BashDetails,
        time_limit_s: int,
        limited: TrimmedCommand | None = None,
        in_terminal: bool = False,
        keyboard: "TerminalInput | None" = None,
        contained: "ContainedCommands | None" = None,
        mark: int = 0,
    ) -> None:
        self.running = running
        self.details = details
        self._process = running.process
        self._sink = sink
        self._ctx = ctx
        self._time_limit_s = time_limit_s
        self._limited = limited
        self._in_terminal = in_terminal
        self._keyboard = keyboard
        self._contained = contained
        self._mark = mark
        self.blocked: Sequence[BlockedAttempt] = ()
        self._began = time.monotonic()
        self._exited: Exit | None = None
        self._progress = ProgressUpdates(self._show_progress)
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

    def detach(self) -> AsyncExitStack:
        """Hand the open resources to the caller; leaving the context then closes nothing."""
        self._progress.stop()
        return self._stack.pop_all()

    def tail(self) -> str:
        return self._sink.tail()

    async def follow(self) -> None:
        """Collect output until the end. Can be cancelled and called again without loss."""
        if not self._in_terminal:
            await self._read()
            return
        async with asyncio.TaskGroup() as group:
            feeding = spawn(group, terminals.feed(self._process, self._keyboard))
            try:
                await self._read()
            finally:
                feeding.cancel()

    async def to_end(self, report: JobReport) -> str:
        """Like `follow`, for a job: progress goes to `report`, failure raises."""
        self._progress = ProgressUpdates(lambda: report(self.tail()))
        report(self.tail())  # what it wrote before it became a job
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
        if self._contained is not None:
            self.blocked = self._contained.find_blocked(
                self.details.command, self.running.cwd, self._exited, self._mark
            )
        notes = [*self.running.notes(), *(attempt.note for attempt in self.blocked)]
        details = replace(
            self.details, duration_ms=round((time.monotonic() - self._began) * 1000), notes=notes or UNSET
        )
        return result(
            self._sink, self._ctx.artifacts, details, self._exited, self._time_limit_s, self._limited
        )

    def _show_progress(self) -> None:
        details = replace(self.details, colored=self._sink.colored_tail() or UNSET)
        self._ctx.update(ToolOutput.text(self.tail(), details))

    async def _read(self) -> None:
        async for chunk in self._process.output():
            self._sink.push(chunk)
            self._progress.note()
            if self._keyboard is not None:
                self._keyboard.show(chunk)
        self._exited = await self._process.wait()
