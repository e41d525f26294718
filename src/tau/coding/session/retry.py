"""Decides whether a failed request is sent again, and when. The one place that does."""

from tau.base.errors import ProviderError, TauError
from tau.base.late import late
from tau.config.settings import Retry

random = late("random")

LONGEST_BACKOFF_MS = 8_000


def retry_delay_ms(retry: Retry, attempt: int, error: TauError | None) -> int | None:
    """How long to wait before retry number `attempt` (from 1); None when it should not be sent again.

    If a server asks for a longer wait than `retry.max_delay_ms`, we give up at once with its message, rather
    than keep somebody waiting.
    """
    if not retry.enabled or attempt > retry.max_retries:
        return None
    if not isinstance(error, ProviderError) or not error.retryable or error.overflow:
        return None
    if error.retry_after is not None:
        asked = int(error.retry_after * 1000)
        return asked if asked <= retry.max_delay_ms else None
    backoff = min(retry.base_delay_ms * 2 ** (attempt - 1), LONGEST_BACKOFF_MS, retry.max_delay_ms)
    return int(backoff * random.uniform(0.75, 1.0))
