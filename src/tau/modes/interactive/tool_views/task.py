"""task: the agents of a call, what each does, and how they ended."""

from collections import Counter
from collections.abc import Sequence

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.task.results import AgentProgress, TaskDetails
from tau.modes.agents_report import agent_activity, agent_state, rank
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, LazyRows, head, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import duration, list_arg, note, one_line, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate

MAX_ROWS = 6
MAX_EXPANDED = 100
_LOOKS = {
    "completed": "success",
    "failed": "error",
    "aborted": "warning",
    "running": "info",
    "pending": "muted",
}
_SIGNS = {
    "completed": "check",
    "failed": "cross",
    "aborted": "cross",
    "running": "bullet",
    "pending": "bullet",
}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(TaskDetails, view.details)
    count = len(list_arg(view, "tasks")) or 1
    kind = theme["accent"](one_line(text_arg(view, "agent"), 60))
    title = f"{theme['strong']('Delegate')} {kind} {theme['muted'](quantity(count, 'agent'))}"
    body: list[Component] = problem(view, theme)
    if details is None or not details.progress:
        if not body and view.state == "done" and view.text.strip():
            body = [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="muted")]
        return RenderedCall(title, body, note(view, theme))
    in_background = details.async_ is not UNSET
    rows = sorted(details.progress, key=rank)
    most = MAX_EXPANDED if view.expanded else MAX_ROWS
    parts: list[Component] = [_lazy_row(theme, row, in_background) for row in rows[:most]]
    if len(rows) > most:
        parts.append(head(theme, f"{quantity(len(rows) - most, 'more agent')}.", 1, token="dim"))
    if in_background:
        return RenderedCall(title, [*parts, *body], note(view, theme, "in the background"))
    facts = [summarize(rows), *([duration(view.elapsed_ms)] if view.elapsed_ms is not None else [])]
    return RenderedCall(title, [*parts, *body], note(view, theme, ", ".join(facts)))


def summarize(rows: Sequence[AgentProgress]) -> str:
    """How many are in each state, and what they have used."""
    states = Counter("waiting for you" if row.waiting else row.status for row in rows)
    facts = [f"{count} {state}" for state, count in states.items()]
    tokens, cost = sum(row.tokens for row in rows), sum(row.cost for row in rows)
    facts += [f"{tokens:,} tokens"] if tokens else []
    facts += [f"${cost:.2f}"] if cost else []
    return ", ".join(facts)


def _lazy_row(theme: Theme, row: AgentProgress, in_background: bool) -> Component:
    return LazyRows(theme, lambda width: [agent_row(theme, row, width, started=in_background)])


def agent_row(theme: Theme, row: AgentProgress, width: int, *, started: bool = False) -> str:
    """One agent; `started`: only what it is for, since the row will not change anymore."""
    look, sign = _LOOKS[row.status], getattr(theme.symbols, _SIGNS[row.status])
    mark = "" if theme.linear else f"{theme[look](sign)} "
    model = row.model.rpartition("/")[2]
    facts = [model]
    if not started:
        facts = [agent_state(row), model, quantity(row.requests, "request")]
        facts += [f"{row.tokens:,} tokens"] if row.tokens else []
        facts += [f"${row.cost:.2f}"] if row.cost else []
        facts += [duration(row.duration_ms)] if row.duration_ms else []
    name = theme["strong"](one_line(row.id, 60))
    doing = one_line((row.description or row.task) if started else agent_activity(row), 120)
    line = f"{mark}{name}: {doing}  {theme['muted'](', '.join(facts))}"
    return truncate(line, width, theme.symbols.ellipsis)
