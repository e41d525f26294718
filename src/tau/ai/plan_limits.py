"""What is left of a plan: the rate-limit headers of every vendor as one struct."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from tau.ai.apis import retry_after

MAX_LIMITS = 16
MAX_DELAY_S = 366 * 86_400  # a reset later than that is a mistake
_UNIFIED = re.compile(r"anthropic-ratelimit-unified-(\w+)-(utilization|reset)")
_ANTHROPIC = re.compile(r"anthropic-ratelimit-((?:\w+-)?(?:requests|tokens))-(limit|remaining|reset)")
_USUAL = re.compile(r"x-ratelimit-(limit|remaining|reset)((?:-[\w-]+)?)")
_CODEX = re.compile(r"x-codex-(primary|secondary)-(used-percent|window-minutes|reset-at|reset-after-seconds)")
_SPAN = re.compile(r"(\d+)([mhdw])")
_UNITS = {"m": "minute", "h": "hour", "d": "day", "w": "week"}


class PlanLimit(Struct, frozen=True, rename="camel"):
    """`resets_at` is in milliseconds since 1970; 0 if unknown."""

    name: str
    used_percent: float
    resets_at: int = 0


class PlanLimits(Struct, frozen=True, rename="camel"):
    """What one answer said about an account. `measured_at` is in milliseconds since 1970."""

    provider: str
    account: str
    measured_at: int
    limits: tuple[PlanLimit, ...]

    def worst(self, now_ms: int) -> PlanLimit | None:
        """The limit that is used most, of those that have not been reset since."""
        current = [limit for limit in self.limits if not limit.resets_at or limit.resets_at > now_ms]
        return max(current, key=lambda limit: limit.used_percent, default=None)


class _Figures(NamedTuple):
    name: str
    values: dict[str, str]


def read_limits(headers: Mapping[str, str], now_ms: int) -> tuple[PlanLimit, ...]:
    """The limits in a response's headers, whose names are in lower case."""
    found = (_limit(figures, now_ms) for figures in _grouped(headers))
    return tuple(limit for limit in found if limit is not None)[:MAX_LIMITS]


def _grouped(headers: Mapping[str, str]) -> Iterator[_Figures]:
    groups: dict[str, dict[str, str]] = {}
    for name, value in headers.items():
        if match := _UNIFIED.fullmatch(name) or _ANTHROPIC.fullmatch(name) or _CODEX.fullmatch(name):
            groups.setdefault(match[1], {})[match[2]] = value
        elif match := _USUAL.fullmatch(name):
            suffix = match[2].strip("-")
            group, field = ("", "reset-ms") if suffix == "ms" else (suffix, match[1])
            groups.setdefault(group, {})[field] = value
    return (_Figures(name, values) for name, values in groups.items())


def _limit(figures: _Figures, now_ms: int) -> PlanLimit | None:
    values = figures.values
    name = _span(figures.name) or figures.name.replace("-", " ") or "requests"
    if (used := retry_after.header_number(values.get("used-percent"))) is not None:
        minutes = retry_after.header_number(values.get("window-minutes"))
        name = _minutes(minutes) if minutes else name
    elif (share := retry_after.header_number(values.get("utilization"))) is not None:
        used = share * 100
    else:
        limit, left = (
            retry_after.header_number(values.get("limit")),
            retry_after.header_number(values.get("remaining")),
        )
        if not limit or left is None:
            return None
        used = (1 - left / limit) * 100
    return PlanLimit(name, round(min(max(used, 0.0), 100.0), 1), _reset(values, now_ms))


def _reset(values: Mapping[str, str], now_ms: int) -> int:
    text = values.get("reset-ms")
    if text is not None and (number := retry_after.header_number(text)) is not None and number < 1e9:
        return now_ms + int(number)
    text = text or values.get("reset") or values.get("reset-at") or values.get("reset-after-seconds")
    delay_s = None if text is None else retry_after.delay_until(text, now_ms / 1000)
    return 0 if delay_s is None or delay_s > MAX_DELAY_S else now_ms + int(delay_s * 1000)


def _span(name: str) -> str:
    """`5h` in words."""
    match = _SPAN.fullmatch(name)
    return _counted(int(match[1]), _UNITS[match[2]]) if match else ""


def _minutes(minutes: float) -> str:
    for size, unit in ((1440, "day"), (60, "hour")):
        if minutes >= size and minutes % size == 0:
            return _counted(int(minutes // size), unit)
    return _counted(int(minutes), "minute")


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
