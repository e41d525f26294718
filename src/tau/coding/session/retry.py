"""Decides whether a failed request is sent again, and when. The one place that does."""

from msgspec import Struct

from tau.base.errors import ProviderError, TauError
from tau.base.late import late

random = late("random")

LONGEST_BACKOFF_MS = 8_000


class RetryPolicy(Struct, frozen=True, kw_only=True):
    enabled: bool = True
    max_retries: int = 10
    base_delay_ms: int = 500
    max_delay_ms: int = 300_000

    def delay_ms(self, attempt: int, error: TauError | None) -> int | None:
        """How long to wait before retry number `attempt` (from 1); None when it should not be sent again.

        A server that asks for more patience than `max_delay_ms` is taken at its word: we give up now, with
        its sentence, rather than keep somebody waiting.
        """
        if not self.enabled or attempt > self.max_retries:
            return None
        if not isinstance(error, ProviderError) or not error.retryable or error.overflow:
            return None
        if error.retry_after is not None:
            asked = int(error.retry_after * 1000)
            return asked if asked <= self.max_delay_ms else None
        backoff = min(self.base_delay_ms * 2 ** (attempt - 1), LONGEST_BACKOFF_MS, self.max_delay_ms)
        return int(backoff * random.uniform(0.75, 1.0))
