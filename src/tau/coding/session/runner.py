"""Sets up requests and runs the agent loop on a prompt, until the agent stops and the queue is empty."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from tau.agent.abort import Abort, Aborted
from tau.agent.call_context import NestedCall
from tau.agent.events import AgentSettled, Notice, RunError
from tau.agent.hooks import Hooks, RunStart
from tau.agent.loop import Outcome, accept_queued, run_loop
from tau.agent.loop_owner import AnswerWatch, EventListener, InterruptMode, Setup, StreamFunction
from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.agent.queue import Prompt, Queue
from tau.agent.tool import Tool
from tau.ai.model import FAST_TIER, Model, ThinkingLevel
from tau.ai.wire import AppMessage, CustomMessage, ToolCall, UserMessage
from tau.base import log as log_file
from tau.base.clock import now_ms
from tau.base.errors import BudgetExhausted, ProviderError, SessionError, TauError
from tau.base.late import late
from tau.coding.context import CodingCall, CodingWorld, ModelRoles
from tau.coding.ports import ServerPort
from tau.coding.session.activities import Activities
from tau.coding.session.answer_limits import AnswerLimits
from tau.coding.session.context import last_choice, last_tier
from tau.coding.session.entries import ModelChange, ThinkingLevelChange, TierChange
from tau.coding.session.recovery import RunRecovery
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.plan.mode import PlanMode
    from tau.coding.rules.stream_rules import StreamRules
    from tau.coding.tool_search.selection import ToolSelection
    from tau.coding.undo.recorder import Recorder

calls = late("tau.agent.call_runner")
lost = late("tau.coding.session.lost_results")

MAX_STOP_BLOCKS = 5
# The demo model reads prompts slowly and rarely calls a tool: two are enough to show how they work.
DEMO_TOOLS = ("read", "bash")


class MoreTools(Struct, frozen=True):
    """What supplies tools besides the session's own; None if there is none."""

    selection: "ToolSelection | None" = None
    servers: ServerPort | None = None
    hooks: tuple[Hooks, ...] = ()


class RequestSetup(Struct, kw_only=True):
    """Owns the thinking level and the service tier; shares the models and the log."""

    log: SessionLog
    models: ModelRoles
    thinking: ThinkingLevel
    system: Callable[[Model], str]
    tools: Sequence[Tool[Any]]
    settings: Settings
    plan: "PlanMode"
    more: MoreTools = MoreTools()
    limits: AnswerLimits = msgspec.field(default_factory=AnswerLimits)
    interrupt_mode: InterruptMode = "immediate"  # starts as in the settings
    service_tier: str | None = None  # starts as in the settings
    cache_key: str | None = None  # instead of the session's id
    run_prompt: str | None = None  # replaces the system prompt during this run
    _system: tuple[Model, str] | None = None  # the prompt last made, and for which model
    _reported: set[tuple[str, str]] = msgspec.field(default_factory=set)  # models, and what they lack

    def __post_init__(self) -> None:
        self.interrupt_mode = self.settings.interrupt_mode
        self.service_tier = self.settings.service_tier
        if (change := last_tier(self.log.branch(), self.log.decode)) is not None:
            self._choose_tier(fast=change.service_tier == FAST_TIER)

    def model(self) -> Model:
        """The model in use: the default one, or that of plan mode."""
        return self.plan.model()

    def build(self) -> Setup:
        model = self.model()
        if self._system is None or self._system[0] != model:
            self._system = (model, self.system(model))
        tools, hidden = self.tools, frozenset[str]()
        servers, selection = self.more.servers, self.more.selection
        is_used = selection is None or selection.names is None or selection.supplied()
        instructions = servers.instructions() if servers is not None and is_used else ""
        if selection is not None and not model.demo:
            arranged = selection.arrange(tools)
            tools, hidden = arranged.tools, arranged.hidden
        return Setup(
            model=self.limits.served(model),
            thinking=self.plan.thinking() or model.clamp_thinking(self.thinking),
            system=self.run_prompt or self.plan.system(self._system[1] + instructions),
            tools=self.plan.tools(tools_for(model, tools)),
            hidden=hidden,
            max_tokens=self.limits.limit(model),
            cache_key=self.cache_key or self.log.header.id,
            cache_retention=self.settings.cache_retention,
            service_tier=self.service_tier if model.takes_tier(self.service_tier) else None,
            thinking_budgets=asdict(self.settings.thinking_budgets),
            interrupt_mode=self.interrupt_mode,
        )

    def clamp_notices(self) -> Iterator[Notice]:
        """Say, once each, that the model lacks the chosen thinking level or service tier."""
        model, level, tier = self.model(), self.thinking, self.service_tier
        used = model.clamp_thinking(level)
        if model.reasoning and used != level and self._is_new(model, level):
            yield Notice("info", f"{model.key} does not have the thinking level {level}; using {used}.")
        if tier and not model.takes_tier(tier) and self._is_new(model, f"tier {tier}"):
            yield Notice("info", f"{model.key} does not have the service tier {tier}; using its usual one.")

    def _is_new(self, model: Model, lacking: str) -> bool:
        known = (model.key, lacking) in self._reported
        self._reported.add((model.key, lacking))
        return not known

    @property
    def fast(self) -> bool:
        return self.service_tier == FAST_TIER

    def use_fast(self, on: bool) -> None:
        """Ask for priority from the next request on, or as the settings say. Logged."""
        self._choose_tier(fast=on)
        self.log.append(TierChange(service_tier=self.service_tier))

    def _choose_tier(self, *, fast: bool) -> None:
        usual = self.settings.service_tier
        self.service_tier = FAST_TIER if fast else usual if usual != FAST_TIER else None

    def renew_prompt(self) -> None:
        """Make a new system prompt for the next request: what it says has changed."""
        self._system = None

    def record_changes(self) -> None:
        """Log the default model and the thinking level if they differ from the last ones logged."""
        context = self.log.context()
        model = self.models.default
        address = model.base_url if model.custom_address else None
        if (context.model, context.base_url) != ((model.provider, model.id), address):
            self.log.append(_model_change(model))
        elif model.compat.routes_upstream:
            choice = last_choice(self.log.branch(), self.log.decode, (model.provider, model.id))
            if choice is None or (choice.upstream or "") != model.upstream:
                self.log.append(_model_change(model))
        if context.thinking != self.thinking:
            self.log.append(ThinkingLevelChange(thinking_level=self.thinking))

    def switch_model(self, model: Model) -> None:
        """Use another model without a request of the user: as the default, which is logged, or to plan."""
        if self.plan.on and self.models.replace("plan", model):
            return
        self.models.default = model
        self.log.append(_model_change(model))


def _model_change(model: Model) -> ModelChange:
    address = model.base_url if model.custom_address else UNSET
    upstream = model.upstream or UNSET
    return ModelChange(provider=model.provider, model_id=model.id, base_url=address, upstream=upstream)


def _run_error(outcome: Outcome) -> RunError | UnsetType:
    if outcome.error is None or outcome.aborted:
        return UNSET
    if isinstance(outcome.error, BudgetExhausted):
        return RunError(outcome.error.kind, str(outcome.error))
    if not isinstance(outcome.error, ProviderError):
        return RunError("other", str(outcome.error))
    wait_s = outcome.error.retry_after
    wait_ms = UNSET if wait_s is None else round(wait_s * 1000)
    return RunError(outcome.error.kind, str(outcome.error), wait_ms)


class AgentRunner(Struct, kw_only=True):
    """Runs prompts one at a time and owns the loop; `recovery` decides whether a failed run continues."""

    log: SessionLog
    queue: Queue
    hooks: Hooks
    next_request: RequestSetup
    recovery: RunRecovery
    stream: StreamFunction
    world: CodingWorld
    emit: EventListener
    activities: Activities
    recorder: "Recorder | None" = None
    rules: "StreamRules | None" = None
    resumed: bool = False  # what an earlier process left behind has been dealt with
    started: bool = False  # the hooks know of the session

    async def run(self, begin: Callable[[], UserMessage | None]) -> Outcome:
        """Run on the message that `begin` returns, or on the history as it is, and report the end."""
        settled = AgentSettled()
        with ExitStack() as then, self.activities.begin(run=True) as abort:
            then.callback(lambda: self.emit(settled))
            try:
                outcome = await self.run_prompt(begin(), abort)
                settled = AgentSettled(outcome.aborted, _run_error(outcome))
            except asyncio.CancelledError:
                settled = AgentSettled(aborted=True)
                raise
            return outcome

    async def run_prompt(self, message: UserMessage | None, abort: Abort) -> Outcome:
        """Work on `message`, or on the history as it is if None, then on what was queued meanwhile."""
        messages: list[AppMessage] = []
        try:
            prompts: Sequence[Prompt] = []
            await self._start(abort)
            if message is not None:
                accepted = await self._apply_input_hooks(message, abort)
                if accepted is None:
                    return Outcome(message=None, messages=[])
                prompts = await self._begin_run(accepted, abort)
            self._answer_lost_calls()
            self._report_lost_jobs()
            if (servers := self.next_request.more.servers) is not None:
                async with abort.scope():
                    await servers.wait_first()
            self.next_request.record_changes()
            for notice in self.next_request.clamp_notices():
                self.emit(notice)
            blocks = 0  # in a row
            while True:
                try:
                    await self.recovery.begin(abort, new_prompt=bool(prompts) and not blocks)
                    outcome = await run_loop(self, prompts, abort)
                    outcome = await self.recovery.recover(outcome, self._rerun, abort)
                finally:
                    await self._settle(abort)
                messages += outcome.messages
                is_over = bool(outcome.error) or outcome.aborted or abort.aborted
                prompts = [] if is_over else await accept_queued(self, self._take_queued(), abort)
                if prompts:
                    blocks = 0
                elif not is_over and (task := await self._before_stop(outcome, blocks, abort)):
                    prompts, blocks = [task], blocks + 1
                else:
                    return replace(outcome, messages=messages)
        except Aborted:
            return Outcome(message=None, messages=[], aborted=True)
        except SessionError as error:
            log_file.error("A run ended because it could not be recorded.", error)
            return Outcome(message=None, messages=[], error=error)

    async def _start(self, abort: Abort) -> None:
        """Tell the hooks about the session before its first prompt."""
        if not self.started:
            async with abort.scope():
                await self.hooks.session_start("resume" if self.log.context().items else "startup")
            self.started = True

    async def end(self) -> None:
        """Tell the hooks that the session closes."""
        if self.started:
            try:
                await self.hooks.session_end("other")
            except Exception as error:
                log_file.error("A hook failed at the end of the session.", error)

    async def _before_stop(self, outcome: Outcome, blocks: int, abort: Abort) -> CustomMessage | None:
        """What a hook wants done before the agent stops; an endless wish is not followed."""
        if outcome.message is None:
            return None
        async with abort.scope():
            reason = await self.hooks.before_stop(outcome.message, again=blocks > 0)
        if reason is not None and blocks >= MAX_STOP_BLOCKS:
            text = f"A hook kept the agent from stopping {blocks} times in a row; it stops now."
            self.emit(Notice("warning", text))
            return None
        if reason is None or abort.aborted:
            return None
        return CustomMessage("hook-context", reason, display=True, timestamp=now_ms())

    async def _apply_input_hooks(self, message: UserMessage, abort: Abort) -> UserMessage | None:
        """The message as the hooks leave it; None if one blocks it."""
        try:
            async with abort.scope():
                return await self.hooks.input(message)
        except (TauError, Aborted):
            raise
        except Exception as error:
            log_file.error("A hook failed on a message.", error)
            raise TauError(f"A hook failed on the message, which was not sent: {error!r}.") from error

    async def _begin_run(self, message: UserMessage, abort: Abort) -> Sequence[Prompt]:
        """The message, after the notes that hooks add; they may also replace the system prompt."""
        self.next_request.run_prompt = None
        system = self.next_request.build().system
        try:
            async with abort.scope():
                start = await self.hooks.before_run(RunStart(message=message, system=system))
        except (TauError, Aborted):
            raise
        except Exception as error:
            log_file.error("A hook failed before a run.", error)
            return [message]
        if start.system != system:
            self.next_request.run_prompt = start.system
        return [*start.notes, start.message]

    def _answer_lost_calls(self) -> None:
        """Record what may have become of calls that a killed tau left without a result."""
        if self.recorder is not None and self.log.context().items:
            for result in lost.lost_results(self.log.messages(), self.recorder.records):
                self.log.append_message(result)

    def _report_lost_jobs(self) -> None:
        """Record which background jobs ended with an earlier process: the model still waits for them."""
        if not self.resumed and self.log.context().items:
            waiting = [item.message for item in self.queue.waiting()]
            for note in lost.lost_jobs([*self.log.messages(), *waiting]):
                self.log.append_message(note)
        self.resumed = True

    async def _rerun(self, abort: Abort) -> Outcome:
        return await run_loop(self, await accept_queued(self, self.queue.take_steering(), abort), abort)

    def _take_queued(self) -> Sequence[Prompt]:
        """Messages that were queued after the loop last checked."""
        return [*self.queue.take_asides(), *(self.queue.take_steering() or self.queue.take_follow_ups())]

    async def _settle(self, abort: Abort) -> None:
        """Record what the user ran during the run, and file changes, after the last turn.

        The latter takes a while in a large repository; an abort skips the wait.
        """
        with suppress(SessionError):
            self.queue.release(self.log.append_message)
        if self.recorder is not None:
            self.recorder.settle_in_background()
            with suppress(Aborted):
                async with abort.scope():
                    await self.recorder.settle()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Run a tool as if the model had called it, with the same checks; nothing is recorded."""
        setup = self.setup()
        tools = {tool.name: tool for tool in setup.tools}
        failed = calls.FailedCalls()
        with self.activities.begin() as abort:
            runner = calls.CallRunner(self, setup, {}, abort, failed, lambda message, end: None, tools)
            return await runner.nested(name, arguments)

    def setup(self) -> Setup:
        return self.next_request.build()

    def history(self) -> list[AppMessage]:
        return self.log.messages()

    def record(self, message: AppMessage) -> None:
        self.log.append_message(message)

    async def make_room(self, abort: Abort) -> None:
        with suppress(Aborted):
            await self.recovery.make_room(abort, "threshold")

    def watch_answer(self) -> AnswerWatch | None:
        return None if self.rules is None else self.rules.begin_answer()

    def tool_context(
        self, call: ToolCall, update: Callable[[ToolOutput], None], nested: NestedCall
    ) -> ToolContext:
        return CodingCall(self.world, call, update, nested)


def tools_for(model: Model, tools: Sequence[Tool[Any]]) -> Sequence[Tool[Any]]:
    """The tools that a model is offered."""
    return [tool for tool in tools if tool.name in DEMO_TOOLS] if model.demo else tools
