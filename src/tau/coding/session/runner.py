"""Runs the agent loop on a prompt, with retries, until the agent stops and the queue is empty."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.agent.abort import Abort, Aborted
from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.agent.loop import Outcome, run_loop
from tau.agent.output import ToolOutput
from tau.agent.owner import Setup, StreamFunction
from tau.agent.ports import ToolContext
from tau.agent.queue import Prompt, Queue
from tau.agent.world import NestedCall
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model
from tau.ai.wire import AppMessage, ToolCall, UserMessage
from tau.base import log as log_file
from tau.base.errors import SessionError, TauError
from tau.coding.context import CodingCall, CodingWorld
from tau.coding.session.recovery import RunRecovery
from tau.coding.session.request_setup import RequestSetup
from tau.coding.session.storage.log import SessionLog

if TYPE_CHECKING:
    from tau.coding.undo.recorder import Recorder


class AgentRunner:
    """Runs prompts one at a time; `recovery` decides whether a failed run continues."""

    def __init__(
        self,
        *,
        log: SessionLog,
        queue: Queue,
        hooks: Hooks,
        setup: RequestSetup,
        recovery: RunRecovery,
        stream: StreamFunction,
        world: CodingWorld,
        emit: Callable[[AgentEvent], None],
        recorder: "Recorder | None" = None,
    ) -> None:
        self._log = log
        self._queue = queue
        self._hooks = hooks
        self._setup = setup
        self._recovery = recovery
        self._recorder = recorder
        self._loop_owner = _LoopOwner(log, queue, hooks, setup.build, recovery, stream, world, emit)

    async def run_prompt(self, message: UserMessage | None, abort: Abort) -> Outcome:
        """Work on `message`, or on the history as it is if None, then on what was queued meanwhile."""
        messages: list[AppMessage] = []
        try:
            prompts: Sequence[Prompt] = []
            if message is not None:
                accepted = await self._apply_input_hooks(message, abort)
                if accepted is None:
                    return Outcome(message=None, messages=[])
                prompts = [accepted]
            self._setup.record_changes()
            while True:
                try:
                    await self._recovery.begin(abort, new_prompt=bool(prompts))
                    outcome = await run_loop(self._loop_owner, prompts, abort)
                    outcome = await self._recovery.recover(outcome, self._rerun, abort)
                finally:
                    await self._settle(abort)
                messages += outcome.messages
                prompts = [] if outcome.error or outcome.aborted or abort.aborted else self._take_queued()
                if not prompts:
                    return replace(outcome, messages=messages)
        except Aborted:
            return Outcome(message=None, messages=[], aborted=True)
        except SessionError as error:
            log_file.error("A run ended because it could not be recorded.", error)
            return Outcome(message=None, messages=[], error=error)

    async def _apply_input_hooks(self, message: UserMessage, abort: Abort) -> UserMessage | None:
        """The message as the hooks leave it; None if one blocks it."""
        try:
            async with abort.scope():
                return await self._hooks.input(message)
        except (TauError, Aborted):
            raise
        except Exception as error:
            log_file.error("A hook failed on a message.", error)
            raise TauError(f"A hook failed on the message, which was not sent: {error!r}.") from error

    async def _rerun(self, abort: Abort) -> Outcome:
        return await run_loop(self._loop_owner, [], abort)

    def _take_queued(self) -> Sequence[Prompt]:
        """Messages that were queued after the loop last checked."""
        return self._queue.take_steering() or self._queue.take_follow_ups()

    async def _settle(self, abort: Abort) -> None:
        """Record what the user ran during the run, and file changes, after the last turn.

        The latter takes a while in a large repository; an abort skips the wait.
        """
        with suppress(SessionError):
            self._queue.release(self._log.append_message)
        if self._recorder is not None:
            self._recorder.look_beside()
            with suppress(Aborted):
                async with abort.scope():
                    await self._recorder.settle()


class _LoopOwner:
    """What the loop asks of a session."""

    def __init__(
        self,
        log: SessionLog,
        queue: Queue,
        hooks: Hooks,
        setup: Callable[[], Setup],
        recovery: RunRecovery,
        stream: StreamFunction,
        world: CodingWorld,
        emit: Callable[[AgentEvent], None],
    ) -> None:
        self.hooks = hooks
        self.queue = queue
        self.setup = setup
        self.history = log.messages
        self._log = log
        self._recovery = recovery
        self._stream = stream
        self._world = world
        self._emit = emit

    def record(self, message: AppMessage) -> None:
        self._log.append_message(message)

    async def make_room(self, abort: Abort) -> None:
        with suppress(Aborted):
            await self._recovery.make_room(abort, "threshold")

    def emit(self, event: AgentEvent) -> None:
        self._emit(event)
        self._recovery.observe(event)

    def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        return self._stream(model, request)

    def tool_context(
        self, call: ToolCall, update: Callable[[ToolOutput], None], nested: NestedCall
    ) -> ToolContext:
        return CodingCall(self._world, call, update, nested)
