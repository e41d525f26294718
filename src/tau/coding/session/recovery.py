"""Decides in one place how to recover from a failed run.

A request that asks for too long an answer is sent again asking for less, one that is too large is compacted,
one with a refused image or refused reasoning is sent without it, one that a rule interrupted is repeated
under that rule, one that failed for a transient reason is
retried after a delay and then sent to a fallback model; any other failure ends the run.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.agent.abort import Abort, Aborted
from tau.agent.events import AgentEvent, MessageEnd, Notice, RetryEnd, RetryStart
from tau.agent.loop import Outcome
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, TextContent, ThinkingContent, ToolResultMessage
from tau.base import log as log_file
from tau.base.errors import ProviderError, StreamInterrupted, TauError
from tau.base.late import late
from tau.base.text import sentence
from tau.coding.session.answer_limits import AnswerLimits
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import RetrySettings

if TYPE_CHECKING:
    from tau.coding.rules.stream_rules import StreamRules
    from tau.coding.session.fallback import Fallbacks

# Most runs succeed and need none of these.
images = late("tau.coding.session.refused_images")
reasoning = late("tau.coding.session.refused_reasoning")
retry = late("tau.coding.session.retry")

MAX_COMPACTIONS = 4  # without an answer in between
MAX_EMPTY_RETRIES = 3
MAX_LOWERED = 4  # without an answer in between
CUT_SHARE = 0.9  # of the output limit: an answer truncated below this share filled the window

RoomReason = Literal["threshold", "overflow", "incomplete"]
# Compacts the conversation; True if it got smaller. On an abort it returns or raises Aborted.
CompactContext = Callable[[Abort, RoomReason], Awaitable[bool]]


class RunRecovery(Struct, kw_only=True):
    """One per session. Without `compact`, a request that is too large fails.

    `fallbacks` is set if the user has configured fallback chains.
    """

    log: SessionLog
    settings: RetrySettings
    model: Callable[[], Model]
    limits: AnswerLimits
    emit: Callable[[AgentEvent], None]
    compact: CompactContext | None
    fallbacks: "Fallbacks | None"
    rules: "StreamRules | None" = None
    _waiting: Abort | None = None
    _attempt: int = 0  # retries since the last answer
    _compactions: int = 0  # since the last answer
    _lowered: int = 0  # how often the answer limit was lowered since the last answer
    _limit_raised: bool = False  # after the last answer

    @property
    def waiting(self) -> bool:
        """Whether a failed request is waiting to be retried."""
        return self._waiting is not None

    def cancel_wait(self) -> bool:
        """Stop waiting, so that the run ends with its failure. False if nothing is waiting."""
        if self._waiting is None:
            return False
        self._waiting.abort()
        return True

    def on_model_chosen(self) -> None:
        """Stay on the model that the user chose, rather than return to an earlier one."""
        if self.fallbacks is not None:
            self.fallbacks.on_model_chosen()

    async def begin(self, abort: Abort, *, new_prompt: bool) -> None:
        """Reset the counters; before a new prompt, return to the first model if it is usable again."""
        self._attempt = self._compactions = self._lowered = 0
        if new_prompt and self.rules is not None:
            self.rules.begin_prompt()
        if new_prompt and self.fallbacks is not None:
            with suppress(Aborted):
                async with abort.scope():
                    await self.fallbacks.before_prompt()

    async def recover(
        self, outcome: Outcome, rerun: Callable[[Abort], Awaitable[Outcome]], abort: Abort
    ) -> Outcome:
        """Rerun the loop until it succeeds or its failure is final."""
        final: Outcome | None = None
        try:
            while (final := await self._finish_or_retry(outcome, abort)) is None:
                again = await rerun(abort)
                outcome = replace(again, messages=[*outcome.messages, *again.messages])
        finally:
            if self._attempt:
                error = None if final is None else final.error
                self.emit(RetryEnd(False, self._attempt, UNSET if error is None else str(error)))
        return final

    async def make_room(self, abort: Abort, reason: RoomReason) -> bool:
        """Compact if needed; True if the conversation got smaller. A failure does not end the run."""
        if self.compact is None:
            return False
        try:
            return await self.compact(abort, reason)
        except TauError as error:
            log_file.error("A compaction failed.", error)
            self.emit(Notice("warning", f"The conversation could not be compacted: {error}"))
            return False

    def observe(self, event: AgentEvent) -> None:
        """Reset the counters when the model answers."""
        if not isinstance(event, MessageEnd) or not isinstance(event.message, AssistantMessage):
            return
        message = event.message
        self._limit_raised = False
        if message.stop_reason in ("error", "aborted"):
            return
        if message.stop_reason == "length":
            self._limit_raised = self._limit_reached(message) and self.limits.raise_after_cut(self.model())
        if not has_content(message) or (message.stop_reason == "length" and not is_usable(message)):
            return
        if self._attempt:
            self.emit(RetryEnd(True, self._attempt))
        self._attempt = self._compactions = self._lowered = 0
        self.limits.on_answer(self.model())
        if self.fallbacks is not None:
            self.fallbacks.on_answer()

    async def _finish_or_retry(self, outcome: Outcome, abort: Abort) -> Outcome | None:
        """The final outcome, or None to run the loop again."""
        try:
            return await self._decide(outcome, abort)
        except Aborted:
            return replace(outcome, aborted=True)

    async def _decide(self, outcome: Outcome, abort: Abort) -> Outcome | None:
        error = outcome.error
        if abort.aborted:
            return outcome
        if error is None:
            return await self._decide_on_answer(outcome, abort)
        if isinstance(error, StreamInterrupted) and self.rules is not None:
            await self.rules.prepare_retry(abort)
            return None
        if not isinstance(error, ProviderError):
            return outcome
        if self._lowered < MAX_LOWERED and self.limits.lower(self.model(), error):
            self._lowered += 1
            limit = self.limits.limit(self.model())
            self.emit(Notice("info", f"The server allows answers of {limit:,} tokens here; asking again."))
            return None
        if error.overflow:
            return await self._compact_and_retry(outcome, error, "overflow", abort)
        if error.media or error.kind == "staleReasoning":
            remove = images.remove_refused_images if error.media else reasoning.remove_refused_reasoning
            notice = remove(self.log, self.model(), error)
            if notice is None:
                return outcome
            self.emit(notice)
            return None
        delay_ms = retry.retry_delay_ms(self.settings, self._attempt + 1, error)
        if delay_ms is not None:
            return (
                None if await self._wait(self.settings.max_retries, delay_ms, str(error), abort) else outcome
            )
        return await self._fall_back(outcome, error, abort)

    async def _decide_on_answer(self, outcome: Outcome, abort: Abort) -> Outcome | None:
        """Detect answers that are empty or were truncated by a full window."""
        message = outcome.message
        if message is None:
            return outcome
        if self._limit_raised and not is_usable(message):
            return None  # it was all thinking: ask again with more room
        if message.stop_reason == "length" and self._window_was_full(message):
            error = ProviderError("The context window is full: the answer was cut off before it started.")
            return await self._compact_and_retry(outcome, error, "incomplete", abort)
        if message.stop_reason != "stop" or has_content(message) or not self.settings.enabled:
            return outcome
        name = f"{message.provider}/{message.model}"
        if self._attempt < (most := min(MAX_EMPTY_RETRIES, self.settings.max_retries)):
            reason = f"{name} returned an empty response."
            delay_ms = retry.backoff_ms(self.settings, self._attempt + 1)
            return None if await self._wait(most, delay_ms, reason, abort) else outcome
        if _follows_results(outcome):
            return outcome  # after tool calls, the model may have nothing to add
        error = ProviderError(
            f"{name} returned only empty responses; try again, or use another model.", retryable=True
        )
        return await self._fall_back(replace(outcome, error=error), error, abort)

    async def _compact_and_retry(
        self, outcome: Outcome, error: ProviderError, reason: RoomReason, abort: Abort
    ) -> Outcome | None:
        if self.compact is None:
            return outcome
        if self._compactions < MAX_COMPACTIONS:
            self._compactions += 1
            if await self.make_room(abort, reason) and not abort.aborted:
                return None
        if abort.aborted:
            return replace(outcome, aborted=True)
        advice = (
            "The conversation could not be made small enough; "
            "start a new session, or use a model with a larger context window."
        )
        advised = ProviderError(f"{sentence(str(error))} {advice}", status=error.status, overflow=True)
        return replace(outcome, error=advised)

    async def _wait(self, most: int, delay_ms: int, why: str, abort: Abort) -> bool:
        """Wait before the next attempt; False if the user cancels the wait."""
        self._attempt += 1
        self._waiting = Abort()
        try:
            self.emit(RetryStart(self._attempt, most, delay_ms, why))
            async with abort.scope():
                await self._waiting.sleep(delay_ms / 1000)
        except Aborted:
            if abort.aborted:
                raise
            return False
        finally:
            self._waiting = None
        return True

    async def _fall_back(self, outcome: Outcome, error: ProviderError, abort: Abort) -> Outcome | None:
        """Switch to a fallback model, if there is one."""
        if not self.settings.enabled or not (error.retryable or error.quota):
            return outcome
        if retry.exceeds_max_delay(self.settings, error):
            assert error.retry_after is not None
            self.emit(
                Notice(
                    "warning",
                    f"The server asks for a delay of {_format_duration(error.retry_after)}; "
                    f"retry.maxDelayMs allows {_format_duration(self.settings.max_delay_ms / 1000)}.",
                )
            )
        attempts, self._attempt = self._attempt, 0
        if attempts:
            self.emit(RetryEnd(False, attempts, str(error)))
        if self.fallbacks is None:
            return outcome
        async with abort.scope():
            return None if await self.fallbacks.apply(error) else outcome

    def _window_was_full(self, message: AssistantMessage) -> bool:
        """Whether the answer was cut off below the model's output limit, before any text or call."""
        usage = message.usage
        known = usage.input + usage.cache_read + usage.cache_write + usage.output > 0
        return known and not is_usable(message) and not self._limit_reached(message)

    def _limit_reached(self, message: AssistantMessage) -> bool:
        return message.usage.output >= self.limits.limit(self.model()) * CUT_SHARE


def has_content(message: AssistantMessage) -> bool:
    """Whether it has any content, including thinking."""
    return any(not isinstance(part, TextContent) or part.text.strip() for part in message.content)


def is_usable(message: AssistantMessage) -> bool:
    """Whether it has text or tool calls."""
    return bool(message.text.strip()) or any(
        not isinstance(part, (TextContent, ThinkingContent)) for part in message.content
    )


def _follows_results(outcome: Outcome) -> bool:
    for message in reversed(outcome.messages):
        if not isinstance(message, AssistantMessage) or has_content(message):
            return isinstance(message, ToolResultMessage)
    return False


def _format_duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
