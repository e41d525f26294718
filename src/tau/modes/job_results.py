"""Turns on the results of background jobs, and the wait for those that still run at the end."""

import asyncio
from collections.abc import Awaitable, Callable

from tau.agent.abort import Aborted
from tau.agent.events import AgentEvent, JobChanged
from tau.agent.loop import Outcome
from tau.coding.ports import Job
from tau.coding.session.session import Session
from tau.modes.exit_status import DONE, INTERRUPTED, JOBS_STOPPED, ExitStatus

AGENT_WAIT_S = 3600.0


def on_result(session: Session, wake: Callable[[], None]) -> Callable[[], None]:
    """Call `wake` when a result arrives at an idle session, unless the setting is off; returns a stop."""

    def listen(event: AgentEvent) -> None:
        if isinstance(event, JobChanged) and event.queued and may_continue(session):
            wake()

    return session.subscribe(listen)


def may_continue(session: Session) -> bool:
    """Whether to start a turn: the agent is idle, and results wait for it."""
    if not session.settings.async_.continue_when_done or session.activities.running:
        return False
    return any(item.kind == "aside" for item in session.queue.waiting())


async def finish_jobs(
    session: Session, run: Callable[[Awaitable[Outcome]], Awaitable[ExitStatus]]
) -> ExitStatus:
    """Wait for running jobs, `run` a turn on each result, and stop what still runs after the limit."""
    limit_s = session.settings.async_.exit_wait_seconds
    clock = asyncio.get_running_loop().time
    waited_s = 0.0
    while True:
        await session.jobs.quiet(running=False)
        if may_continue(session):
            status = await run(session.go_on(results=True))
            if status.code != DONE:
                return status
            continue
        running = [job for job in session.jobs.list() if job.running]
        if not running:
            return ExitStatus(DONE)
        began_s = clock()
        with_agents = any(job.kind == "task" for job in running)  # these have own limits
        try:
            with session.activities.begin() as abort:
                async with abort.scope():
                    left_s = AGENT_WAIT_S if with_agents else limit_s - waited_s
                    ended = await session.jobs.wait([job.id for job in running], left_s)
        except Aborted:
            return ExitStatus(INTERRUPTED, f"Interrupted. {stop_jobs(session, running)}")
        waited_s += 0 if with_agents else clock() - began_s
        if not ended and not with_agents:
            remark = stop_jobs(session, running)
            return ExitStatus(JOBS_STOPPED, f"{remark} The setting async.exitWaitSeconds is {limit_s}.")


def stop_jobs(session: Session, jobs: list[Job]) -> str:
    """Stop jobs that still run, and say so."""
    for job in jobs:
        session.jobs.cancel(job.id)
    what = "a background job that was" if len(jobs) == 1 else f"{len(jobs)} background jobs that were"
    return f"Stopped {what} still running: {'; '.join(f'{job.id} ({job.label})' for job in jobs)}."
