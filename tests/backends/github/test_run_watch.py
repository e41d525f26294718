"""run_watch: until the runs succeed or fail, with logs, late runs, rate limits and an abort."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tau.backends.github.gh import Gh
from tau.backends.github.names import parse_repository
from tau.backends.github.workflow_runs import RunWatch, WatchDetails, is_failure, render_watch
from tau.base.errors import ToolError
from tau.base.run import LocalRunner
from tests.backends.github.conftest import Use, said
from tests.support.fake_github import FakeGithub, Reply

SHA = "c0ffee" * 6 + "beef"


def run(id: int, status: str = "completed", conclusion: str | None = "success") -> dict[str, Any]:
    return {
        "id": id,
        "name": f"CI {id}",
        "status": status,
        "conclusion": conclusion,
        "html_url": f"https://github.com/octo/app/actions/runs/{id}",
        "head_branch": "main",
        "head_sha": SHA,
    }


def job(id: int, status: str = "completed", conclusion: str | None = "success") -> dict[str, Any]:
    steps = [{"name": "Test", "status": status, "conclusion": conclusion, "number": 1}]
    times = {"started_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:01:05Z"}
    return {
        "id": id,
        "name": f"job {id}",
        "status": status,
        "conclusion": conclusion,
        "steps": steps,
        **times,
    }


class Actions:
    """What GitHub answers, poll by poll; the last answer stays."""

    def __init__(
        self, github: FakeGithub, polls: list[dict[int, list[dict[str, Any]]]], runs: Any = run
    ) -> None:
        self.polls = polls
        self.github = github
        github.rest["/repos/octo/app/branches/.*"] = lambda call: {"commit": {"sha": SHA}}
        github.rest["/repos/octo/app/actions/runs"] = lambda call: {
            "workflow_runs": [*map(self._run, self._next())]
        }
        github.rest[r"/repos/octo/app/actions/runs/\d+/jobs"] = self._jobs
        github.rest[r"/repos/octo/app/actions/runs/\d+"] = lambda call: self._one(call)
        github.rest[r"/repos/octo/app/actions/jobs/\d+/logs"] = lambda call: "".join(
            f"2026-01-01T00:00:{n:02}.1234567Z line {n}\n" for n in range(30)
        )
        self.now: dict[int, list[dict[str, Any]]] = {}

    def _list(self, call: Any) -> dict[str, Any]:
        return {"workflow_runs": [*map(self._run, self._next())]}

    def _next(self) -> list[int]:
        self.now = self.polls.pop(0) if len(self.polls) > 1 else self.polls[0]
        return [*self.now]

    def _one(self, call: Any) -> dict[str, Any]:
        self._next()
        return self._run(int(call.path.rpartition("/")[2]))

    def _run(self, id: int) -> dict[str, Any]:
        jobs = self.now[id]
        if any(each["status"] != "completed" for each in jobs):
            return run(id, "in_progress", None)
        bad = [each["conclusion"] for each in jobs if is_failure("completed", each["conclusion"])]
        return run(id, conclusion=bad[0] if bad else "success")

    def _jobs(self, call: Any) -> dict[str, Any]:
        return {"jobs": self.now[int(call.path.split("/")[-2])]}


class Watched:
    """A watch whose waits take no time."""

    def __init__(self, checkout: Path) -> None:
        self.updates: list[WatchDetails] = []
        self.slept: list[float] = []
        self._runner = LocalRunner()
        self._gh = Gh(self._runner, checkout, sleep=self._sleep)
        self.watch = RunWatch(
            self._gh,
            parse_repository("octo/app"),
            self.updates.append,
            sleep=self._sleep,
            clock=lambda: sum(self.slept),
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def branch(self) -> WatchDetails:
        async def main() -> WatchDetails:
            try:
                return await self.watch.watch_branch("main")
            finally:
                self._runner.close()

        return asyncio.run(main())


@pytest.mark.parametrize(
    "conclusion", ["failure", "cancelled", "timed_out", "action_required", "startup_failure"]
)
def test_cancelled_and_refused_jobs_are_failures(conclusion: str) -> None:
    assert is_failure("completed", conclusion)
    assert not any(is_failure("completed", each) for each in ("success", "skipped", "neutral"))
    assert not is_failure("in_progress", "")


def test_success_counts_when_no_late_run_appeared(github: FakeGithub, checkout: Path) -> None:
    running = {1: [job(11, "in_progress", None)]}
    Actions(
        github,
        [
            {},
            running,
            {1: [job(11)]},
            {1: [job(11)], 2: [job(21, "queued", None)]},
            {1: [job(11)], 2: [job(21)]},
        ],
    )
    watched = Watched(checkout)
    state = watched.branch()
    assert state.verdict == "success" and [one.id for one in state.runs] == [1, 2]
    assert watched.slept == [3.0] * 5
    notes = [update.note for update in watched.updates]
    assert notes[0] == "Waiting for the first run." and "late ones" in notes[2]
    assert "- job 11: success, 65 s" in render_watch(state)


def test_no_run_within_a_minute_ends_the_watch(github: FakeGithub, checkout: Path) -> None:
    Actions(github, [{}])
    watched = Watched(checkout)
    state = watched.branch()
    assert state.verdict == "none" and "within 60 s" in state.note
    assert sum(watched.slept) == 60


def test_failed_jobs_come_with_the_end_of_their_logs_and_an_artifact(github: FakeGithub, use: Use) -> None:
    Actions(github, [{5: [job(51), job(52, conclusion="cancelled"), job(53, conclusion="skipped")]}])
    output = use("run_watch", run="https://github.com/octo/app/actions/runs/5/job/52", tail=2)
    text = said(output)
    assert "# GitHub Actions: failed" in text and "- job 52: cancelled" in text
    assert "line 28\nline 29" in text and "line 27" not in text
    assert f"Full failed-job logs: artifact://{output.details.artifact_id}" in text
    assert output.details.failed_jobs == ["job 52"] and output.details.conclusion == "failure"


def test_jobs_that_fail_together_are_in_one_report(github: FakeGithub, checkout: Path) -> None:
    first = {5: [job(51, conclusion="failure"), job(52, "in_progress", None)]}
    Actions(github, [first, {5: [job(51, conclusion="failure"), job(52, conclusion="failure")]}])
    watched = Watched(checkout)
    state = watched.branch()
    assert watched.slept == [5.0] and "waiting for others" in watched.updates[-1].note
    assert [each.failed for each in state.runs[0].jobs] == [True, True]


def test_a_missing_log_does_not_fail_the_watch(github: FakeGithub, use: Use) -> None:
    Actions(github, [{5: [job(51, conclusion="failure")]}])
    github.rest[r"/repos/octo/app/actions/jobs/\d+/logs"] = lambda call: Reply({"message": "Gone"}, 410)
    assert "Log tail unavailable." in said(use("run_watch", run="5", repo="octo/app"))


def test_a_run_of_another_repository_is_refused(github: FakeGithub, use: Use) -> None:
    with pytest.raises(ToolError, match=r"is in github\.com/a/b, not in octo/app"):
        use("run_watch", run="https://github.com/a/b/actions/runs/5", repo="octo/app")


@pytest.mark.parametrize(
    "message", ["API rate limit exceeded for user ID 1.", "You have exceeded a secondary rate limit"]
)
def test_a_short_rate_limit_is_waited_for(message: str, github: FakeGithub, checkout: Path) -> None:
    answers = [Reply({"message": message}, 403), Reply({"commit": {"sha": SHA}})]
    Actions(github, [{1: [job(11)]}])
    github.rest["/repos/octo/app/branches/.*"] = lambda call: answers.pop(0)
    limit = {"limit": 1, "remaining": 0, "reset": int(time.time()) + 20}
    github.rest["/rate_limit"] = lambda call: {"resources": {"core": limit}}
    watched = Watched(checkout)
    assert watched.branch().verdict == "success"
    assert 15 < watched.slept[0] <= 61


def test_a_long_rate_limit_is_an_error_with_its_time(github: FakeGithub, use: Use) -> None:
    github.rest["/search/issues"] = lambda call: Reply({"message": "API rate limit exceeded"}, 403)
    limit = {"limit": 1, "remaining": 0, "reset": int(time.time()) + 1_900}
    github.rest["/rate_limit"] = lambda call: {"resources": {"search": limit}}
    with pytest.raises(ToolError, match=r"used up until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(in 3\d min\)"):
        use("search_issues", query="x", repo="octo/app")


def test_stopping_a_watch_ends_gh_at_once(github: FakeGithub, checkout: Path) -> None:
    Actions(github, [{1: [job(11, "in_progress", None)]}])
    watched = Watched(checkout)
    started = asyncio.Event()

    async def main() -> None:
        async def sleep(seconds: float) -> None:
            started.set()
            await asyncio.Event().wait()

        watched.watch._sleep = sleep
        task = asyncio.get_running_loop().create_task(watched.watch.watch_branch("main"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        watched._runner.close()

    asyncio.run(main())
    assert watched.updates[-1].verdict == "watching"
