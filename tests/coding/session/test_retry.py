"""Waits between attempts: how long, and when there is none."""

import pytest

from tau.base.errors import ProviderError
from tau.coding.session.retry import LONGEST_BACKOFF_MS, backoff_ms, exceeds_max_delay, retry_delay_ms
from tau.config.settings import RetrySettings

RETRY = RetrySettings()


def busy(retry_after: float | None = None) -> ProviderError:
    return ProviderError("busy", retryable=True, retry_after=retry_after)


@pytest.mark.parametrize(("attempt", "longest"), [(1, 500), (2, 1000), (4, 4000), (5, 8000), (10, 8000)])
def test_each_wait_doubles_with_jitter_up_to_a_limit(attempt: int, longest: int) -> None:
    waits = [retry_delay_ms(RETRY, attempt, busy()) for _ in range(200)]
    assert all(wait is not None and longest * 0.75 - 1 <= wait <= longest for wait in waits)
    assert len(set(waits)) > 5


def test_many_attempts_do_not_overflow() -> None:
    assert backoff_ms(RetrySettings(max_retries=100), 100) <= LONGEST_BACKOFF_MS


def test_server_delay_is_used_and_later_the_longer_of_both() -> None:
    assert retry_delay_ms(RETRY, 1, busy(0.02)) == 20
    assert retry_delay_ms(RETRY, 1, busy(20)) == 20_000
    assert retry_delay_ms(RETRY, 3, busy(20)) == 20_000
    wait = retry_delay_ms(RETRY, 5, busy(0.02))
    assert wait is not None and wait >= 6_000
    at_once = retry_delay_ms(RETRY, 1, busy(0))
    assert at_once is not None and at_once >= 374


def test_excessive_wait_is_refused() -> None:
    assert retry_delay_ms(RETRY, 1, busy(300)) == 300_000
    assert retry_delay_ms(RETRY, 1, busy(300.1)) is None
    assert exceeds_max_delay(RETRY, busy(301)) and not exceeds_max_delay(RETRY, busy())


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("no such model", status=404),
        ProviderError("too long", retryable=True, overflow=True),
        ProviderError("used up for today", retryable=True, quota=True),
    ],
)
def test_permanent_failure_is_not_retried(error: ProviderError) -> None:
    assert retry_delay_ms(RETRY, 1, error) is None


def test_retries_are_configurable() -> None:
    assert retry_delay_ms(RetrySettings(enabled=False), 1, busy()) is None
    assert retry_delay_ms(RetrySettings(max_retries=0), 1, busy()) is None
    assert retry_delay_ms(RetrySettings(max_retries=1), 2, busy()) is None
    assert retry_delay_ms(RetrySettings(max_delay_ms=10), 9, busy()) in range(7, 11)
