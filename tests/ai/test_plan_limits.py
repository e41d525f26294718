"""Rate-limit headers of every vendor become one struct."""

from hypothesis import given
from hypothesis import strategies as st

from tau.ai.plan_limits import PlanLimit, PlanLimits, read_limits

NOW_MS = 1_780_000_000_000
HOUR_MS = 3_600_000


def test_anthropic_plan_windows() -> None:
    headers = {
        "anthropic-ratelimit-unified-status": "allowed",
        "anthropic-ratelimit-unified-5h-utilization": "0.82",
        "anthropic-ratelimit-unified-5h-reset": str(NOW_MS // 1000 + 3600),
        "anthropic-ratelimit-unified-7d-utilization": "0.4",
        "anthropic-ratelimit-unified-7d-reset": str(NOW_MS // 1000 + 86400),
        "anthropic-ratelimit-unified-reset": str(NOW_MS // 1000 + 86400),
    }
    assert read_limits(headers, NOW_MS) == (
        PlanLimit("5 hours", 82.0, NOW_MS + HOUR_MS),
        PlanLimit("7 days", 40.0, NOW_MS + 24 * HOUR_MS),
    )


def test_anthropic_key_limits() -> None:
    headers = {
        "anthropic-ratelimit-input-tokens-limit": "40000",
        "anthropic-ratelimit-input-tokens-remaining": "10000",
        "anthropic-ratelimit-input-tokens-reset": "2026-05-28T20:27:20Z",
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
    }
    limits = read_limits(headers, NOW_MS)
    assert [(limit.name, limit.used_percent) for limit in limits] == [
        ("input tokens", 75.0),
        ("requests", 2.0),
    ]
    assert limits[0].resets_at == NOW_MS + 40_000


def test_openai_limits() -> None:
    headers = {
        "x-ratelimit-limit-requests": "100",
        "x-ratelimit-remaining-requests": "25",
        "x-ratelimit-reset-requests": "6m0s",
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "1000",
    }
    assert read_limits(headers, NOW_MS) == (
        PlanLimit("requests", 75.0, NOW_MS + 360_000),
        PlanLimit("tokens", 0.0),
    )


def test_codex_windows() -> None:
    headers = {
        "x-codex-primary-used-percent": "91.5",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(NOW_MS // 1000 + 3600),
        "x-codex-secondary-used-percent": "12",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-after-seconds": "7200",
    }
    assert read_limits(headers, NOW_MS) == (
        PlanLimit("5 hours", 91.5, NOW_MS + HOUR_MS),
        PlanLimit("7 days", 12.0, NOW_MS + 2 * HOUR_MS),
    )


def test_limits_without_a_name() -> None:
    headers = {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "5", "x-ratelimit-reset-ms": "1500"}
    assert read_limits(headers, NOW_MS) == (PlanLimit("requests", 75.0, NOW_MS + 1500),)


def test_limit_that_was_reset_is_not_the_worst() -> None:
    known = PlanLimits(
        "p", "", NOW_MS, (PlanLimit("a", 99, NOW_MS + 1), PlanLimit("b", 80, NOW_MS + HOUR_MS))
    )
    assert known.worst(NOW_MS) == known.limits[0]
    assert known.worst(NOW_MS + 2) == known.limits[1]
    assert known.worst(NOW_MS + 2 * HOUR_MS) is None


NAMES = st.sampled_from(
    [
        *(
            f"x-ratelimit-{field}{name}"
            for field in ("limit", "remaining", "reset")
            for name in ("", "-x", "-ms")
        ),
        *(f"x-codex-primary-{field}" for field in ("used-percent", "window-minutes", "reset-at")),
        *(f"anthropic-ratelimit-unified-5h-{field}" for field in ("utilization", "reset")),
        *(f"anthropic-ratelimit-tokens-{field}" for field in ("limit", "remaining", "reset")),
    ]
)
VALUES = st.one_of(st.text(max_size=12), st.floats().map(str), st.integers().map(str))


@given(st.dictionaries(NAMES, VALUES))
def test_no_header_breaks_an_answer(headers: dict[str, str]) -> None:
    for limit in read_limits(headers, NOW_MS):
        assert 0 <= limit.used_percent <= 100
        assert limit.resets_at >= 0
