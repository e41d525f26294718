"""Sums usage by day, model and folder within a range of days."""

import time
from collections.abc import Iterable

from msgspec import Struct

from tau.ai.wire import Usage
from tau.coding.cost_report.request_costs import UsageRow
from tau.coding.session.stats import Tally, cache_hit_rate, counts


class Share(Struct, frozen=True):
    """The usage of one day, model or folder."""

    name: str
    requests: int
    usage: Usage

    @property
    def tokens(self) -> int:
        return counts(self.usage).total


class DayModel(Struct, frozen=True):
    """The cost of one model on one day."""

    day: str
    model: str
    usage: Usage


class UsageSummary(Struct, frozen=True, kw_only=True):
    """`days` are in order without gaps; `models` and `folders` start with the most expensive."""

    first_day: str
    last_day: str
    sessions: int
    failed: int
    total: Share
    days: list[Share]
    models: list[Share]
    folders: list[Share]
    kinds: list[Share]
    by_day_and_model: list[DayModel]


def local_day(ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(ms / 1000))


def start_of_day(now_ms: int, days: int) -> int:
    """The start of the first of the last `days` days, in local time."""
    now = time.localtime(now_ms / 1000)
    midnight = (now.tm_year, now.tm_mon, now.tm_mday - days + 1, 0, 0, 0, 0, 0, -1)
    return round(time.mktime(midnight) * 1000)


def summarize(rows: Iterable[UsageRow], now_ms: int, days: int | None = None) -> UsageSummary:
    """Sum all rows, or those of the last `days` days; days without usage are included."""
    since = 0 if days is None else start_of_day(now_ms, days)
    total = Tally()
    by_day: dict[str, Tally] = {}
    by_model: dict[str, Tally] = {}
    by_folder: dict[str, Tally] = {}
    by_kind: dict[str, Tally] = {}
    by_both: dict[tuple[str, str], Tally] = {}
    sessions: set[str] = set()
    failed = 0
    for row in rows:
        if row.time_ms < since:
            continue
        day = local_day(row.time_ms)
        model = f"{row.provider}/{row.model}" if row.provider else row.model or "(unknown)"
        total.add(row.usage)
        for tallies, name in (
            (by_day, day),
            (by_model, model),
            (by_folder, row.folder or "(unknown)"),
            (by_kind, row.kind),
        ):
            tallies.setdefault(name, Tally()).add(row.usage)
        by_both.setdefault((day, model), Tally()).add(row.usage)
        sessions.add(row.session)
        failed += row.failed
    today = local_day(now_ms)
    first = local_day(since) if days is not None else min(by_day, default=today)
    return UsageSummary(
        first_day=first,
        last_day=max([today, *by_day]),
        sessions=len(sessions),
        failed=failed,
        total=Share("total", total.requests, total.usage),
        days=[_share(day, by_day.get(day) or Tally()) for day in _span(first, max([today, *by_day]))],
        models=_by_cost(by_model),
        folders=_by_cost(by_folder),
        kinds=_by_cost(by_kind),
        by_day_and_model=[DayModel(*key, tally.usage) for key, tally in sorted(by_both.items())],
    )


def as_json(summary: UsageSummary) -> dict[str, object]:
    """The summary as JSON. Costs are in US dollars."""
    return {
        "firstDay": summary.first_day,
        "lastDay": summary.last_day,
        "sessions": summary.sessions,
        "failed": summary.failed,
        "total": figures(summary.total),
        "days": [{"day": share.name, **figures(share)} for share in summary.days if share.requests],
        "models": [{"model": share.name, **figures(share)} for share in summary.models],
        "folders": [{"folder": share.name, **figures(share)} for share in summary.folders],
        "kinds": [{"kind": share.name, **figures(share)} for share in summary.kinds],
    }


def figures(share: Share) -> dict[str, object]:
    return {
        "requests": share.requests,
        "tokens": counts(share.usage),
        "cacheHitRate": round(cache_hit_rate(share.usage), 4),
        "cost": share.usage.cost.total,
    }


def _span(first: str, last: str) -> list[str]:
    """Every day from first to last. Counts from noon, which clock changes do not move to another day."""
    year, month, day = (int(part) for part in first.split("-"))
    days = [first]
    while days[-1] < last:
        day += 1
        noon = time.mktime((year, month, day, 12, 0, 0, 0, 0, -1))
        days.append(time.strftime("%Y-%m-%d", time.localtime(noon)))
    return days


def _share(name: str, tally: Tally) -> Share:
    return Share(name, tally.requests, tally.usage)


def _by_cost(tallies: dict[str, Tally]) -> list[Share]:
    shares = [_share(name, tally) for name, tally in tallies.items()]
    return sorted(shares, key=lambda share: (-share.usage.cost.total, -share.tokens, share.name))
