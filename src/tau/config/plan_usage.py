"""The last known plan limits of each account, kept for `tau usage` and other sessions."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import MsgspecError, json

from tau.ai.plan_limits import PlanLimit, PlanLimits
from tau.base import log
from tau.base.files import make_private, write_atomic

MIN_GAP_MS = 5_000
MAX_ACCOUNTS = 32


def save(folder: Path, new: PlanLimits, old: PlanLimits | None) -> None:
    """Store them, unless they are almost those that were stored a moment ago."""
    if old is not None and new.measured_at - old.measured_at < MIN_GAP_MS and not _differs(new, old):
        return
    path = folder / f"{new.provider}.json"
    try:
        others = [one for one in _read(path) if one.account != new.account]
        make_private(folder)
        write_atomic(path, json.encode([new, *others[: MAX_ACCOUNTS - 1]]), sync=False)
    except OSError as error:
        log.warning("The plan limits are not stored.", error)


def load(folder: Path) -> list[PlanLimits]:
    """Those of all providers, by name."""
    return [one for path in sorted(folder.glob("*.json")) for one in _read(path)]


def describe(limit: PlanLimit, now_ms: int) -> str:
    """`5 hours: 82% used, resets in 1 h 20 min`."""
    return f"{limit.name}: {limit.used_percent:.0f}% used{reset_text(limit, now_ms)}"


def reset_text(limit: PlanLimit, now_ms: int) -> str:
    if not limit.resets_at:
        return ""
    if limit.resets_at <= now_ms:
        return ", has reset since"
    return f", resets in {duration_text(limit.resets_at - now_ms)}"


def duration_text(ms: int) -> str:
    """The two largest units: `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    seconds = max(ms, 0) // 1000
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def usage_lines(known: list[PlanLimits], now_ms: int) -> Iterator[str]:
    """A line for each account, and one for each of its limits."""
    for one in known:
        account = f" {one.account}" if one.account else ""
        yield f"{one.provider}{account}, {duration_text(now_ms - one.measured_at)} ago"
        for limit in one.limits:
            yield f"  {describe(limit, now_ms)}"


def _differs(new: PlanLimits, old: PlanLimits) -> bool:
    before = {limit.name: limit.used_percent for limit in old.limits}
    return any(abs(before.get(limit.name, -1) - limit.used_percent) >= 1 for limit in new.limits)


def _read(path: Path) -> list[PlanLimits]:
    try:
        return json.decode(path.read_bytes(), type=list[PlanLimits])
    except (OSError, MsgspecError):
        return []
