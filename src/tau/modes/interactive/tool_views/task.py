"""task: the agents of a call, what each does, and how they ended."""

from collections import Counter

from tau.coding.task.results import AgentProgress, TaskDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, LazyRows, head, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import duration, list_arg, note, one_line, quantity, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate

MAX_ROWS = 6
MAX_EXPANDED = 100
STALLED_MS = 60_000
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
    rows = sorted(details.progress, key=_rank)
    most = MAX_EXPANDED if view.expanded else MAX_ROWS
    parts: list[Component] = [_row(theme, row) for row in rows[:most]]
    if len(rows) > most:
        parts.append(head(theme, f"{quantity(len(rows) - most, 'more agent')}.", 1, token="dim"))
    return RenderedCall(title, [*parts, *body], note(view, theme, _facts(rows, view)))


def _rank(row: AgentProgress) -> int:
    return 0 if row.waiting else 1 if row.status in ("failed", "aborted") else 2


def _facts(rows: list[AgentProgress], view: ToolCallView) -> str:
    states = Counter("waiting for you" if row.waiting else row.status for row in rows)
    facts = [f"{count} {state}" for state, count in states.items()]
    tokens, cost = sum(row.tokens for row in rows), sum(row.cost for row in rows)
    facts += [f"{tokens:,} tokens"] if tokens else []
    facts += [f"${cost:.2f}"] if cost else []
    if view.elapsed_ms is not None:
        facts.append(duration(view.elapsed_ms))
    return ", ".join(facts)


def _row(theme: Theme, row: AgentProgress) -> Component:
    def paint(width: int) -> list[str]:
        sign = (
            ""
            if theme.linear
            else theme[_LOOKS[row.status]](getattr(theme.symbols, _SIGNS[row.status])) + " "
        )
        state: str = "waiting for you" if row.waiting else row.status
        if row.status == "running" and row.quiet_ms >= STALLED_MS:
            state = "stalled"
        doing = f"{row.current_tool} {row.current_target}".strip() or row.description or row.task
        facts = [state, row.model.rpartition("/")[2], quantity(row.requests, "request")]
        facts += [f"{row.tokens:,} tokens"] if row.tokens else []
        facts += [f"${row.cost:.2f}"] if row.cost else []
        facts += [duration(row.duration_ms)] if row.duration_ms else []
        name = theme["strong"](one_line(row.id, 60))
        line = f"{sign}{name}: {one_line(doing, 120)}  {theme['muted'](', '.join(facts))}"
        return [truncate(line, width, theme.symbols.ellipsis)]

    return LazyRows(theme, paint)
