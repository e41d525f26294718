"""The user's shell commands: the model sees `!command`; `!!command` is only logged."""

import asyncio
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from tau.agent.abort import Abort, Aborted
from tau.agent.call_context import World
from tau.agent.events import AgentEvent, BashEnd
from tau.agent.hooks import Hooks
from tau.agent.queue import MAX_WAITING, Queue
from tau.ai.wire import BashExecutionMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.run import QUIET, Exit, Process
from tau.coding.output import OutputLimits, OutputSink, notice, with_notice
from tau.coding.session.storage.log import SessionLog

if TYPE_CHECKING:
    from tau.backends.shell.session import ShellSession

_Show = Callable[[str], None]


class UserShell(Struct, frozen=True, kw_only=True):
    """Runs a command as the `bash` tool does, but without a time limit: the user can stop it.

    If it ends while the agent is busy, it is recorded after the results of the turn, never between a call and
    its result; until then it waits in the queue, which is saved to disk.
    """

    world: World
    log: SessionLog
    queue: Queue
    hooks: Hooks
    emit: Callable[[AgentEvent], None]
    busy: Callable[[], bool]  # whether the agent is running
    limits: OutputLimits
    shell: "ShellSession | None" = None

    async def run(
        self, command: str, *, exclude: bool = False, abort: Abort, show: _Show | None = None
    ) -> BashExecutionMessage:
        """Run a command and record it; `show` gets the output as it arrives.

        Raises TauError if it cannot run or is refused. A stopped command is recorded too.
        """
        with OutputSink(self.world.artifacts, "bash", self.limits) as sink:
            exited: Exit | None = None
            cancelled: BaseException | None = None
            try:
                async with abort.scope():
                    command = await self._check_command(command)
                    exited = await self._until_exit(command, sink, show)
            except (Aborted, asyncio.CancelledError) as stop:
                cancelled = stop
            message = self._message(command, sink, exited, exclude=exclude)
            self._record(message)
            if isinstance(cancelled, asyncio.CancelledError):
                raise cancelled
            return message

    async def _check_command(self, command: str) -> str:
        allowed = await self.hooks.user_bash(command)
        if allowed is None:
            raise TauError(f'The command "{command}" was refused and did not run.')
        if not allowed.strip():
            raise TauError("The command is empty.")
        if "\0" in allowed:
            raise TauError("The command contains a NUL character, which no shell accepts.")
        return allowed

    async def _start(self, command: str) -> Process:
        """Start the command in the session's shell, or in a new one."""
        if self.shell is not None:
            return (await self.shell.start(command)).process
        return await self.world.run.start(command, cwd=self.world.cwd, env=QUIET)

    async def _until_exit(self, command: str, sink: OutputSink, show: _Show | None) -> Exit:
        try:
            process = await self._start(command)
        except OSError as error:
            where = error.filename or self.world.cwd
            raise TauError(f"The command cannot run: {where}: {error.strerror or error}.") from error
        decoder = getincrementaldecoder("utf-8")("replace")
        async with process:
            async for chunk in process.output():
                sink.push(chunk)
                if show is not None and (text := decoder.decode(chunk)):
                    _show_safely(show, text)
            return await process.wait()

    def _message(
        self, command: str, sink: OutputSink, exited: Exit | None, *, exclude: bool
    ) -> BashExecutionMessage:
        shown = sink.finish()
        text, cut = shown.text, shown.truncation
        path: str | UnsetType = UNSET
        if cut is not None:
            if cut.artifact_note is not UNSET:  # the stored output is incomplete
                text = with_notice(text, notice(cut))
            if cut.artifact_id is not UNSET:
                path = str(self.world.artifacts.open(cut.artifact_id))
        return BashExecutionMessage(
            command=command,
            output=text,
            exit_code=None if exited is None else exited.code,
            cancelled=exited is None,
            truncated=cut is not None,
            timestamp=now_ms(),
            full_output_path=path,
            exclude_from_context=True if exclude else UNSET,
        )

    def _record(self, message: BashExecutionMessage) -> None:
        if self.busy() and len(self.queue.waiting()) < MAX_WAITING:
            self.queue.hold(message)
        else:
            self.queue.release(self.log.append_message)
            self.log.append_message(message)
        self.emit(BashEnd(message))


def _show_safely(show: _Show, text: str) -> None:
    try:
        show(text)
    except Exception as error:
        log.error("The output of a command could not be shown.", error)
