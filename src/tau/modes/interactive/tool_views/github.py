"""github: what was found; for a watch, its jobs with their steps, durations and the ends of failed logs."""

from collections.abc import Iterator

from msgspec import UNSET

from tau.backends.github.workflow_runs import FINE, RunJob, RunStep, WatchDetails, is_failure
from tau.base.text import quantity
from tau.coding.github.call import GithubDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, head, one_per_row, remark, rows_limit, tail
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import (
    duration,
    elapsed,
    heading,
    list_arg,
    note,
    one_line,
    text_arg,
)
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

MAX_ROWS, MAX_EXPANDED = 12, 300
LOG_ROWS = 3
_TITLES = {
    "repo_view": ("View the repository", ("repo",)),
    "pr_create": ("Create a pull request", ("title",)),
    "pr_checkout": ("Check out a pull request", ("pr",)),
    "pr_push": ("Push to the pull request", ("branch",)),
    "search_issues": ("Search GitHub issues", ("query",)),
    "search_prs": ("Search GitHub pull requests", ("query",)),
    "search_code": ("Search GitHub code", ("query",)),
    "search_commits": ("Search GitHub commits", ("query",)),
    "search_repos": ("Search GitHub repositories", ("query",)),
    "run_watch": ("Watch GitHub Actions", ("run", "branch")),
}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(GithubDetails, view.details)
    verb, names = _TITLES.get(text_arg(view, "op"), ("GitHub", ("op",)))
    listed = ", ".join(str(each) for each in list_arg(view, *names))
    title = heading(theme, verb, one_line(text_arg(view, *names) or listed, 200))
    watch = None if details is None or details.watch is UNSET else details.watch
    body: list[Component] = problem(view, theme)
    if watch is not None:
        body = [*_watch_body(view, theme, watch), *body]
    elif view.state == "done" and view.text.strip():
        body.append(head(theme, view.text, rows_limit(view, HEAD_ROWS), token="toolOutput"))
    return RenderedCall(title, body, note(view, theme, _facts(view, watch)))


def _facts(view: ToolCallView, watch: WatchDetails | None) -> str:
    if watch is None:
        return elapsed(view.elapsed_ms) if view.state == "running" else ""
    jobs = [job for run in watch.runs for job in run.jobs]
    failed = sum(job.failed for job in jobs)
    facts = [
        {"watching": "", "none": "no runs"}.get(watch.verdict, watch.verdict),
        quantity(len(jobs), "job"),
    ]
    facts += [f"{failed} failed"] if failed else []
    facts += [elapsed(view.elapsed_ms)] if view.state == "running" else []
    return ", ".join(fact for fact in facts if fact)


def _watch_body(view: ToolCallView, theme: Theme, watch: WatchDetails) -> list[Component]:
    rows = list(_rows(view, theme, watch))
    most = MAX_EXPANDED if view.expanded else MAX_ROWS
    body: list[Component] = [one_per_row(theme, rows[:most], len(rows) - most, "more row")] if rows else []
    body += [remark(theme, watch.note)] if watch.note else []
    for log in watch.failed_logs:
        text = log.tail if log.available else "Log tail unavailable."
        body.append(remark(theme, f"Log of {log.job}", "strong"))
        body.append(tail(theme, text, rows_limit(view, LOG_ROWS), token="muted"))
    return body


def _rows(view: ToolCallView, theme: Theme, watch: WatchDetails) -> Iterator[str]:
    for run in watch.runs:
        state = one_line(run.conclusion or run.status, 40)
        yield f"{theme['strong'](one_line(run.workflow, 80))}  {theme['muted'](state)}"
        for job in run.jobs:
            yield f"  {_state(theme, job)} {one_line(job.name, 80)}  {theme['muted'](_took(job))}"
            for step in job.steps:
                if view.expanded or step.status == "in_progress" or is_failure(step.status, step.conclusion):
                    name = one_line(step.name, 80)
                    yield f"    {_state(theme, step)} {name}  {theme['muted'](_took(step))}"


def _state(theme: Theme, part: RunJob | RunStep) -> str:
    if part.status != "completed":
        token, sign = ("info" if part.status == "in_progress" else "muted"), theme.symbols.bullet
    elif part.conclusion in FINE:
        token, sign = ("success" if part.conclusion == "success" else "muted"), theme.symbols.check
    else:
        token, sign = "error", theme.symbols.cross
    return theme[token]((part.conclusion or part.status) + ":" if theme.linear else sign)


def _took(part: RunJob | RunStep) -> str:
    took = "" if part.duration_s is None else duration(part.duration_s * 1000)
    state = (part.conclusion if part.conclusion != "success" else "") or (
        part.status.replace("_", " ") if part.status != "completed" else ""
    )
    return ", ".join(fact for fact in (one_line(state, 40), took) if fact)
