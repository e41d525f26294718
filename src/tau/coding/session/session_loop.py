"""The session's side of the loop: what it asks for, what it tells, and what it keeps."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.abort import Abort, Aborted
from tau.agent.events import AgentEvent, MessageUpdate, Notice
from tau.agent.hooks import Hooks
from tau.agent.listeners import Listeners
from tau.agent.loop import Outcome
from tau.agent.output import ToolOutput
from tau.agent.owner import Complete, EventListener, Setup, StreamFunction
from tau.agent.ports import ToolContext
from tau.agent.queue import Prompt, Queue
from tau.agent.tool import Tool
from tau.agent.world import NestedCall
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, ToolCall, UserMessage
from tau.base import log
from tau.base.errors import SessionError, TauError
from tau.base.late import late
from tau.coding.context import CodingCall, CodingWorld
from tau.coding.output import OutputLimits
from tau.coding.resources import SessionResources
from tau.coding.session.entries import ModelChange, ThinkingLevelChange
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.supervisor import RunSupervisor
from tau.coding.tools import tools_for
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.plan.mode import PlanMode
    from tau.coding.session.todos import Todos
    from tau.coding.undo.recorder import Recorder

fallback = late("tau.coding.session.fallback")


class SessionParts(Struct, frozen=True, kw_only=True):
    """What a session is made of. `system` makes the prompt for a model: it may be changed on the way.

    `resolve_model` finds a model to fall back to; its answer is None where there is none, or no key for it.
    """

    log: SessionLog
    thinking: ThinkingLevel
    system: Callable[[Model], str]
    tools: Sequence[Tool[Any]]
    stream: StreamFunction
    world: CodingWorld
    hooks: Hooks
    queue: Queue
    complete: Complete  # a request on the side
    settings: Settings = Settings()
    command_output: OutputLimits = OutputLimits()
    recorder: "Recorder | None" = None  # of changes to files
    plan: "PlanMode | None" = None
    todos: "Todos | None" = None
    watchers: Sequence[
        EventListener
    ] = ()  # told of each event after everybody else, but not of words arriving
    outside: SessionResources = SessionResources()
    resolve_model: Callable[[str], Awaitable[Model | None]] | None = None
    notices: list[Notice] = []


class SessionLoop:
    """The loop's owner. It keeps the level of thinking and the prompt; the models and the log are shared.

    `runs` decides about failures; its `make_room` is the compaction.
    """

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._listeners = Listeners()
        self._system: tuple[Model, str] | None = None
        self.hooks = parts.hooks
        self.queue = parts.queue
        self.thinking: ThinkingLevel = parts.thinking
        self.runs = RunSupervisor(self, parts.log, parts.settings.retry, self._model)
        if parts.settings.retry.fallback_chains and parts.resolve_model is not None:
            self.runs.fallbacks = fallback.Fallbacks(
                parts.settings.retry,
                parts.log,
                model=self._model,
                use_model=self._stand_in,
                emit=self.emit,
                resolve=parts.resolve_model,
            )

    async def send(self, message: UserMessage | None, abort: Abort) -> Outcome:
        """Work on this message as the hooks leave it; on what was sent before where it is None."""
        try:
            if message is not None:
                message = await _heard(self.hooks, message, abort)
                if message is None:
                    return Outcome(message=None, messages=[])
            self.note_changes()
            return await self.run([] if message is None else [message], abort)
        except Aborted:
            return Outcome(message=None, messages=[], aborted=True)
        except SessionError as error:
            log.error("A run ended because it could not be recorded.", error)
            return Outcome(message=None, messages=[], error=error)

    async def run(self, prompts: Sequence[Prompt], abort: Abort) -> Outcome:
        """Until the model stops, and nothing waits that was queued after the loop had looked for it."""
        messages: list[AppMessage] = []
        while True:
            try:
                outcome = await self.runs.run(prompts, abort)
            finally:
                await self._settle(abort)
            messages += outcome.messages
            if not (outcome.error or outcome.aborted or abort.aborted):
                prompts = self.queue.take_steering() or self.queue.take_follow_ups()
                if prompts:
                    continue
            return replace(outcome, messages=messages)

    async def _settle(self, abort: Abort) -> None:
        """Record what the user ran meanwhile, and note what was changed in files, behind the last turn.

        In a large repository that takes a while; who has stopped the run does not wait for it.
        """
        with suppress(SessionError):
            self.queue.release(self._parts.log.append_message)
        recorder = self._parts.recorder
        if recorder is not None:
            recorder.look_beside()
            with suppress(Aborted):
                async with abort.scope():
                    await recorder.settle()

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        return self._listeners.subscribe(listener)

    def emit(self, event: AgentEvent) -> None:
        self._listeners.emit(event)
        if isinstance(event, MessageUpdate):
            return
        self.runs.saw(event)
        for watch in self._parts.watchers:
            watch(event)

    def setup(self) -> Setup:
        parts = self._parts
        model = self._model()
        if self._system is None or self._system[0] != model:
            self._system = (model, parts.system(model))
        system, tools = self._system[1], tools_for(model, parts.tools)
        if parts.plan is not None:
            system, tools = parts.plan.system(system), parts.plan.tools(tools)
        return Setup(
            model=model,
            thinking=self.thinking if model.reasoning else "off",
            system=system,
            tools=tools,
            max_tokens=model.max_tokens,
            cache_key=parts.log.header.id,
            interrupt_mode=parts.settings.interrupt_mode,
        )

    def history(self) -> list[AppMessage]:
        return self._parts.log.messages()

    def record(self, message: AppMessage) -> None:
        self._parts.log.append_message(message)

    async def make_room(self, abort: Abort) -> None:
        with suppress(Aborted):
            await self.runs.room(abort, "threshold")

    def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        return self._parts.stream(model, request)

    def tool_context(
        self, call: ToolCall, update: Callable[[ToolOutput], None], nested: NestedCall
    ) -> ToolContext:
        return CodingCall(self._parts.world, call, update, nested)

    def note_changes(self) -> None:
        """Write down model and thinking level where they are not what the log says."""
        model, context = self._parts.world.models.default, self._parts.log.context()
        if context.model != (model.provider, model.id):
            self._parts.log.append(ModelChange(provider=model.provider, model_id=model.id))
        if context.thinking != self.thinking:
            self._parts.log.append(ThinkingLevelChange(thinking_level=self.thinking))

    def _model(self) -> Model:
        """The model in use, which may be another one while it plans."""
        plan = self._parts.plan
        return self._parts.world.models.default if plan is None else plan.model()

    def _stand_in(self, model: Model) -> None:
        """Go on with a model that the user has not chosen."""
        self._parts.world.models.default = model
        self._parts.log.append(ModelChange(provider=model.provider, model_id=model.id))


async def _heard(hooks: Hooks, message: UserMessage, abort: Abort) -> UserMessage | None:
    """The message as the hooks leave it."""
    try:
        async with abort.scope():
            return await hooks.input(message)
    except (TauError, Aborted):
        raise
    except Exception as error:
        log.error("A hook failed on a message.", error)
        raise TauError(f"A hook failed on the message, which was not sent: {error!r}.") from error
