"""How long to wait before a failed request is sent again, and whether to wait at all."""

from tau.ai.wire import AssistantMessage, ToolResultMessage, UserMessage
from tau.base.errors import NothingToDo, ProviderError
from tau.base.late import late
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import RetrySettings

_TOLD = (UserMessage, AssistantMessage, ToolResultMessage)


def rewind_failed_turn(log: SessionLog) -> bool:
    """Stand where the last request was sent from; True if half an answer was left behind for that.

    An answer that failed is not sent along, so it may stay; most models would go on with half a one, rather
    than begin anew. Raises NothingToDo where nothing was sent yet, or where the last answer is complete.
    """
    items = log.context().items
    last = next((item for item in reversed(items) if isinstance(item.message, _TOLD)), None)
    if last is None:
        raise NothingToDo("There is nothing to send again yet.")
    if not isinstance(last.message, AssistantMessage):
        return False
    if last.message.stop_reason not in ("error", "aborted"):
        raise NothingToDo("The last answer is complete; there is nothing to send again.")
    node = log.node(last.id)
    if last.message.stop_reason == "error" or last is not items[-1] or node is None:
        return False
    log.move(node.parent_id)
    return True


random = late("random")

LONGEST_BACKOFF_MS = 8_000


def retry_delay_ms(retry: RetrySettings, attempt: int, error: ProviderError) -> int | None:
    """How long to wait before retry number `attempt` (from 1); None when it should not be sent again.

    If a server asks for a longer wait than `retry.max_delay_ms`, we give up at once with its message, rather
    than keep somebody waiting. A server whose own figure has not helped gets the longer of both waits.
    """
    if not retry.enabled or attempt > retry.max_retries:
        return None
    if not error.retryable or error.overflow or error.quota or asks_too_much(retry, error):
        return None
    asked_ms = int((error.retry_after or 0) * 1000)
    return asked_ms if asked_ms and attempt == 1 else max(asked_ms, backoff_ms(retry, attempt))


def asks_too_much(retry: RetrySettings, error: ProviderError) -> bool:
    return error.retry_after is not None and error.retry_after * 1000 > retry.max_delay_ms


def backoff_ms(retry: RetrySettings, attempt: int) -> int:
    """Doubled each time, and a little different for each of many clients that failed at the same moment."""
    doubled = retry.base_delay_ms * 2 ** min(attempt - 1, 20)
    return int(min(doubled, LONGEST_BACKOFF_MS, retry.max_delay_ms) * random.uniform(0.75, 1.0))
