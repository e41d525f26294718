"""Parses the delay a server asks for, from its headers and its error."""

import re
from collections.abc import Mapping

from tau.base.late import late

datetime = late("datetime")
email_utils = late("email.utils")

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AMOUNT = r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?|d|days?)(?![a-z])"
_STEP = re.compile(_AMOUNT, re.I)
_IN_TEXT = re.compile(
    r"(?:try again|retry(?:ing)?|retry[ -]?(?:after|delay)|wait|resets?)"
    r"(?: at least| for| in| after|:| is)*\s+"
    rf"((?:{_AMOUNT}[\s,and]*)+)",
    re.I,
)
_TIME = r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?)"
_RESET_TIME = re.compile(rf"(?:reset|available|again|renew)[^.\d]{{0,30}}{_TIME}|{_TIME}\s*(?:重置|后)", re.I)
_FIELDS = {"retry_after_ms": 0.001, "retry_after": 1.0, "retryAfter": 1.0, "resets_in_seconds": 1.0}
_RESET = re.compile(r"(?:x-ratelimit|anthropic-ratelimit)-(?:reset(?:-(?P<after>.+))?|(?P<before>.+)-reset)")


def seconds(
    headers: Mapping[str, str],
    error_delay_s: float | None,
    *,
    now: float,
    reset_time: str = "",
    utc_offset_h: float = 0,
) -> float | None:
    """The requested delay in seconds from `now`; None if there is none.

    `reset_time` is the time that the error names. A time without a zone is one of `utc_offset_h`.

    If the header and the error disagree, the shorter delay wins: a server that means the longer one asks
    again. A delay of zero is ignored if there is another.
    """
    now = _server_time(headers, now)
    named = (
        delay_until(reset_time, now, utc_offset_h) if reset_time and error_delay_s is None else error_delay_s
    )
    delays = [wait for wait in (_explicit(headers, now), named) if wait is not None]
    if delays:
        return min((wait for wait in delays if wait > 0), default=0.0)
    return _reset(headers, now, utc_offset_h)


def find_reset_time(text: str) -> str:
    """The time at which a limit resets, as a sentence names it; empty if it names none."""
    found = _RESET_TIME.search(text)
    return (found[1] or found[2]) if found else ""


def in_text(text: str) -> float | None:
    """Find a delay in a sentence, such as "try again in 1m30.5s" or "retry after 42 seconds"."""
    found = _IN_TEXT.search(text)
    return None if found is None else duration(found[1])


def in_details(error: Mapping[str, object]) -> float | None:
    """Find a delay in an error's fields: a number, or Google's `retryDelay` in its details."""
    for name, unit in _FIELDS.items():
        field = error.get(name)
        if isinstance(field, (int, float)) and not isinstance(field, bool) and field >= 0:
            return field * unit
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (found := duration(delay)) is not None:
            return found
    return None


def duration(text: str) -> float | None:
    """`6m0s`, `20ms`, `1.5 seconds` in seconds."""
    total = None
    for amount, unit in _STEP.findall(text):
        short = "ms" if unit.lower().startswith(("ms", "milli")) else unit[0].lower()
        total = (total or 0.0) + float(amount) * _UNITS[short]
    return total


def _server_time(headers: Mapping[str, str], now: float) -> float:
    """The server's time, which its dates refer to even if our clock is wrong."""
    sent = _date(headers.get("date", ""))
    return now if sent is None else sent


def _date(text: str) -> float | None:
    try:
        return email_utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _explicit(headers: Mapping[str, str], now: float) -> float | None:
    milliseconds = header_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    if header_number(text) is not None:
        return delay_until(text, now)
    moment = _date(text)
    return duration(text) if moment is None else max(0.0, moment - now)


def _reset(headers: Mapping[str, str], now: float, utc_offset_h: float) -> float | None:
    """When the limits reset: the last of the exhausted ones, else the first."""
    exhausted: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        match = _RESET.fullmatch(name)
        if match is None:
            continue
        number = header_number(value)
        in_ms = match["after"] == "ms" and number is not None and number < 1e9
        delay = delay_until(f"{value}ms" if in_ms else value, now, utc_offset_h)
        if delay is None:
            continue
        left = headers.get(name.replace("reset", "remaining"))
        (exhausted if left is not None and header_number(left) == 0 else others).append(delay)
    if exhausted:
        return max(exhausted)
    return min(others, default=None)


def delay_until(value: str, now: float, utc_offset_h: float = 0) -> float | None:
    """A reset is a duration, a number of seconds, a Unix time (in seconds or milliseconds), or a date.

    A date without a zone is one of the server's, which is `utc_offset_h` ahead of UTC, not one of ours.
    """
    plain = header_number(value)
    if plain is not None:
        if plain > 1e12:
            plain /= 1000
        return max(0.0, plain - now) if plain > 1e9 else plain
    try:
        date = datetime.datetime.fromisoformat(re.sub(r"\s?(?:Z|UTC)$", "+00:00", value.strip()))
        if date.tzinfo is None:
            date = date.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=utc_offset_h)))
        return max(0.0, date.timestamp() - now)
    except (ValueError, OverflowError):
        return duration(value)


def header_number(text: str | None) -> float | None:
    """The number in a header; None for anything else."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None
