"""Commands about the agent's work: taking changes back, and what runs in the background."""

from collections.abc import Callable, Sequence

from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.coding.jobs.delivery import words_of
from tau.coding.ports import Job
from tau.coding.prompts.command_prompts import split_arguments
from tau.coding.undo.plan import UndoPlan
from tau.coding.undo.report import result_lines, summary, turn_lines
from tau.coding.undo.undo import Undo
from tau.modes.interactive.app import App
from tau.modes.interactive.commands.shared_text import columns, count, session_of
from tau.modes.interactive.tool_views.labels import duration

SHOWN_LINES = 40
UNDO_USAGE = "Write it as /undo [N] [PATH ...], /undo list, or /undo --force PATH ..."


async def undo(app: App, rest: str) -> None:
    """Raises TauError. What is taken back can be brought again by /redo."""
    words = split_arguments(rest)
    history = await _history(app)
    if words == ["list"]:
        lines = turn_lines(history.turns(), session_of(app).cwd)
        app.say("\n".join(lines) or "The agent has changed no file in this session.")
        return
    force = "--force" in words
    words = [word for word in words if word != "--force"]
    turns = int(words.pop(0)) if words and words[0].isdecimal() else 1
    if turns < 1 or any(word.startswith("--") for word in words) or (force and not words):
        raise UsageError(f"{UNDO_USAGE}.")
    cwd = session_of(app).cwd
    paths = [(cwd / typed_path(word)).resolve() for word in words]
    _apply(app, history, lambda: history.plan(count=turns, paths=paths, force=paths if force else ()))


async def redo(app: App, rest: str) -> None:
    """Raises TauError."""
    history = await _history(app)
    _apply(app, history, history.redo_plan)


def _apply(app: App, history: Undo, make: Callable[[], UndoPlan]) -> None:
    try:
        plan = make()
    except UsageError as error:  # what was typed is right, but there is nothing to do
        raise TauError(str(error)) from error
    result = history.apply(plan)
    lines = (*result_lines(result, session_of(app).cwd), summary(plan, result))
    app.say("\n".join(lines), "info" if result.clean else "warning")


async def _history(app: App) -> Undo:
    recorder = session_of(app).recorder
    if recorder is None:
        raise TauError("This session keeps no history of files.")
    await recorder.settle()
    return recorder.undo


async def jobs(app: App, rest: str) -> None:
    """All of them, what one says, or its end."""
    known = session_of(app).jobs
    verb, _, id = rest.partition(" ")
    if verb in ("", "list"):
        _list(app, known.list())
    elif verb == "cancel":
        running = [job.id for job in known.list() if job.running]
        wanted = running if id.strip() == "all" else [id.strip()]
        for one in wanted:
            if known.cancel(one) == "not_found":
                raise UsageError(f'There is no job "{one}"; /jobs shows all of them.')
        app.say(f"{count(len(wanted), 'job').capitalize()} stopped.")
    else:
        job = known.get(verb)
        if job is None:
            raise UsageError(f'There is no job "{verb}"; /jobs shows all of them.')
        _tell(app, job)


def _list(app: App, known: Sequence[Job]) -> None:
    if not known:
        app.say("Nothing runs in the background, and nothing has ended there lately.")
        return
    rows = [(job.id, job.status, duration(job.duration_ms), job.label) for job in known]
    note = "/jobs ID shows what one says, /jobs cancel ID stops it."
    app.say("\n".join([*columns(app, rows, right=(2,)), note]))


def _tell(app: App, job: Job) -> None:
    lines = words_of(job).splitlines()
    left_out = len(lines) - SHOWN_LINES
    head = f"{job.id} {job.status}, {duration(job.duration_ms)}: {job.label}"
    more = [f"({count(left_out, 'line')} before)"] if left_out > 0 else []
    app.say("\n".join([head, *more, *(lines[-SHOWN_LINES:] or ["It has said nothing."])]))
