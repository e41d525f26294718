"""Commands about the agent's work: undoing changes and managing background jobs."""

from collections.abc import Callable, Sequence

from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.coding.ports import Job
from tau.coding.prompts.prompt_template import split_arguments
from tau.coding.undo.plan import UndoPlan
from tau.coding.undo.recorder import Recorder
from tau.coding.undo.report import result_lines, summary, turn_lines
from tau.coding.undo.undo import Undo
from tau.modes.event_texts import job_status
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns
from tau.modes.interactive.tool_views.labels import duration
from tau.modes.session_report import count

delivery = late("tau.coding.jobs.delivery")
job_pager = late("tau.modes.interactive.selectors.job_pager")
pick_list = late("tau.modes.interactive.selectors.pick_list")
select_items = late("tau.tui.widgets.select_items")

UNDO_USAGE = "Usage: /undo [N] [PATH ...], /undo list, or /undo --force PATH ..."


async def undo(context: CommandContext, rest: str) -> None:
    """Undo file changes; /redo restores them. Raises TauError."""
    words = split_arguments(rest)
    if words == ["list"]:
        recorder = _recorder(context)
        await recorder.settle()
        lines = turn_lines(recorder.undo.turns(), context.require_session().cwd)
        context.say("\n".join(lines) or "The agent has not changed any files in this session.")
        return
    force = "--force" in words
    words = [word for word in words if word != "--force"]
    turns = int(words.pop(0)) if words and words[0].isdecimal() else 1
    if turns < 1 or any(word.startswith("--") for word in words) or (force and not words):
        raise UsageError(f"{UNDO_USAGE}.")
    cwd = context.require_session().cwd
    paths = [(cwd / typed_path(word)).resolve() for word in words]
    await _apply(context, lambda undo: undo.plan(count=turns, paths=paths, force=paths if force else ()))


async def redo(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    await _apply(context, lambda undo: undo.redo_plan())


async def _apply(context: CommandContext, make: Callable[[Undo], UndoPlan]) -> None:
    try:
        plan, result = await _recorder(context).change_back(make)
    except UsageError as error:  # the command was correct, but there is nothing to do
        raise TauError(str(error)) from error
    lines = (*result_lines(result, context.require_session().cwd), summary(plan, result))
    context.say("\n".join(lines), "info" if result.clean else "warning")


def _recorder(context: CommandContext) -> Recorder:
    recorder = context.require_session().recorder
    if recorder is None:
        raise TauError("This session has no file history.")
    return recorder


async def jobs(context: CommandContext, rest: str) -> None:
    """Choose a job to see its output as it grows, or to stop it."""
    session_jobs = context.require_session().jobs
    verb, _, id = rest.partition(" ")
    if verb in ("", "list"):
        await _choose_job(context, session_jobs.list())
    elif verb == "cancel":
        running = [job.id for job in session_jobs.list() if job.running]
        ids = running if id.strip() == "all" else [id.strip()]
        for job_id in ids:
            if session_jobs.cancel(job_id) == "not_found":
                raise UsageError(f'No job "{job_id}"; /jobs lists them.')
        context.say(f"{count(len(ids), 'job').capitalize()} stopped.")
    else:
        job = session_jobs.get(verb)
        if job is None:
            raise UsageError(f'No job "{verb}"; /jobs lists them.')
        await job_pager.show_job(context, job)


async def _choose_job(context: CommandContext, known_jobs: Sequence[Job]) -> None:
    if not known_jobs:
        context.say("No background jobs are running or recently finished.")
        return
    if context.display.theme.linear:
        rows = [(job.id, job_status(job.status), duration(job.duration_ms), job.label) for job in known_jobs]
        note = "/jobs ID shows a job's output, /jobs cancel ID stops it."
        context.say("\n".join([*columns(context.display, rows, right=(2,)), note]))
        return
    items = [
        select_items.SelectItem(
            job.id, job.label, f"{job.id} {job_status(job.status)}, {delivery.duration_text(job.duration_ms)}"
        )
        for job in reversed(known_jobs)
    ]
    chosen = await pick_list.pick(context, "Background jobs", items, verb="show its output")
    job = None if chosen is None else context.require_session().jobs.get(chosen)
    if job is not None:
        await job_pager.show_job(context, job)
