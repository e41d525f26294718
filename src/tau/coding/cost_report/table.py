"""Usage over time as text: by day with a bar, by model, by folder, and in total."""

from collections.abc import Iterator, Sequence

from tau.base.text import clean_line, shortened
from tau.coding.cost_report.summary import Share, UsageSummary
from tau.coding.session.stats import cache_hit_rate, counts

BAR_CHARS = 20
NAME_CHARS = 44
ROWS = 15  # of models and folders
_WIDTHS = (8, 8, 8, 8, 5, 9)
_EIGHTHS = " ▏▎▍▌▋▊▉"


def usage_lines(summary: UsageSummary) -> Iterator[str]:
    """What `tau stats` prints."""
    total = summary.total
    if not total.requests:
        yield f"No usage between {summary.first_day} and {summary.last_day}."
        return
    days = [day for day in summary.days if day.requests]
    yield from _table("day", days, bars=True)
    yield ""
    yield from _table("model", summary.models[:ROWS], left_out=len(summary.models) - ROWS)
    yield ""
    yield from _table("folder", summary.folders[:ROWS], left_out=len(summary.folders) - ROWS)
    yield ""
    tokens = counts(total.usage)
    failed = f", {summary.failed:,} of them failed" if summary.failed else ""
    yield (
        f"{summary.first_day} to {summary.last_day}: {summary.sessions:,} "
        f"{'session' if summary.sessions == 1 else 'sessions'}, {total.requests:,} "
        f"{'request' if total.requests == 1 else 'requests'}{failed}."
    )
    yield (
        f"{tokens.total:,} tokens: {tokens.input:,} input, {tokens.cache_read:,} from the cache, "
        f"{tokens.cache_write:,} into the cache, {tokens.output:,} output."
    )
    yield f"{_percent(total)} of the input came from the cache. Cost: {_money(total)}."


def _table(title: str, shares: Sequence[Share], *, bars: bool = False, left_out: int = 0) -> Iterator[str]:
    names = [shortened(clean_line(share.name), NAME_CHARS) for share in shares]
    width = max([len(title), *map(len, names)])
    most = max((share.usage.cost.total for share in shares), default=0.0)
    yield _line(title, width, ("requests", "input", "cached", "output", "hits", "cost"))
    for name, share in zip(names, shares, strict=True):
        tokens = counts(share.usage)
        sent = tokens.input + tokens.cache_write
        cells = (f"{share.requests:,}", _short(sent), _short(tokens.cache_read), _short(tokens.output))
        line = _line(name, width, (*cells, _percent(share), _money(share)))
        yield f"{line}  {_bar(share.usage.cost.total, most)}".rstrip() if bars else line
    if left_out > 0:
        yield f"({left_out:,} more not shown; --json has them all)"


def _line(name: str, width: int, cells: Sequence[str]) -> str:
    figures = (f"{cell:>{size}}" for cell, size in zip(cells, _WIDTHS, strict=True))
    return "  ".join((f"{name:{width}}", *figures))


def _bar(value: float, most: float) -> str:
    eighths = round(value / most * BAR_CHARS * 8) if most > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _short(count: int) -> str:
    for unit, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= unit:
            return f"{count / unit:.1f}{letter}"
    return str(count)


def _percent(share: Share) -> str:
    return f"{cache_hit_rate(share.usage) * 100:.0f}%"


def _money(share: Share) -> str:
    dollars = share.usage.cost.total
    return f"${dollars:,.2f}" if dollars >= 0.005 or dollars <= 0 else f"${dollars:.4f}"
