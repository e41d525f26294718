"""Usage over time as an HTML page: cost and tokens by day, as charts and tables."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

from msgspec import Struct

from tau.base.clock import iso, now_ms
from tau.base.version import VERSION
from tau.coding.cost_report.summary import Share, UsageSummary
from tau.coding.export.page import (
    fact,
    money_text,
    page_end,
    page_start,
    percent_text,
    tokens_text,
    usage_table,
)
from tau.coding.session.stats import cache_hit_rate, counts

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 230, 48, 22, 8
MODELS = 5  # with separate colors
MAX_BARS = 120  # more days are drawn in groups
TABLE_ROWS = 50
MAX_BAR_WIDTH = 26
_KINDS = ("input", "cache read", "cache write", "output")


class Stack(Struct, frozen=True):
    """One bar: its label, and the height of each part."""

    name: str
    parts: list[float]


def chart_page(summary: UsageSummary) -> Iterator[str]:
    style = Path(__file__).with_name("chart.css").read_text(encoding="utf-8")
    total, usage = summary.total, summary.total.usage
    tokens = counts(usage)
    yield page_start("tau usage", style=style)
    yield "<main>\n"
    by_day = usage.cost.total / max(1, len(summary.days))
    facts = [
        fact("Cost", money_text(usage.cost.total), f"{money_text(by_day)} a day"),
        fact("Tokens", tokens_text(tokens.total), f"{tokens_text(tokens.output)} of them written"),
        fact("Cache hits", percent_text(cache_hit_rate(usage)), "of what was sent"),
        fact("Requests", f"{total.requests:,}", f"{summary.failed:,} failed"),
        fact("Sessions", f"{summary.sessions:,}"),
    ]
    yield (
        f'<header class="masthead">\n<h1>tau usage</h1>\n<p class="where">{escape(summary.first_day)} to '
        f'{escape(summary.last_day)}</p>\n<dl class="facts">{"".join(facts)}</dl>\n</header>\n'
    )
    names, costs = _by_model(summary)
    if usage.cost.total > 0:
        yield f"<h2>Cost by day</h2>\n{_chart(_grouped(costs), money_text, 'Cost by day')}{_key(names)}\n"
    kinds = [Stack(day.name, _kinds(day)) for day in summary.days]
    yield f"<h2>Tokens by day</h2>\n{_chart(_grouped(kinds), _tokens, 'Tokens by day')}{_key(_KINDS)}\n"
    days = [day for day in reversed(summary.days) if day.requests]
    for title, name, shares in (
        ("Models", "model", summary.models),
        ("Folders", "folder", summary.folders),
        ("Days", "day", days),
    ):
        yield f"<h2>{title}</h2>\n{_table(name, shares)}\n"
    yield f'<footer class="end">Made by tau {VERSION} on {iso(now_ms())[:10]}.</footer>\n</main>\n'
    yield page_end()


def _tokens(value: float) -> str:
    return tokens_text(round(value))


def _kinds(day: Share) -> list[float]:
    usage = day.usage
    return [usage.input, usage.cache_read, usage.cache_write, usage.output]


def _table(name: str, shares: Sequence[Share]) -> str:
    rows = [(share.name, share.requests, share.usage) for share in shares[:TABLE_ROWS]]
    more = len(shares) - TABLE_ROWS
    note = f'<p class="left-out">{more:,} more not shown.</p>' if more > 0 else ""
    return usage_table(name, rows) + note


def _by_model(summary: UsageSummary) -> tuple[list[str], list[Stack]]:
    """Daily costs by part: the most expensive models, then all others together."""
    names = [share.name for share in summary.models[:MODELS]]
    others = len(summary.models) > MODELS
    places = {name: place for place, name in enumerate(names)}
    days = {day.name: [0.0] * (len(names) + others) for day in summary.days}
    for part in summary.by_day_and_model:
        days[part.day][places.get(part.model, -1)] += part.usage.cost.total
    return [*names, *(["others"] if others else [])], [Stack(day, parts) for day, parts in days.items()]


def _grouped(stacks: Sequence[Stack]) -> list[Stack]:
    """Merge neighboring days so that the bars stay distinguishable."""
    size = -(-len(stacks) // MAX_BARS)
    if size <= 1:
        return list(stacks)
    groups = []
    for start in range(0, len(stacks), size):
        group = stacks[start : start + size]
        sums = [sum(column) for column in zip(*(stack.parts for stack in group), strict=True)]
        groups.append(Stack(f"{group[0].name} to {group[-1].name}", sums))
    return groups


def _ticks(highest: float) -> list[float]:
    """Three to five round numbers from 0, the last at least `highest`."""
    if highest <= 0:
        return [0.0, 1.0]
    step = 10.0 ** len(str(int(highest)))
    while step / 1e12 > highest or not 3 <= -(-highest // step) <= 5:
        for part in (step / 2, step / 4, step / 5):
            if 3 <= -(-highest // part) <= 5:
                step = part
                break
        else:
            step /= 10
    return [step * number for number in range(int(-(-highest // step)) + 1)]


def _chart(stacks: Sequence[Stack], form: Callable[[float], str], title: str) -> str:
    ticks = _ticks(max((sum(stack.parts) for stack in stacks), default=0))
    top = ticks[-1]
    room = HEIGHT - BOTTOM - TOP
    step = (WIDTH - LEFT) / max(1, len(stacks))
    bar = min(step * 0.72, MAX_BAR_WIDTH)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for tick in ticks:
        y = TOP + room * (1 - tick / top)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{form(tick)}</text>'
        )
    every = max(1, -(-len(stacks) // 8))
    for number, stack in enumerate(stacks):
        left = LEFT + step * number
        title_text = f"{stack.name}: {form(sum(stack.parts))}"
        parts.append(
            f'<g class="day"><title>{escape(title_text)}</title>'
            f'<rect class="hit" x="{left:.1f}" y="{TOP}" width="{step:.1f}" height="{room}"/>'
        )
        below = float(HEIGHT - BOTTOM)
        for place, value in enumerate(stack.parts):
            height = room * value / top
            if height < 0.05:
                continue
            below -= height
            parts.append(
                f'<rect class="p{min(place, MODELS)}" x="{left + (step - bar) / 2:.1f}" y="{below:.2f}" '
                f'width="{bar:.1f}" height="{height:.2f}"/>'
            )
        parts.append("</g>")
        if number % every == 0:
            name = escape(stack.name[5:10])
            parts.append(
                f'<text x="{left + step / 2:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{name}</text>'
            )
    parts.append("</svg>")
    return f'<figure class="chart">{"".join(parts)}</figure>'


def _key(names: Sequence[str]) -> str:
    items = "".join(
        f'<li><i class="p{min(place, MODELS)}"></i>{escape(name)}</li>' for place, name in enumerate(names)
    )
    return f'<ul class="key">{items}</ul>'
