"""Which task starts when: order, attempts, dependencies, and limits shared by all workers."""

import pytest

from tau.modes.batch.limiter import Limiter, RateLimits
from tau.modes.batch.scheduler import Scheduler, TaskPlan, TaskStart


def scheduler(plans: dict[str, TaskPlan], jobs: int = 8, limits: RateLimits | None = None) -> Scheduler:
    made = Scheduler(plans, lambda _: Limiter(jobs, limits or RateLimits()), jobs)
    assert list(made.load({}, {})) == []
    return made


def drain(made: Scheduler, now: float = 0.0) -> list[str]:
    started = []
    while (start := made.next(now)) is not None:
        started.append(start.key)
    return started


def test_starts_as_many_as_jobs_in_order() -> None:
    made = scheduler({name: TaskPlan("p") for name in "abc"}, jobs=2)
    assert drain(made) == ["a", "b"] and made.waiting == 1
    assert made.ended("a", "done") == (True, ())
    assert drain(made) == ["c"]


def test_failed_task_is_retried_until_its_attempts_are_used() -> None:
    made = scheduler({"a": TaskPlan("p", attempts=2), "b": TaskPlan("p")})
    assert made.next(0) == TaskStart("a", 1)
    assert made.ended("a", "failed") == (False, ())
    assert drain(made) == ["b", "a"]
    assert made.running["a"] == 2
    assert made.ended("a", "failed") == (True, ())


@pytest.mark.parametrize("status", ["done", "budget", "unsupported", "cancelled"])
def test_other_results_are_final(status: str) -> None:
    made = scheduler({"a": TaskPlan("p", attempts=3)})
    made.next(0)
    assert made.ended("a", status) == (True, ())  # type: ignore[arg-type]


def test_task_waits_for_those_it_comes_after() -> None:
    made = scheduler({"c": TaskPlan("p", after=("a", "b")), "a": TaskPlan("p"), "b": TaskPlan("p")})
    assert drain(made) == ["a", "b"]
    made.ended("a", "done")
    assert drain(made) == []
    made.ended("b", "done")
    assert drain(made) == ["c"]


def test_tasks_after_a_failure_are_cancelled() -> None:
    plans = {
        "a": TaskPlan("p"),
        "b": TaskPlan("p", after=("a",)),
        "c": TaskPlan("p", after=("b",)),
        "d": TaskPlan("p"),
    }
    made = scheduler(plans, jobs=1)
    made.next(0)
    assert made.ended("a", "failed") == (True, ("b", "c"))
    assert drain(made) == ["d"] and made.waiting == 0


def test_requeued_task_comes_first_and_counts_no_attempt() -> None:
    made = scheduler({"a": TaskPlan("p"), "b": TaskPlan("p")}, jobs=1)
    made.next(0)
    made.requeue("a")
    assert made.next(0) == TaskStart("a", 1)


def test_loads_what_an_earlier_run_left() -> None:
    plans = {
        "a": TaskPlan("p"),
        "b": TaskPlan("p", after=("a",)),
        "c": TaskPlan("p", after=("x",)),
        "x": TaskPlan("p"),
    }
    made = Scheduler(plans, lambda _: Limiter(8), 8)
    assert list(made.load({"a": "done", "x": "failed"}, {"b": 1})) == ["c"]
    assert made.next(0) == TaskStart("b", 2)


def test_paused_provider_holds_up_no_other() -> None:
    made = scheduler({"a": TaskPlan("slow"), "b": TaskPlan("slow"), "c": TaskPlan("fast")}, jobs=4)
    made.next(0)
    made.limiter("slow").refused(0, 10)
    made.requeue("a")
    assert drain(made) == ["c"]
    assert made.wake_at(0) == 10
    assert drain(made, 10) == ["a"], "half of one is one"


def test_refusals_halve_the_concurrency_once_for_each_pause() -> None:
    limiter = Limiter(16)
    for _ in range(16):
        limiter.started()
    for _ in range(5):
        limiter.refused(0, 2)
        limiter.ended(success=False)
    assert limiter.concurrency == 8
    assert limiter.free_at(0) is None, "11 run, 8 may"
    for _ in range(8):
        limiter.ended(success=True)
    assert limiter.free_at(0) == 2, "not before the server's time"
    assert limiter.concurrency == 15, "one for each success, up to where it was refused"


def test_concurrency_grows_beyond_a_refusal_only_slowly() -> None:
    limiter = Limiter(8)
    for _ in range(4):
        limiter.started()
    limiter.refused(0, 1)
    grown = 0
    while limiter.concurrency < 4:
        limiter.started()
        limiter.ended(success=True)
        grown += 1
    assert 20 <= grown <= 60


def test_requests_and_tokens_a_minute_delay_starts() -> None:
    limiter = Limiter(8, RateLimits(requests_a_minute=2))
    limiter.used(0, 1, 10)
    assert limiter.free_at(1) == 1
    limiter.used(30, 1, 10)
    assert limiter.free_at(40) == 60, "the first one leaves the window"
    limiter = Limiter(8, RateLimits(tokens_a_minute=100))
    limiter.used(0, 1, 100)
    assert limiter.free_at(10) == 60


def test_concurrency_limit_of_a_provider() -> None:
    limiter = Limiter(8, RateLimits(concurrency=1))
    limiter.started()
    assert limiter.free_at(0) is None


def test_cancel_takes_what_waits_and_what_depends_on_it() -> None:
    made = scheduler({"a": TaskPlan("p"), "b": TaskPlan("p", after=("a",))})
    assert list(made.cancel("a")) == ["a", "b"] and made.finished


def test_stopped_scheduler_finishes_when_nothing_runs() -> None:
    made = scheduler({"a": TaskPlan("p"), "b": TaskPlan("p")}, jobs=1)
    made.next(0)
    made.stopped = True
    assert not made.finished and made.wake_at(0) is None
    made.ended("a", "done")
    assert made.finished and made.next(0) is None and made.waiting == 1
