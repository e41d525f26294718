"""Runs the loop, and decides in one place what becomes of a run that failed.

A request that is too large needs room, one with a picture that is refused goes without it, one that failed
for a passing reason is sent again after a wait and then to another model; all else ends the run.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import UNSET
from msgspec.structs import replace

from tau.agent.abort import Abort, Aborted
from tau.agent.events import AgentEvent, MessageEnd, Notice, RetryEnd, RetryStart
from tau.agent.loop import Outcome, run
from tau.agent.owner import Owner
from tau.agent.queue import Prompt
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, TextContent, ThinkingContent, ToolResultMessage
from tau.base import log
from tau.base.errors import ProviderError, TauError
from tau.base.late import late
from tau.base.text import sentence
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import RetrySettings

if TYPE_CHECKING:
    from tau.coding.session.fallback import Fallbacks

# Most runs succeed and need none of these.
images = late("tau.coding.session.refused_images")
waits = late("tau.coding.session.retry")

MAX_COMPACTIONS = 4  # with no answer in between
MAX_EMPTY_RETRIES = 3
CUT_SHARE = 0.9  # of the output limit: an answer that was cut off below it found the window full

RoomReason = Literal["threshold", "overflow", "incomplete"]


class CompactContext(Protocol):
    """Compacts the conversation; True where it has become smaller. Aborted, it returns or raises Aborted."""

    def __call__(self, abort: Abort, /, *, reason: RoomReason) -> Awaitable[bool]: ...


class RunSupervisor:
    """One per session. `make_room` is the compaction; without one, what is too large fails.

    `fallbacks` is there where the user has set chains of models to fall back to.
    """

    def __init__(
        self, owner: Owner, history: SessionLog, retry: RetrySettings, model: Callable[[], Model]
    ) -> None:
        self._owner = owner
        self._history = history
        self._retry = retry
        self._model = model
        self._waiting: Abort | None = None
        self._attempt = 0  # retries since the last answer
        self._compactions = 0  # since the last answer
        self.fallbacks: Fallbacks | None = None
        self.make_room: CompactContext | None = None

    @property
    def waiting(self) -> bool:
        """Whether a failed request waits to be sent again."""
        return self._waiting is not None

    def cancel_wait(self) -> bool:
        """Do not wait any longer: the run ends with its failure. False where nothing waits."""
        if self._waiting is None:
            return False
        self._waiting.abort()
        return True

    def user_chose_model(self) -> None:
        """The user has named a model; there is none to return to."""
        if self.fallbacks is not None:
            self.fallbacks.user_chose()

    async def run(self, prompts: Sequence[Prompt], abort: Abort) -> Outcome:
        """Work on `prompts` until the model stops, or until nothing more can be done about a failure."""
        self._attempt = self._compactions = 0
        if prompts and self.fallbacks is not None:
            with suppress(Aborted):
                async with abort.scope():
                    await self.fallbacks.before_prompt()
        ended: Outcome | None = None
        try:
            outcome = await run(self._owner, prompts, abort)
            while (ended := await self._ended(outcome, abort)) is None:
                again = await run(self._owner, [], abort)
                outcome = replace(again, messages=[*outcome.messages, *again.messages])
        finally:
            if self._attempt:
                error = None if ended is None else ended.error
                self._emit(RetryEnd(False, self._attempt, UNSET if error is None else str(error)))
        return ended

    async def room(self, abort: Abort, reason: RoomReason) -> bool:
        """Ask for a smaller conversation; True where there is one. That this fails is no end of a run."""
        if self.make_room is None:
            return False
        try:
            return await self.make_room(abort, reason=reason)
        except TauError as error:
            log.error("A compaction failed.", error)
            self._emit(Notice("warning", f"The conversation could not be compacted: {error}"))
            return False

    def saw(self, event: AgentEvent) -> None:
        """Called with every event of the session: an answer puts an end to what was counted before it."""
        if not isinstance(event, MessageEnd) or not isinstance(event.message, AssistantMessage):
            return
        message = event.message
        if message.stop_reason in ("error", "aborted") or not has_content(message):
            return
        if message.stop_reason == "length" and not is_usable(message):
            return
        if self._attempt:
            self._emit(RetryEnd(True, self._attempt))
        self._attempt = self._compactions = 0
        if self.fallbacks is not None:
            self.fallbacks.answered()

    async def _ended(self, outcome: Outcome, abort: Abort) -> Outcome | None:
        """How it ended; None where it is to be run again."""
        try:
            return await self._judge(outcome, abort)
        except Aborted:
            return replace(outcome, aborted=True)

    async def _judge(self, outcome: Outcome, abort: Abort) -> Outcome | None:
        error = outcome.error
        if abort.aborted or outcome.aborted:
            return outcome
        if error is None:
            return await self._judge_answer(outcome, abort)
        if not isinstance(error, ProviderError):
            return outcome
        if error.overflow:
            return await self._overflowed(outcome, error, "overflow", abort)
        if error.media:
            notice = images.quarantine(self._history, self._model(), error)
            if notice is None:
                return outcome
            self._emit(notice)
            return None
        delay_ms = waits.retry_delay_ms(self._retry, self._attempt + 1, error)
        if delay_ms is not None:
            return None if await self._wait(self._retry.max_retries, delay_ms, str(error), abort) else outcome
        return await self._given_up(outcome, error, abort)

    async def _judge_answer(self, outcome: Outcome, abort: Abort) -> Outcome | None:
        """An answer that is no failure by itself, but of no use."""
        message = outcome.message
        if message is None:
            return outcome
        if message.stop_reason == "length" and self._window_was_full(message):
            error = ProviderError("The context window is full: the answer was cut off before it began.")
            return await self._overflowed(outcome, error, "incomplete", abort)
        if message.stop_reason != "stop" or has_content(message) or not self._retry.enabled:
            return outcome
        name = f"{message.provider}/{message.model}"
        if self._attempt < (most := min(MAX_EMPTY_RETRIES, self._retry.max_retries)):
            told = f"{name} sent an empty answer."
            delay_ms = waits.backoff_ms(self._retry, self._attempt + 1)
            return None if await self._wait(most, delay_ms, told, abort) else outcome
        if _follows_results(outcome):
            return outcome  # it had worked, and may have nothing to add
        error = ProviderError(
            f"{name} sent nothing but empty answers; ask again, or try another model.", retryable=True
        )
        return await self._given_up(replace(outcome, error=error), error, abort)

    async def _overflowed(
        self, outcome: Outcome, error: ProviderError, reason: RoomReason, abort: Abort
    ) -> Outcome | None:
        if self.make_room is None:
            return outcome
        if self._compactions < MAX_COMPACTIONS:
            self._compactions += 1
            if await self.room(abort, reason) and not abort.aborted:
                return None
        if abort.aborted:
            return replace(outcome, aborted=True)
        advice = (
            "The conversation could not be made small enough; "
            "start a new session, or use a model with a larger context window."
        )
        told = ProviderError(f"{sentence(str(error))} {advice}", status=error.status, overflow=True)
        return replace(outcome, error=told)

    async def _wait(self, most: int, delay_ms: int, why: str, abort: Abort) -> bool:
        """Wait for the next attempt; False where the user has had enough of waiting."""
        self._attempt += 1
        self._waiting = Abort()
        try:
            self._emit(RetryStart(self._attempt, most, delay_ms, why))
            async with abort.scope():
                await self._waiting.sleep(delay_ms / 1000)
        except Aborted:
            if abort.aborted:
                raise
            return False
        finally:
            self._waiting = None
        return True

    async def _given_up(self, outcome: Outcome, error: ProviderError, abort: Abort) -> Outcome | None:
        """This model cannot be had for now. Another one may answer in its place."""
        if not self._retry.enabled or not (error.retryable or error.quota):
            return outcome
        if waits.asks_too_much(self._retry, error):
            assert error.retry_after is not None
            self._emit(
                Notice(
                    "warning",
                    f"The server asks for a wait of {_spoken(error.retry_after)}; "
                    f"retry.maxDelayMs allows {_spoken(self._retry.max_delay_ms / 1000)}.",
                )
            )
        attempts, self._attempt = self._attempt, 0
        if attempts:
            self._emit(RetryEnd(False, attempts, str(error)))
        if self.fallbacks is None:
            return outcome
        async with abort.scope():
            return None if await self.fallbacks.apply(error) else outcome

    def _window_was_full(self, message: AssistantMessage) -> bool:
        """Cut off below the model's own output limit, and before anything was said."""
        usage = message.usage
        known = usage.input + usage.cache_read + usage.cache_write + usage.output > 0
        return known and not is_usable(message) and usage.output < self._model().max_tokens * CUT_SHARE

    def _emit(self, event: AgentEvent) -> None:
        self._owner.emit(event)


def has_content(message: AssistantMessage) -> bool:
    """Whether there is anything in it, if only thoughts."""
    return any(not isinstance(part, TextContent) or part.text.strip() for part in message.content)


def is_usable(message: AssistantMessage) -> bool:
    """Whether it has words or calls."""
    return bool(message.text.strip()) or any(
        not isinstance(part, (TextContent, ThinkingContent)) for part in message.content
    )


def _follows_results(outcome: Outcome) -> bool:
    for message in reversed(outcome.messages):
        if not isinstance(message, AssistantMessage) or has_content(message):
            return isinstance(message, ToolResultMessage)
    return False


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
