"""Reset times without a zone are the provider's own, not those of this machine."""

import time

import pytest

from tau.ai.apis.error_response import error_from_status
from tau.ai.apis.retry_after import delay_until, find_reset_time

NOW = 1_780_000_000.0  # 2026-05-28 20:26:40 UTC


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user sits in another zone."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()


@pytest.mark.parametrize(
    ("text", "offset_h", "delay_s"),
    [
        ("2026-05-28 20:27:40", 0, 60),
        ("2026-05-29 04:27:40", 8, 60),
        ("2026-05-29T04:27:40", 8, 60),
        ("2026-05-28T20:27:40Z", 8, 60),
        ("2026-05-28 20:27:40 UTC", 8, 60),
        ("2026-05-29 04:27:40+08:00", 0, 60),
        ("2026-05-28 20:00:00", 0, 0),
        ("2026-05-28 20:28", 0, 80),
    ],
)
def test_time_without_a_zone_is_the_providers(text: str, offset_h: float, delay_s: float) -> None:
    assert delay_until(text, NOW, offset_h) == delay_s


def test_wait_for_a_plan_ended_eight_hours_late() -> None:
    body = b'{"error": {"code": "1308", "message": "Your limit will reset at 2026-05-29 04:27:40"}}'
    error = error_from_status(429, {}, body, now=NOW, provider="zai", utc_offset_h=8)
    assert error.retry_after == 60


def test_reset_time_is_found_in_a_sentence() -> None:
    assert find_reset_time("Your limit will reset at 2026-05-29 04:27:40.") == "2026-05-29 04:27:40"
    assert find_reset_time("请在 2026-05-29 04:27:40 后重试") == "2026-05-29 04:27:40"
    assert find_reset_time("Created at 2026-05-29 04:27:40 by someone") == ""


def test_request_id_is_shown_to_the_user() -> None:
    error = error_from_status(500, {"x-request-id": "req_1\x1b[2J"}, b"{}", now=NOW, provider="p")
    assert str(error).endswith(" (request req_1).")
    assert "request" not in str(error_from_status(500, {}, b"{}", now=NOW, provider="p"))
