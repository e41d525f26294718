"""Watches GitHub Actions until a run, or all runs of a commit, succeed or fail."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import quote

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.backends.github.gh import Gh
from tau.backends.github.names import RepositoryName
from tau.backends.github.searches import SHORT_SHA, flat
from tau.base.errors import ToolError
from tau.base.text import plain, strip_controls

JOBS_PAGE = 100
MAX_JOB_PAGES = 5
MAX_LOGS = 20
MAX_LOG_LINE_CHARS = 500
FINE = frozenset({"success", "neutral", "skipped"})
_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ")

Verdict: TypeAlias = Literal["watching", "success", "failure", "none"]
T = TypeVar("T")


class RunStep(Struct, frozen=True, rename="camel"):
    name: str = ""
    status: str = ""
    conclusion: str = ""
    duration_s: int | None = None


class RunJob(Struct, frozen=True, rename="camel"):
    """A job as every face shows it."""

    id: int
    name: str
    status: str
    conclusion: str = ""
    duration_s: int | None = None
    url: str = ""
    steps: list[RunStep] = []

    @property
    def failed(self) -> bool:
        return is_failure(self.status, self.conclusion)


class WatchedRun(Struct, frozen=True, rename="camel"):
    id: int
    workflow: str
    status: str
    conclusion: str = ""
    url: str = ""
    branch: str = ""
    head_sha: str = ""
    jobs: list[RunJob] = []

    @property
    def failed(self) -> bool:
        ended = self.status == "completed"
        return is_failure(self.status, self.conclusion) if ended else any(job.failed for job in self.jobs)

    @property
    def succeeded(self) -> bool:
        return self.status == "completed" and self.conclusion in FINE


class FailedLog(Struct, frozen=True, rename="camel"):
    """The end of a failed job's log; `full` is for the artifact and not sent anywhere else."""

    job: str
    run: int
    available: bool
    tail: str = ""


class WatchDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """What the watch knows: `note` says what it waits for."""

    mode: Literal["run", "commit"]
    verdict: Verdict
    repo: str
    head_sha: str | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    runs: list[WatchedRun] = []
    note: str = ""
    polls: int = 0
    failed_logs: list[FailedLog] = []


class WatchTimes(Struct, frozen=True):
    poll_s: float = 3.0
    grace_s: float = 5.0
    first_run_s: float = 60.0


TIMES = WatchTimes()


class _Step(Struct, frozen=True):
    name: str = ""
    status: str = ""
    conclusion: str | None = None
    started_at: str | None = None
    completed_at: str | None = None


class _Job(_Step, frozen=True):
    id: int = 0
    html_url: str | None = None
    steps: list[_Step] = []


class _Jobs(Struct, frozen=True):
    jobs: list[_Job] = []


class _Run(Struct, frozen=True):
    id: int = 0
    name: str | None = None
    display_title: str = ""
    status: str | None = None
    conclusion: str | None = None
    html_url: str = ""
    head_branch: str | None = None
    head_sha: str = ""


class _Runs(Struct, frozen=True):
    workflow_runs: list[_Run] = []


class _Tip(Struct, frozen=True):
    sha: str = ""


class _Branch(Struct, frozen=True):
    commit: _Tip = _Tip()


def is_failure(status: str, conclusion: str) -> bool:
    """Ended, and not well: a cancelled, timed out or refused job is a failure, a skipped one is not."""
    return status == "completed" and conclusion not in FINE


class RunWatch:
    """One watch. `update` gets each state; `sleep` and `clock` measure the waits."""

    def __init__(
        self,
        gh: Gh,
        repository: RepositoryName,
        update: Callable[[WatchDetails], None],
        times: WatchTimes = TIMES,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gh = gh
        self._repository = repository
        self._update = update
        self._times = times
        self._sleep = sleep
        self._clock = clock
        self._polls = 0

    async def watch_run(self, id: int) -> WatchDetails:
        """Until this run has ended or failed. Raises ToolError."""
        while True:
            run = await self._with_jobs(await self._get(_Run, f"/actions/runs/{id}"))
            state = self._state("run", [run], run.branch, run.head_sha)
            if state.verdict == "failure":
                return await self._after_grace(state, lambda: self._get(_Run, f"/actions/runs/{id}"))
            if state.verdict == "success":
                return state
            await self._pause(state)

    async def watch_branch(self, branch: str) -> WatchDetails:
        """Until all runs of the branch's last commit have ended, or one failed. Raises ToolError."""
        tip = await self._get(_Branch, f"/branches/{quote(branch, safe='/')}")
        sha, began, confirmed = tip.commit.sha, self._clock(), frozenset[int]()
        while True:
            runs = [await self._with_jobs(run) for run in await self._runs(sha)]
            state = self._state("commit", runs, branch, sha)
            if state.verdict == "failure":
                return await self._after_grace(state, None)
            ids = frozenset(run.id for run in runs)
            if state.verdict == "success" and ids == confirmed:
                return state
            confirmed = ids if state.verdict == "success" else frozenset()
            if not runs and self._clock() - began >= self._times.first_run_s:
                note = f"No workflow run for {sha[:SHORT_SHA]} within {self._times.first_run_s:.0f} s."
                return replace(state, verdict="none", note=note)
            note = "All runs succeeded; looking once more for late ones." if confirmed else ""
            note = note or ("" if runs else "Waiting for the first run.")
            await self._pause(replace(state, verdict="watching", note=note))

    async def read_logs(self, state: WatchDetails, tail: int) -> tuple[WatchDetails, str]:
        """The ends of the failed jobs' logs, and the whole logs as one text."""
        failed = [(run, job) for run in state.runs for job in run.jobs if job.failed]
        logs, full = [], []
        for run, job in failed[:MAX_LOGS]:
            text = await self._log(job.id)
            title = f"===== {run.workflow} / {job.name} (job {job.id}) ====="
            full.append(f"{title}\n{text or 'Full log unavailable.'}\n")
            lines = [_STAMP.sub("", line)[:MAX_LOG_LINE_CHARS] for line in (text or "").rstrip().splitlines()]
            logs.append(FailedLog(job.name, run.id, text is not None, "\n".join(lines[-tail:])))
        note = state.note
        if len(failed) > MAX_LOGS:
            note = f"Only the logs of {MAX_LOGS} of {len(failed)} failed jobs were read."
        return replace(state, failed_logs=logs, note=note), "\n".join(full)

    async def _after_grace(
        self, state: WatchDetails, again: Callable[[], Awaitable[_Run]] | None
    ) -> WatchDetails:
        """Jobs that fail at the same time belong to the report too."""
        if all(run.status == "completed" for run in state.runs):
            return state
        self._update(replace(state, verdict="watching", note="A job failed; waiting for others."))
        await self._sleep(self._times.grace_s)
        runs = [await again()] if again is not None else await self._runs(str(state.head_sha))
        watched = [await self._with_jobs(run) for run in runs]
        return self._state(state.mode, watched, str(state.branch or ""), str(state.head_sha))

    async def _pause(self, state: WatchDetails) -> None:
        self._update(state)
        await self._sleep(self._times.poll_s)

    def _state(
        self, mode: Literal["run", "commit"], runs: Sequence[WatchedRun], branch: str, sha: str
    ) -> WatchDetails:
        self._polls += 1
        verdict: Verdict = "watching"
        if any(run.failed for run in runs):
            verdict = "failure"
        elif runs and all(run.succeeded for run in runs):
            verdict = "success"
        return WatchDetails(
            mode=mode,
            verdict=verdict,
            repo=self._repository.slug,
            head_sha=sha or UNSET,
            branch=branch or UNSET,
            runs=list(runs),
            polls=self._polls,
        )

    async def _get(self, kind: type[T], path: str, *more: str) -> T:
        words = ("api", "--method", "GET", f"/repos/{self._repository.slug}{path}", *more)
        return await self._gh.json(kind, *words, host=self._repository.host, repo=True)

    async def _runs(self, sha: str) -> list[_Run]:
        found = await self._get(_Runs, "/actions/runs", "-f", f"head_sha={sha}", "-F", "per_page=100")
        return found.workflow_runs

    async def _with_jobs(self, run: _Run) -> WatchedRun:
        jobs: list[RunJob] = []
        for page in range(1, MAX_JOB_PAGES + 1):
            words = ("-F", f"per_page={JOBS_PAGE}", "-F", f"page={page}")
            found = (await self._get(_Jobs, f"/actions/runs/{run.id}/jobs", *words)).jobs
            jobs += map(_job, found)
            if len(found) < JOBS_PAGE:
                break
        return WatchedRun(
            id=run.id,
            workflow=flat(run.name or run.display_title),
            status=run.status or "",
            conclusion=run.conclusion or "",
            url=run.html_url,
            branch=run.head_branch or "",
            head_sha=run.head_sha,
            jobs=jobs,
        )

    async def _log(self, job: int) -> str | None:
        words = ("api", f"/repos/{self._repository.slug}/actions/jobs/{job}/logs")
        try:
            answer = await self._gh.run(*words, host=self._repository.host)
        except ToolError:
            return None
        if answer.code:
            return None
        return strip_controls(plain(answer.output.decode("utf-8", "replace")))


def _job(job: _Job) -> RunJob:
    steps = [
        RunStep(flat(step.name), step.status, step.conclusion or "", _seconds(step)) for step in job.steps
    ]
    return RunJob(
        id=job.id,
        name=flat(job.name),
        status=job.status,
        conclusion=job.conclusion or "",
        duration_s=_seconds(job),
        url=job.html_url or "",
        steps=steps,
    )


def _seconds(part: _Step) -> int | None:
    try:
        began, ended = (datetime.fromisoformat(text or "") for text in (part.started_at, part.completed_at))
    except ValueError:
        return None
    return max(0, round((ended - began).total_seconds()))


def render_watch(state: WatchDetails) -> str:
    """The state for the model."""
    heads = {
        "watching": "still running",
        "success": "succeeded",
        "failure": "failed",
        "none": "found no runs",
    }
    rows = [f"# GitHub Actions: {heads[state.verdict]}", "", f"Repository: {state.repo}"]
    rows += [f"Branch: {flat(state.branch)}"] if state.branch else []
    rows += [f"Commit: {str(state.head_sha)[:SHORT_SHA]}"] if state.head_sha else []
    rows += [state.note] if state.note else []
    for run in state.runs:
        rows += ["", f"## {run.workflow} (run {run.id}): {run.conclusion or run.status}", run.url]
        for job in run.jobs:
            took = "" if job.duration_s is None else f", {job.duration_s} s"
            rows.append(f"- {job.name}: {job.conclusion or job.status}{took}")
            bad = (step for step in job.steps if is_failure(step.status, step.conclusion))
            rows += [f"  - {step.name}: {step.conclusion}" for step in bad] if job.failed else []
    for log in state.failed_logs:
        rows += ["", f"### Log of {log.job} (run {log.run})", ""]
        rows += [log.tail if log.available else "Log tail unavailable."]
    return "\n".join(rows)
