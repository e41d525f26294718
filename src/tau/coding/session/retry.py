"""Retries of failed requests: from where in the log, whether, and after what delay."""

from tau.ai.wire import AssistantMessage, ToolResultMessage, UserMessage
from tau.base.errors import NothingToDo, ProviderError
from tau.base.late import late
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import RetrySettings

_TURN_MESSAGES = (UserMessage, AssistantMessage, ToolResultMessage)


def rewind_failed_turn(log: SessionLog) -> bool:
    """Move to where the last request was sent from; True if a partial answer was left behind.

    A failed answer is never sent, so it may stay; a partial one may not, because most models would continue
    it instead of starting over. Raises NothingToDo if nothing was sent yet or the last answer is complete.
    """
    items = log.context().items
    last = next((item for item in reversed(items) if isinstance(item.message, _TURN_MESSAGES)), None)
    if last is None:
        raise NothingToDo("There is nothing to retry yet.")
    if not isinstance(last.message, AssistantMessage):
        return False
    if last.message.stop_reason not in ("error", "aborted"):
        if last.message.tool_calls:  # tau was killed while they ran
            return False
        raise NothingToDo("The last answer is complete; there is nothing to retry.")
    node = log.node(last.id)
    if last.message.stop_reason == "error" or last is not items[-1] or node is None:
        return False
    log.move(node.parent_id)
    return True


random = late("random")

LONGEST_BACKOFF_MS = 8_000


def retry_delay_ms(retry: RetrySettings, attempt: int, error: ProviderError) -> int | None:
    """The delay before retry number `attempt` (from 1); None if the request should not be retried.

    If a server asks for more than `retry.max_delay_ms`, fail at once with its message. If its own delay has
    not helped, use the longer of its delay and ours.
    """
    if not retry.enabled or attempt > retry.max_retries:
        return None
    if not error.retryable or error.overflow or error.quota or exceeds_max_delay(retry, error):
        return None
    requested_ms = int((error.retry_after or 0) * 1000)
    return requested_ms if requested_ms and attempt == 1 else max(requested_ms, backoff_ms(retry, attempt))


def exceeds_max_delay(retry: RetrySettings, error: ProviderError) -> bool:
    return error.retry_after is not None and error.retry_after * 1000 > retry.max_delay_ms


def backoff_ms(retry: RetrySettings, attempt: int) -> int:
    """Double the delay each time, with jitter to spread out clients that failed at the same moment."""
    doubled = retry.base_delay_ms * 2 ** min(attempt - 1, 20)
    return int(min(doubled, LONGEST_BACKOFF_MS, retry.max_delay_ms) * random.uniform(0.75, 1.0))
