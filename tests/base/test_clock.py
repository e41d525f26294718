"""Timestamps of the session format."""

from datetime import UTC, datetime
from itertools import product

import pytest

from tau.base.clock import from_iso, iso, now_ms


def test_time_round_trips_and_matches_the_calendar() -> None:
    for year, month, day in product((1970, 1999, 2000, 2024, 2100, 2400), range(1, 13), (1, 28)):
        text = f"{year}-{month:02}-{day:02}T23:58:59.987Z"
        ms = round(datetime(year, month, day, 23, 58, 59, 987_000, tzinfo=UTC).timestamp() * 1000)
        assert (from_iso(text), iso(ms)) == (ms, text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T00:00:00.123456Z", 123),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_any_fraction_is_parsed_and_an_invalid_time_is_zero(text: str, ms: int) -> None:
    assert from_iso(text) == ms


def test_now_is_in_milliseconds() -> None:
    assert abs(now_ms() - datetime.now(UTC).timestamp() * 1000) < 60_000
