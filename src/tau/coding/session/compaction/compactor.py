"""Keeps a session's context within its model's window: decides when and how to compact."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.agent.abort import Abort, Aborted
from tau.agent.events import AgentEvent, Compacted, CompactionEnd, CompactionResult, CompactionStart, Notice
from tau.agent.hooks import Hooks
from tau.agent.loop_owner import Complete, Setup
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AppMessage, AssistantMessage, TextContent, ToolResultMessage, Usage
from tau.base import log as log_file
from tau.base.clock import now_ms
from tau.base.errors import NothingToDo, SessionError, TauError
from tau.base.late import late
from tau.coding.session.compaction.meter import ContextMeasurement, Meter
from tau.coding.session.compaction.trigger import (
    SMALLEST_ROOM_TOKENS,
    CompactionReason,
    CompactionTarget,
    CompactionTrigger,
)
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import CompactionSettings

if TYPE_CHECKING:
    from tau.coding.session.compaction.attempts import CompactionAction, CompactionEdits, CompactionInput
    from tau.coding.session.compaction.handoff import Handoff

handoffs = late("tau.coding.session.compaction.handoff")
stale_reads = late("tau.coding.session.compaction.stale_reads")
shake = late("tau.coding.session.compaction.shake")
stats = late("tau.coding.session.stats")
shrinking = late("tau.coding.session.compaction.attempts")
log_changes = late("tau.coding.session.compaction.log_changes")


class ContextUsage(Struct, frozen=True, rename="camel"):
    """How full the window is, for people."""

    tokens: int
    window: int
    percent: float


class Compactor:
    """`enabled` controls automatic compaction only; the user's own commands always work."""

    def __init__(
        self,
        *,
        log: SessionLog,
        settings: CompactionSettings,
        complete: Complete,
        setup: Callable[[], Setup],
        emit: Callable[[AgentEvent], None],
        hooks: Hooks,
    ) -> None:
        self.settings = settings
        self.enabled = settings.enabled
        self.running = False
        self._log = log
        self._complete = complete
        self._setup = setup
        self._emit = emit
        self._hooks = hooks
        self._meter = Meter(log)
        self._trigger = CompactionTrigger(settings)
        self._searched = 0  # items already searched for stale reads

    def usage(self) -> ContextUsage:
        setup = self._setup()
        reading = self._meter.read(setup)
        window = self._trigger.window(setup.model, reading)
        return ContextUsage(reading.tokens, window, round(100 * reading.tokens / max(window, 1), 1))

    async def make_room(self, abort: Abort, reason: CompactionReason = "threshold") -> bool:
        """Make the next request fit; True if the context got smaller.

        Called before each request, and with another reason after one that did not fit. Raises only
        SessionError: if nothing can be done, it says so once and lets the request proceed.
        """
        if self.running or not self.enabled:
            return False
        setup = self._setup()
        reading = self._meter.read(setup)
        target = self._trigger.find_target(reason, setup, reading)
        if target is None:
            return reason == "threshold" and self._drop_stale_reads(reading)
        return await self._automatic(reason, setup, reading, target, abort)

    async def idle(self, abort: Abort) -> bool:
        """Compact a long conversation while the user is idle, rather than in the next turn."""
        return self.settings.idle_enabled and await self.make_room(abort, "idle")

    async def compact(self, focus: str, abort: Abort) -> CompactionResult:
        """Summarize older messages at the user's request. Raises TauError or Aborted."""
        self._begin()
        try:
            setup = self._setup()
            reading = self._meter.read(setup)
            target = self._trigger.default_target(setup, reading)
            target = replace(target, must=reading.tokens > target.limit)
            job = self._job(setup, reading, target, focus=focus)
            job = replace(job, keep=min(job.keep, (reading.estimated - reading.frame) / 3))
            leaf = self._log.leaf
            async with abort.scope():
                if not job.items:
                    raise NothingToDo(shrinking.NOTHING)
                if not await self._hooks_allow(job.messages, automatic=False, focus=focus):
                    raise TauError("A hook refused the compaction.")
                changes = await shrinking.shrink(await self._advised(job))
            result = log_changes.write(self._log, changes, leaf)
        finally:
            self.running = False
        self._trigger.record_success(setup.model)
        if result is None:
            raise NothingToDo("There is nothing to summarize yet; only long messages were shortened.")
        await self._report(result, abort, automatic=False)
        return result

    def shake(self) -> int:
        """Drop large tool output, except of the latest calls, at the user's request; returns tokens saved."""
        self._begin()
        try:
            reading = self._meter.read(self._setup())
            messages = [item.message for item in reading.items]
            changed = shake.shake_messages(messages, reading.costs, protected_tokens=0, min_saved_tokens=0)
            if not changed:
                raise NothingToDo("There is no large tool output to drop.")
            return log_changes.replace_messages(self._log, reading, changed)
        finally:
            self.running = False

    async def handoff(self, focus: str, abort: Abort) -> "Handoff":
        """Write the document that starts a successor session; only its cost is logged. Raises TauError."""
        self._begin()
        try:
            setup = self._setup()
            reading = self._meter.read(setup)
            job = self._job(setup, reading, self._trigger.default_target(setup, reading), focus=focus)
            if not job.items:
                raise NothingToDo("There is nothing to hand off yet.")
            job = replace(job, complete=stats.record_costs(job.complete, self._log, "handoff"))
            async with abort.scope():
                return await handoffs.make_handoff(job, self._handoff_folder())
        finally:
            self.running = False

    def _begin(self) -> None:
        if self.running:
            raise TauError("A compaction is already running.")
        self.running = True

    def _handoff_folder(self) -> Path | None:
        return self._log.artifacts_folder if self.settings.handoff_save_to_disk else None

    def _job(
        self,
        setup: Setup,
        reading: ContextMeasurement,
        target: CompactionTarget,
        *,
        action: "CompactionAction" = "context-full",
        focus: str = "",
    ) -> "CompactionInput":
        return log_changes.make_job(
            self._log,
            self._complete,
            self.settings,
            setup,
            reading,
            target,
            action=action,
            focus=focus.strip(),
        )

    async def _automatic(
        self,
        reason: CompactionReason,
        setup: Setup,
        reading: ContextMeasurement,
        target: CompactionTarget,
        abort: Abort,
    ) -> bool:
        strategy = self.settings.strategy
        action: CompactionAction = "context-full"
        if strategy != "off" and not (strategy == "handoff" and reason == "overflow"):
            action = strategy
        self.running = True
        self._emit(CompactionStart(reason, action))
        end = CompactionEnd(action, None, True, False)  # emitted if we are cancelled
        result: CompactionResult | None = None
        try:
            leaf = self._log.leaf
            async with abort.scope():
                changes = await self._changes(reason, action, setup, reading, target)
            if changes is None:
                end = CompactionEnd(action, None, False, False, skipped=True)
                return False
            result = log_changes.write(self._log, changes, leaf)
            self._trigger.record_success(setup.model)
            end = CompactionEnd(action, result, False, reason in ("overflow", "incomplete"))
            return True
        except Aborted:
            return False
        except SessionError as error:
            end = CompactionEnd(action, None, False, False, str(error))
            raise
        except TauError as error:
            if self._trigger.record_failure(setup.model, reading, target):
                self._emit(Notice("warning", str(error), "compaction"))
            end = CompactionEnd(action, None, False, False, str(error))
            return False
        finally:
            self.running = False
            self._emit(end)
            if result is not None:
                await self._report(result, abort, automatic=True)

    async def _changes(
        self,
        reason: CompactionReason,
        action: "CompactionAction",
        setup: Setup,
        reading: ContextMeasurement,
        target: CompactionTarget,
    ) -> "CompactionEdits | None":
        """What to write; None if a hook refuses. After an overflow, a refusal only skips the summary."""
        frame = int(reading.frame * target.ratio)
        if target.window - frame < SMALLEST_ROOM_TOKENS:
            raise TauError(
                f"The prompt and the tools alone take about {frame} of the {target.window} tokens of "
                f"{setup.model.key}; use a model with a larger window, or fewer tools."
            )
        job = self._job(setup, reading, target, action=action)
        if not await self._hooks_allow(job.messages):
            if reason != "overflow":
                return None
            job = replace(job, ask_model=False)
        changes = await shrinking.shrink(await self._advised(job))
        folder = self._handoff_folder() if action == "handoff" else None
        if folder is not None and changes.entry is not None:
            handoffs.save(changes.entry.summary, folder)
        return changes

    async def _report(self, result: CompactionResult, abort: Abort, *, automatic: bool) -> None:
        self._emit(Compacted(result.summary, result.tokens_before, result.tokens_after, automatic or UNSET))
        try:
            async with abort.scope():
                await self._hooks.after_compact(result.summary, automatic=automatic)
                await self._hooks.session_start("compact")
        except Aborted:
            pass  # the summary is recorded
        except Exception as error:
            log_file.error("A hook failed after a compaction.", error)

    async def _hooks_allow(
        self, messages: list[AppMessage], *, automatic: bool = True, focus: str = ""
    ) -> bool:
        try:
            return await self._hooks.before_compact(messages, automatic=automatic, focus=focus)
        except TauError:
            raise
        except Exception as error:  # a broken hook must not cost the user the session
            log_file.error("A hook failed before a compaction.", error)
            return True

    async def _advised(self, job: "CompactionInput") -> "CompactionInput":
        """The job with what hooks add: their own summary, or what to pay attention to."""
        try:
            advice = await self._hooks.compaction_advice(job.messages)
        except Exception as error:
            log_file.error("A hook failed before a compaction.", error)
            return job
        if advice.summary:
            return replace(job, complete=partial(_ready_answer, advice.summary))
        return replace(job, focus="\n".join(text for text in (job.focus, advice.focus) if text))

    def _drop_stale_reads(self, reading: ContextMeasurement) -> bool:
        """Replace reads made obsolete by newer ones, if the server's cache loses little by it."""
        seen, self._searched = self._searched, len(reading.items)
        if not self.settings.supersede_reads or self.settings.strategy == "off":
            return False
        new = [item.message for item in reading.items[seen:]]
        if not any(isinstance(message, ToolResultMessage) and message.tool_name == "read" for message in new):
            return False
        stale = stale_reads.recent_stale_reads(reading.items, reading.costs, self._log.header.cwd)
        return bool(stale) and log_changes.replace_messages(self._log, reading, stale) > 0


async def _ready_answer(text: str, model: Model, request: Request) -> AssistantMessage:
    return AssistantMessage(
        [TextContent(text)], model.api, model.provider, model.id, Usage(), "stop", now_ms()
    )
