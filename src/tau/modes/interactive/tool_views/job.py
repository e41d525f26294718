"""job: background jobs, their states, and the output of finished ones."""

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.jobs.delivery import JobSnapshot
from tau.coding.tools.job import JobDetails
from tau.modes.event_texts import job_status
from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    MAX_ROWS,
    IndentedRows,
    LazyRows,
    head,
    rows_limit,
    tail,
)
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import duration, flag_arg, list_arg, note, one_line
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.cut import truncate

OUTPUT_ROWS = 4
"""Rows of each finished job in a collapsed block."""
COLLAPSED_JOBS = 6
MAX_JOBS = 200
_LOOKS = {"completed": "success", "failed": "error", "cancelled": "warning", "running": "info"}
_SIGNS = {"completed": "check", "failed": "cross", "cancelled": "cross", "running": "bullet"}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(JobDetails, view.details)
    title = _title(view, theme)
    body: list[Component] = problem(view, theme)
    if details is None or not (details.jobs or details.cancelled is not UNSET):
        if not body and view.state == "done" and view.text.strip():
            body = [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="muted")]
        return RenderedCall(title, body, note(view, theme))
    if view.state != "failed":
        body = [*_jobs(view, theme, details), *body]
    return RenderedCall(title, body, note(view, theme, _facts(view, details)))


def _title(view: ToolCallView, theme: Theme) -> str:
    parts: list[str] = []
    for names, verb in (("cancel", "Stop"), ("poll", "Wait for")):
        ids = [one_line(id, 60) for id in list_arg(view, names) if isinstance(id, str)]
        if ids:
            more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
            parts.append(f"{theme['strong'](verb)} {theme['accent'](', '.join(ids[:3]) + more)}")
    if parts:
        return ", ".join(parts)
    if flag_arg(view, "list"):
        return theme["strong"]("List jobs")
    return theme["strong"]("Jobs" if view.state == "streaming" else "Wait for jobs")


def _facts(view: ToolCallView, details: JobDetails) -> str:
    running = sum(job.status == "running" for job in details.jobs)
    over = len(details.jobs) - running
    facts = [f"{over} ended" if over else "", f"{running} running" if running else ""]
    if not view.over and view.elapsed_ms is not None:
        facts.append(duration(view.elapsed_ms))
    return ", ".join(fact for fact in facts if fact)


def _jobs(view: ToolCallView, theme: Theme, details: JobDetails) -> list[Component]:
    parts: list[Component] = []
    if details.cancelled is not UNSET:
        shown = {job.id for job in details.jobs}
        lines = [
            f"{outcome.id}: {outcome.status.replace('_', ' ')}"
            for outcome in details.cancelled
            if outcome.id not in shown
        ]
        if lines:
            parts.append(head(theme, "\n".join(lines), rows_limit(view, HEAD_ROWS), token="muted"))
    most = MAX_JOBS if view.expanded else COLLAPSED_JOBS
    rows = MAX_ROWS // max(min(len(details.jobs), most), 1) if view.expanded else OUTPUT_ROWS
    for job in details.jobs[:most]:
        parts.append(_heading(theme, job))
        for text, token in ((job.result_text, "toolOutput"), (job.error_text, "error")):
            if isinstance(text, str) and text.strip():
                parts.append(IndentedRows(theme, tail(theme, text, rows, token=token)))
    if len(details.jobs) > most:
        words = quantity(len(details.jobs) - most, "more job")
        parts.append(head(theme, f"{words}.", 1, token="dim"))
    return parts


def _heading(theme: Theme, job: JobSnapshot) -> Component:
    def paint(width: int) -> list[str]:
        style = theme[_LOOKS[job.status]]
        sign = "" if theme.linear else style(getattr(theme.symbols, _SIGNS[job.status])) + " "
        facts = theme["muted"](f"{job_status(job.status)}, {duration(job.duration_ms)}")
        row = f"{sign}{theme['strong'](one_line(job.id, 60))} {one_line(job.label)}  {facts}"
        return [truncate(row, width, theme.symbols.ellipsis)]

    return LazyRows(theme, paint)
