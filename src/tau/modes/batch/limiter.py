"""Limits that all workers share, one set for each provider: concurrency, requests and tokens a minute."""

from collections import deque

from msgspec import Struct

WINDOW_S = 60.0
_STEADY_ROUNDS = 10  # rounds without a refusal before trying more than what was refused


class RateLimits(Struct, frozen=True):
    """None: unlimited."""

    concurrency: int | None = None
    requests_a_minute: int | None = None
    tokens_a_minute: int | None = None


UNLIMITED = RateLimits()


class Limiter:
    """For one provider and its credential. A refusal stops new starts until the server's time.

    It also halves the concurrency, which then grows by one for each success up to where it was refused,
    and carefully beyond. Times are seconds of any clock that only grows.
    """

    def __init__(self, jobs: int, limits: RateLimits = UNLIMITED) -> None:
        self._limits = limits
        self._most = min(jobs, limits.concurrency or jobs)
        self.concurrency = float(self._most)
        self.running = 0
        self.paused_until = 0.0
        self._ceiling = float(self._most)
        self._good = 0
        self._requests: deque[tuple[float, int]] = deque()
        self._tokens: deque[tuple[float, int]] = deque()

    def free_at(self, now: float) -> float | None:
        """When another task may start: `now` or later; None if one has to end first."""
        if self.running >= int(self.concurrency):
            return None
        return max(
            now,
            self.paused_until,
            _below(self._requests, self._limits.requests_a_minute, now),
            _below(self._tokens, self._limits.tokens_a_minute, now),
        )

    def started(self) -> None:
        self.running += 1

    def ended(self, *, success: bool) -> None:
        self.running -= 1
        if not success:
            return
        if self.concurrency < self._ceiling:
            self.concurrency = min(self._ceiling, self.concurrency + 1)
        elif self._ceiling < self._most:
            self._good += 1
            if self._good >= _STEADY_ROUNDS * self._ceiling:
                self._good = 0
                self._ceiling = min(self._most, self._ceiling + 1)

    def used(self, now: float, requests: int, tokens: int) -> None:
        self._requests.append((now, requests))
        self._tokens.append((now, tokens))

    def refused(self, now: float, retry_after_s: float) -> None:
        """A 429 or an overload. Those that come while all wait anyway are the same event."""
        if now >= self.paused_until:
            self._good = 0
            self._ceiling = max(1.0, min(self.concurrency, self.running) - 1)
            self.concurrency = max(1.0, min(self.concurrency, self.running) // 2)
        self.paused_until = max(self.paused_until, now + retry_after_s)


def _below(events: deque[tuple[float, int]], limit: int | None, now: float) -> float:
    """When the sum of the last minute is below the limit."""
    while events and events[0][0] <= now - WINDOW_S:
        events.popleft()
    if limit is None or (total := sum(count for _, count in events)) < limit:
        return now
    for at, count in events:
        total -= count
        if total < limit:
            return at + WINDOW_S
    return now
