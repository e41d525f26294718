"""How long a server asks us to wait: from its headers, and from what its error says."""

import re
from collections.abc import Mapping
from typing import Any

from tau.base.late import late

datetime = late("datetime")
email_utils = late("email.utils")

# A header far beyond what the error itself says is wrong: the error knows what was exceeded.
ABSURD_FACTOR = 3
ABSURD_MARGIN_S = 10

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AMOUNT = r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?|d|days?)(?![a-z])"
_STEP = re.compile(_AMOUNT, re.I)
_IN_TEXT = re.compile(
    r"(?:try again|retry(?:ing)?|retry[ -]?(?:after|delay)|wait)(?: at least| for| in| after|:| is)*\s+"
    rf"((?:{_AMOUNT}[\s,and]*)+)",
    re.I,
)
_RESET = re.compile(r"(?:x-ratelimit|anthropic-ratelimit)-(?:reset(?:-(?P<after>.+))?|(?P<before>.+)-reset)")


def seconds(headers: Mapping[str, str], said_s: float | None, *, now: float) -> float | None:
    """The wait that the server wants, in seconds from `now`; None where it says nothing."""
    asked = _explicit(headers, now)
    if asked is None:
        asked = said_s if said_s is not None else _reset(headers, now)
    elif said_s is not None and asked > said_s * ABSURD_FACTOR + ABSURD_MARGIN_S:
        asked = said_s
    return asked


def in_text(text: str) -> float | None:
    """The delay that a sentence names, such as "try again in 1m30.5s" or "retry after 42 seconds"."""
    found = _IN_TEXT.search(text)
    return None if found is None else duration(found[1])


def in_details(details: Any, field: Any) -> float | None:
    """The delay in the fields of an error: `retry_after`, or Google's list of details with a `retryDelay`."""
    if isinstance(field, (int, float)) and not isinstance(field, bool) and field >= 0:
        return float(field)
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


def _explicit(headers: Mapping[str, str], now: float) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    plain = _number(text)
    if plain is not None:
        return plain
    try:
        moment: float = email_utils.parsedate_to_datetime(text).timestamp()
    except ValueError:
        return duration(text)
    return max(0.0, moment - now)


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    """When the limits are renewed: of those that are used up the last, else whichever comes first."""
    spent: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        match = _RESET.fullmatch(name)
        delay = _moment(value, now) if match is not None else None
        if match is None or delay is None:
            continue
        left = headers.get(name.replace("reset", "remaining"))
        (spent if left is not None and _number(left) == 0 else others).append(delay)
    if spent:
        return max(spent)
    return min(others, default=None)


def _moment(value: str, now: float) -> float | None:
    """A reset is a duration, a number of seconds, a Unix time (in seconds or milliseconds), or a date."""
    plain = _number(value)
    if plain is not None:
        if plain > 1e12:
            plain /= 1000
        return max(0.0, plain - now) if plain > 1e9 else plain
    try:
        moment: float = datetime.datetime.fromisoformat(value.strip().replace("Z", "+00:00")).timestamp()
    except ValueError:
        return duration(value)
    return max(0.0, moment - now)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None
