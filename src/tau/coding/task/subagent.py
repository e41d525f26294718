"""One agent: its session, its run until it yields, and its result."""

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from tau.agent.events import (
    AgentEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    RetryStart,
    ToolEnd,
    ToolStart,
    TurnEnd,
)
from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.loop import Outcome
from tau.agent.queue import user_message
from tau.ai.dialect import Request
from tau.ai.wire import AssistantMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.text import clean_line, sentence, shortened
from tau.coding.session.entries import SessionInit
from tau.coding.task.budgets import LAST_REQUESTS, AgentMeter
from tau.coding.task.records import AgentRecord
from tau.coding.task.results import (
    AgentOutcome,
    AgentProgress,
    SingleResult,
    limited,
    save_output,
    tail_lines,
)

if TYPE_CHECKING:
    from tau.agent.tool import Tool
    from tau.ai.model import Model
    from tau.coding.session.session import Session
    from tau.coding.task.permissions import AgentPermissions
    from tau.coding.task.subagent_options import SubagentOptions
    from tau.coding.task.team import Team
    from tau.coding.task.workspace import AgentWorkspace
    from tau.coding.task.yield_result import YieldDetails

extraction = late("tau.coding.task.extraction")

MAX_REMINDERS = 3
MAX_EXTRACTED = 500
MAX_UNFINISHED = 20_000
END_S = 5.0
SAY: dict[str, str] = msgspec.json.decode(Path(__file__).with_name("reminders.json").read_bytes())


class Subagent:
    """Owned by its team. `task` runs while it works on its assignment or on a message."""

    def __init__(
        self, team: "Team", record: AgentRecord, meter: AgentMeter, caller: "Subagent | None"
    ) -> None:
        self.team = team
        self.record = record
        self.meter = meter
        self.caller = caller
        self.model: Model = team.session.model
        self.custom_tools: Sequence[Tool[Any]] = ()
        self.session: Session | None = None
        self.workspace: AgentWorkspace | None = None
        self.task: asyncio.Task[SingleResult] | None = None
        self.settled = asyncio.Event()
        self.stop_reason = ""
        self.waiting = False
        self.last_text = ""
        self.recent: list[str] = []
        self.unfinished: list[AgentEvent] = []
        """Events of the answer that is streamed and of tools that run: what the log does not have yet."""
        self.tool, self.target, self.tool_count = "", "", 0
        self.last_event_s = time.monotonic()
        self.began_s = time.monotonic()
        self.extracted: dict[str, list[Any]] = {}
        self.ending: YieldDetails | None = None
        self.force_yield = False
        self.retry_failure = ""
        self.notes: list[str] = []
        self._keeper: asyncio.Task[None] | None = None
        self._release: asyncio.Event | None = None  # while its session is open
        self._told_budget = False
        self._permissions: AgentPermissions | None = None

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def busy(self) -> bool:
        return self.task is not None and not self.task.done()

    # The session

    async def open(self) -> "Session":
        """Open the session, from its log if there is one. Raises TauError."""
        if self.session is not None:
            return self.session
        if self._keeper is not None:
            await asyncio.wait((self._keeper,))
        if self.workspace is not None:
            await self.workspace.open()
        ready: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._release = release = asyncio.Event()
        self._keeper = self.team.spawn_task(self._keep(ready, release), f"agent {self.id}")
        return await asyncio.shield(ready)

    async def _keep(self, ready: "asyncio.Future[Session]", release: asyncio.Event) -> None:
        """Hold the session open until `release` is set."""
        try:
            async with AsyncExitStack() as stack:
                async with self.team.opening:  # one at a time, so that the event loop stays free
                    opened = self.team.sessions(self.team.setup.options_for(self))
                    session = await stack.enter_async_context(opened)
                    await asyncio.sleep(0)
                self.session = session
                stop = session.subscribe(self._observe)
                if not ready.cancelled():
                    ready.set_result(session)
                try:
                    await release.wait()
                finally:
                    stop()
                    self.session = None
                    if self._permissions is not None:
                        self._permissions.detach()
                        self._permissions = None
            self.team.slots.note_closed()
        except asyncio.CancelledError:
            if not ready.done():
                ready.cancel()
        except Exception as error:
            problem = error if isinstance(error, TauError) else TauError(f"It cannot be opened: {error!r}.")
            log.error(f"The session of the agent {self.id} failed.", error)
            if not ready.done():
                ready.set_exception(problem)
                ready.exception()  # nobody may be waiting

    def hold(self, permissions: "AgentPermissions") -> "AgentPermissions":
        """Those of the open session; they follow the caller's until it closes."""
        self._permissions = permissions
        return permissions

    async def release(self) -> None:
        """Close the session; its log stays."""
        if self._release is not None:
            self._release.set()
            self._release = None
        if self._keeper is not None:
            await asyncio.wait((self._keeper,))
            self._keeper = None

    def _observe(self, event: AgentEvent) -> None:
        self.last_event_s = time.monotonic()
        match event:
            case MessageUpdate():
                if len(self.unfinished) < MAX_UNFINISHED:
                    self.unfinished.append(event)
            case MessageStart(message=AssistantMessage()):
                self.unfinished = [event]
            case ToolStart():
                self.tool, self.target = event.tool_name, _target(event.args)
                self.tool_count += 1
                self.unfinished.append(event)
            case ToolEnd():
                self.tool = self.target = ""
                self.unfinished = [
                    one for one in self.unfinished if getattr(one, "tool_call_id", "") != event.tool_call_id
                ]
                self._extract(event)
            case MessageEnd(message=AssistantMessage() as message):
                self.unfinished = []
                if message.text.strip():
                    self.last_text = message.text
                    self.recent = tail_lines(message.text)
                self._watch_budget()
            case RetryStart():
                self.retry_failure = event.error_message
            case TurnEnd() if self.ending is not None or self.meter.must_stop:
                assert self.session is not None
                self.session.activities.abort_run()
            case _:
                pass
        self.team.roster.note(self, event)

    def _extract(self, event: ToolEnd) -> None:
        row = extraction.EXTRACTIONS.get(event.tool_name)
        if row is None or (data := row.extract(event)) is None:
            return
        found = self.extracted.setdefault(event.tool_name, [])
        if len(found) < MAX_EXTRACTED:
            found.append(data)
        if row.ends_run(event):
            self.ending = data

    def _watch_budget(self) -> None:
        budget = self.meter.limits.requests
        if budget and self.meter.requests >= budget and not self._told_budget and self.session is not None:
            self._told_budget = True
            with suppress(TauError):
                self.session.queue.aside(user_message(SAY["budgetNotice"].format(budget=budget)))

    # The work

    def start(self, prompt: str | None) -> None:
        """Work on `prompt`, or on queued messages if None, in the background."""
        self.settled.clear()
        self.ending, self.stop_reason, self.force_yield = None, "", False
        self.extracted, self.retry_failure, self.notes = {}, "", []
        self._told_budget = False
        self.meter.requests, self.meter.last_requests = 0, None
        self.began_s = time.monotonic()
        self.record.status = "queued"
        self.task = self.team.spawn_task(self._work(prompt), self.id)

    def stop(self, reason: str) -> None:
        """End its work; its result says why. A queued agent never starts."""
        if self.busy and self.task is not None:
            self.stop_reason = self.stop_reason or reason
            self.task.cancel()

    async def _work(self, prompt: str | None) -> SingleResult:
        """Never raises: whatever happens is the result."""
        outcome: AgentOutcome = "aborted"
        error = ""
        try:
            async with self.team.slots.hold(self):
                await self.team.slots.turn()
                self.began_s = self.last_event_s = time.monotonic()
                self.record.interrupted = False
                self.team.roster.set_status(self, "running")
                self.team.mark_running(self.id)
                seconds = self.meter.limits.seconds or None
                try:
                    async with asyncio.timeout(seconds):
                        outcome, error = await self._drive(prompt)
                except TimeoutError:
                    error = self.stop_reason = f"The time limit of {seconds} s is reached."
        except asyncio.CancelledError:
            error = self.stop_reason = self.stop_reason or "It was stopped."
            _absorb_cancel()
        except TauError as problem:
            outcome, error = "failed", str(problem)
        except Exception as problem:
            log.error(f"The agent {self.id} failed unexpectedly.", problem)
            outcome, error = "failed", f"It failed unexpectedly: {problem!r}."
        try:
            await self.team.slots.turn()
            result = await self._settle(outcome, error, is_wake=prompt is None)
        except asyncio.CancelledError:
            _absorb_cancel()
            result = self._result(outcome, error)
        self.team.life.finish(self, result, is_wake=prompt is None)
        self.settled.set()
        return result

    async def _drive(self, prompt: str | None) -> tuple[AgentOutcome, str]:
        """Prompt until it yields or fails."""
        session = await self.open()
        if prompt is None:
            outcome = await session.go_on(results=True)
            return self._judge_wake(outcome)
        hooks, kind = self.team.session.hooks, self.record.definition.name
        more = await hooks.subagent_start(self.id, kind)
        outcome = await session.prompt(f"{prompt}\n\n{more}" if more else prompt)
        reminders = stops = 0
        while True:
            if self.ending is not None:
                answer = self._output("completed")
                asked = await hooks.subagent_stop(self.id, kind, answer, again=stops > 0)
                if not asked or stops == MAX_REMINDERS or self.ending.status != "completed":
                    break
                stops += 1
                self.ending = None
                outcome = await session.prompt(asked)
                continue
            over = self.meter.must_stop
            failure = "" if over else self._failure(outcome)
            if not failure and not over and reminders == MAX_REMINDERS:
                failure = SAY["noYield"].format(count=MAX_REMINDERS)
            if failure:
                await hooks.subagent_stop(self.id, kind, self._output("failed"), again=True)
                return ("aborted" if self.stop_reason else "failed"), failure
            budget = self.meter.limits.requests
            if over:
                self.meter.last_requests = LAST_REQUESTS
                text = SAY["budgetEnd"].format(budget=budget)
            else:
                reminders += 1
                text = SAY["reminder"].format(last=SAY["lastReminder"] if reminders == MAX_REMINDERS else "")
            self.force_yield = over or reminders == MAX_REMINDERS or self.force_yield
            outcome = await session.prompt(text)
        match self.ending.status:
            case "completed":
                return "completed", ""
            case "invalid" | "failed":
                return "failed", self.ending.error
        raise AssertionError

    def _judge_wake(self, outcome: Outcome) -> tuple[AgentOutcome, str]:
        failure = "" if self.ending is not None else self._failure(outcome)
        return ("failed" if failure else "completed"), failure

    def _failure(self, outcome: Outcome) -> str:
        """Why there is no point in a reminder; empty if there is."""
        model = self.session.model.key if self.session is not None else self.record.model
        message = outcome.message
        if outcome.error is not None:
            if self.meter.exhausted():
                self.stop_reason = str(outcome.error)
            return f"{model}: {sentence(str(outcome.error))}"
        if outcome.aborted:
            self.stop_reason = self.stop_reason or "It was stopped."
            return self.stop_reason
        if message is None:
            return "The assignment was not sent: a hook blocked it."
        if message.stop_reason in ("error", "aborted"):
            reason = message.error_message
            return f"{model}: {reason if isinstance(reason, str) and reason else 'The request failed.'}"
        if message.stop_reason == "length":
            return f"{model}: The answer was cut off at the length limit."
        if not message.text.strip():
            return f"{model}: The model returned an empty response."
        return ""

    # The result

    async def _settle(self, outcome: AgentOutcome, error: str, *, is_wake: bool) -> SingleResult:
        """The result, after changes of an isolated agent are safe and the output is on disk."""
        if self.session is not None and self.session.activities.any:
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await self.session.activities.end()
        more: dict[str, Any] = {}
        if self.workspace is not None and not is_wake:
            more = await self.workspace.finish(outcome)
        result = self._result(outcome, error, **more)
        if is_wake and self.ending is None:
            return result
        try:
            path = await asyncio.to_thread(
                save_output, self.team.roster.folder, self.id, self._output(outcome)
            )
        except OSError as problem:
            note = f"The output could not be saved: {problem.strerror or problem}."
            return replace(result, notes=[*result.notes, note], output=self._output(outcome))
        return replace(result, output_path=str(path))

    def _output(self, outcome: AgentOutcome) -> str:
        if self.ending is not None and self.ending.data is not UNSET:
            data = self.ending.data
            return data if isinstance(data, str) else _pretty(data)
        return self.last_text

    def _result(self, outcome: AgentOutcome, error: str, **more: Any) -> SingleResult:
        record, meter = self.record, self.meter
        output, truncated = limited(self._output(outcome))
        usage = meter.own
        context = None if self.session is None else self.session.compaction.usage()
        notes = [*self.notes, *more.pop("notes", ())]
        if outcome != "completed" and not output and self.last_text:
            output = self.last_text
        return SingleResult(
            index=record.index,
            id=record.id,
            agent=record.definition.name,
            agent_source=record.definition.source,
            outcome=outcome,
            exit_code=0 if outcome == "completed" else 1,
            output=output,
            stderr=error,
            error=error or UNSET,
            aborted=outcome == "aborted",
            abort_reason=(self.stop_reason or error) if outcome == "aborted" else UNSET,
            retry_failure=self.retry_failure if outcome == "failed" and self.retry_failure else UNSET,
            description=record.description or UNSET,
            assignment=record.assignment,
            truncated=truncated,
            duration_ms=round((time.monotonic() - self.began_s) * 1000),
            tokens=usage.input + usage.output + usage.cache_read + usage.cache_write,
            requests=meter.total_requests,
            cost=usage.cost.total,
            usage=usage,
            context_tokens=UNSET if context is None else context.tokens,
            context_window=UNSET if context is None else context.window,
            model=record.model,
            data=UNSET if self.ending is None else self.ending.data,
            extracted_tool_data={name: list(found) for name, found in self.extracted.items()} or UNSET,
            notes=notes,
            **more,
        )

    def progress(self) -> AgentProgress:
        record, result = self.record, self.record.result
        status: Any = {"queued": "pending", "running": "running"}.get(
            record.status, "aborted" if result is None else result.outcome
        )
        running = record.status == "running"
        ended_ms = record.ended_ms or now_ms()
        return AgentProgress(
            index=record.index,
            id=record.id,
            agent=record.definition.name,
            agent_source=record.definition.source,
            status=status,
            state=record.status,
            task=shortened(clean_line(record.assignment), 500),
            description=record.description,
            parent=record.parent,
            tool_call=record.tool_call,
            model=record.model,
            current_tool=self.tool if running else "",
            current_target=self.target if running else "",
            requests=self.meter.total_requests,
            tool_count=self.tool_count,
            tokens=self.meter.tokens,
            cost=self.meter.cost,
            duration_ms=(now_ms() if running else ended_ms) - record.started_ms if record.started_ms else 0,
            waiting=self.waiting,
            quiet_ms=round((time.monotonic() - self.last_event_s) * 1000) if running else now_ms() - ended_ms,
            recent_output=self.recent,
            session_file=str(self.team.roster.log_path(record.id)),
        )


class AgentRules(Hooks):
    """Makes the next answer a yield if it must be one, and keeps isolated agents in their copies."""

    def __init__(self, agent: Subagent) -> None:
        self._agent = agent

    async def before_tool(self, question: ToolQuestion) -> str | None:
        """An isolated agent leaves the original alone, also where its permissions would allow more."""
        place = self._agent.workspace
        if place is None:
            return None
        for path in (*question.effects.writes, *question.effects.reads):
            if path.is_relative_to(place.original) and not path.is_relative_to(place.files):
                inner = path.relative_to(place.original)
                return f"You work in a copy of {place.original}; use {place.files / inner} instead."
        if question.effects.runs and _names(question.call.arguments, str(place.original)):
            return f"You work in a copy of {place.original}; use {place.files} or relative paths instead."
        return None

    async def before_request(self, request: Request) -> Request:
        if not self._agent.force_yield:
            return request
        return replace(request, tool_choice="yield")


def is_revivable(agent: Subagent) -> bool:
    """Not once the copy that it worked in is merged and gone."""
    return agent.workspace is None or agent.workspace.usable


def record_init(session: "Session", subagent: "SubagentOptions") -> None:
    """Log what a new agent was started with."""
    if not session.log.messages():
        record = subagent.team.roster.agents[subagent.id].record
        session.log.append(
            SessionInit(
                system_prompt=session.setup().system,
                task=record.assignment,
                tools=[tool.name for tool in session.tools],
                output_schema=record.output_schema or UNSET,
            )
        )


def _names(value: Any, folder: str) -> bool:
    """Whether a folder, or something in it, is named anywhere in these arguments."""
    if isinstance(value, str):
        return re.search(rf"{re.escape(folder)}(?![\w.-])", value) is not None
    if isinstance(value, dict):
        return any(_names(one, folder) for one in value.values())
    return isinstance(value, list) and any(_names(one, folder) for one in value)


def _absorb_cancel() -> None:
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


def _target(arguments: dict[str, Any]) -> str:
    """What a call works on, for a row: its first short text."""
    for name in ("path", "paths", "command", "pattern", "url", "query", "message"):
        value = arguments.get(name)
        if isinstance(value, list):
            value = ", ".join(str(one) for one in value[:3])
        if isinstance(value, str) and value.strip():
            return shortened(clean_line(value), 120)
    return ""


def _pretty(data: Any) -> str:
    try:
        return msgspec.json.format(msgspec.json.encode(data, enc_hook=str), indent=2).decode()
    except (TypeError, ValueError, RecursionError):
        return str(data)
