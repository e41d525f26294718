"""Shows the output of a background job as it grows, and stops it."""

from collections.abc import Callable

from tau.coding.jobs.delivery import duration_text, output_of
from tau.coding.ports import Job
from tau.modes.event_texts import job_status
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.pager import PagerAction, TextPager, show_pager

REFRESH_S = 0.5


class JobPager(TextPager):
    """Reads the job's output again and again while it runs."""

    def __init__(self, context: CommandContext, job: Job, on_close: Callable[[], None]) -> None:
        self._jobs = context.require_session().jobs
        self._job = job
        self._timer = context.display.timer
        self._is_open = True
        super().__init__(
            context,
            job.label,
            self._output,
            does=(PagerAction("s", "stop", self._stop_job),),
            empty="No output yet." if job.running else "No output.",
            on_close=on_close,
        )
        self._follow()

    def stop(self) -> None:
        self._is_open = False
        super().stop()

    def _output(self) -> str:
        self._job = self._jobs.get(self._job.id) or self._job
        job = self._job
        self.title = f"{job.id} {job_status(job.status)}, {duration_text(job.duration_ms)}: {job.label}"
        if not job.running:
            self.actions = (PagerAction("s", "", self._stop_job),)
        return output_of(job)

    def _stop_job(self) -> None:
        stopped = self._jobs.cancel(self._job.id) == "cancelled"
        self.refresh("Stopped." if stopped else "It has already ended.")

    def _follow(self) -> None:
        if self._is_open:
            self.refresh()
            if self._job.running:
                self._timer.call_later(REFRESH_S, self._follow)


async def show_job(context: CommandContext, job: Job) -> None:
    """Show its output in the pager until closed."""
    await show_pager(context, lambda close: JobPager(context, job, close))
