"""Recovery from a failed run."""

import asyncio

import pytest

from tau.agent.abort import Abort, Aborted
from tau.agent.events import AgentEvent, RetryEnd, RetryStart, TurnEnd
from tau.ai.faux import Count, Fail, FauxStep, Say, Stop, Think, Use
from tau.ai.wire import AssistantMessage
from tau.base.errors import ProviderError, TauError
from tau.coding.session.recovery import RoomReason
from tau.config.settings import RetrySettings
from tests.coding.session.driver import Driver, busy, go, in_time

TOO_LONG = ProviderError("prompt is too long", status=400, overflow=True)
SLOW = RetrySettings(max_retries=2, base_delay_ms=60_000)


def text_of(message: AssistantMessage | None) -> str:
    assert message is not None
    return message.text


def test_fatal_failure_ends_at_once_with_the_servers_message() -> None:
    for error in (ProviderError("no such model", status=404), ProviderError("bad key", status=401)):
        driver = Driver([[Fail(error)], [Say("never")]], room=[True])
        outcome = go(driver)
        assert outcome.error is error
        assert len(driver.faux.requests) == 1
        assert driver.events_about("retry") == []
        assert driver.asked == []


def test_transient_failure_is_retried_and_the_wait_reported() -> None:
    driver = Driver([[Fail(busy())], [Fail(busy(retry_after=0.003))], [Say("Well.")]])
    outcome = go(driver)
    assert (outcome.error, text_of(outcome.message)) == (None, "Well.")
    starts = [event for event in driver.events if isinstance(event, RetryStart)]
    assert [(start.attempt, start.max_attempts) for start in starts] == [(1, 2), (2, 2)]
    assert starts[1].delay_ms == 3
    assert driver.events_about("retry") == ["auto_retry_start", "auto_retry_start", "auto_retry_end"]
    assert all(request.messages == driver.faux.requests[0].messages for request in driver.faux.requests)
    assert len([m for m in outcome.messages if isinstance(m, AssistantMessage)]) == 3


def test_success_is_reported_with_the_first_answer_not_at_the_end_of_a_long_run() -> None:
    script: list[list[FauxStep]] = [[Fail(busy())], [Use("echo", text="x")], [Say("Done.")]]
    driver = Driver(script)
    go(driver)
    events_about = [type(event).__name__ for event in driver.events]
    assert events_about.index("RetryEnd") < events_about.index("ToolStart")
    [end] = [event for event in driver.events if isinstance(event, RetryEnd)]
    assert (end.success, end.attempt) == (True, 1)


def test_every_answer_resets_the_retry_count() -> None:
    script: list[list[FauxStep]] = []
    for number in range(4):
        script += [[Fail(busy())], [Fail(busy())], [Use("echo", text=str(number))]]
    driver = Driver([*script, [Say("Done.")]])
    assert go(driver).error is None
    assert [e.success for e in driver.events if isinstance(e, RetryEnd)] == [True] * 4


def test_exhausted_retries_report_the_failure() -> None:
    driver = Driver([[Fail(busy())]])
    outcome = go(driver)
    assert isinstance(outcome.error, ProviderError) and outcome.error.retryable
    assert len(driver.faux.requests) == 3
    [end] = [event for event in driver.events if isinstance(event, RetryEnd)]
    assert (end.success, end.attempt, end.final_error) == (False, 2, "busy, come back")


def test_final_refusal_after_a_retry_is_reported_as_its_end() -> None:
    driver = Driver([[Fail(busy())], [Fail(ProviderError("This is too long.", overflow=True))]])
    assert go(driver).error is not None
    [end] = [event for event in driver.events if isinstance(event, RetryEnd)]
    assert (end.success, end.attempt) == (False, 1)
    assert str(end.final_error).startswith("This is too long.")


@pytest.mark.parametrize(
    ("asked_s", "allowed_ms", "delays"),
    [
        (7200, 300_000, "2 h; retry.maxDelayMs allows 5 min"),
        (119 * 60, 120_000, "119 min; retry.maxDelayMs allows 2 min"),
        (119.4, 30_000, "119 s; retry.maxDelayMs allows 30 s"),
    ],
)
def test_wait_longer_than_allowed_is_reported(asked_s: float, allowed_ms: int, delays: str) -> None:
    settings = RetrySettings(max_retries=2, base_delay_ms=1, max_delay_ms=allowed_ms)
    driver = Driver([[Fail(busy(retry_after=asked_s))]], retry=settings)
    assert go(driver).error is not None
    assert len(driver.faux.requests) == 1
    assert driver.notices == [f"The server asks for a delay of {delays}."]


def test_exhausted_quota_is_not_waited_for() -> None:
    driver = Driver([[Fail(busy(quota=True, status=429))]])
    assert go(driver).error is not None
    assert (len(driver.faux.requests), driver.events_about("retry")) == (1, [])


def test_wait_can_be_ended_without_an_abort() -> None:
    driver = Driver([[Fail(busy())]], retry=SLOW)

    def stop(event: AgentEvent) -> None:
        if isinstance(event, RetryStart):
            asyncio.get_running_loop().call_soon(lambda: stopped.append(driver.recovery.cancel_wait()))

    stopped: list[bool] = []
    driver.bus.subscribe(stop)
    outcome = go(driver)
    assert (stopped, outcome.aborted) == ([True], False)
    assert str(outcome.error) == "busy, come back"
    assert driver.events_about("retry") == ["auto_retry_start", "auto_retry_end"]
    assert not driver.recovery.waiting
    assert not driver.recovery.cancel_wait()


def test_wait_can_be_ended_the_moment_it_is_reported() -> None:
    driver = Driver([[Fail(busy())]], retry=SLOW)
    driver.bus.subscribe(lambda event: isinstance(event, RetryStart) and driver.recovery.cancel_wait())  # type: ignore[arg-type]
    assert not go(driver).aborted


def test_abort_ends_a_wait() -> None:
    driver = Driver([[Fail(busy())]], retry=SLOW)
    abort = Abort()

    def stop(event: AgentEvent) -> None:
        if isinstance(event, RetryStart):
            asyncio.get_running_loop().call_soon(abort.abort)

    driver.bus.subscribe(stop)
    outcome = asyncio.run(in_time(driver.prompt(abort=abort)))
    assert outcome.aborted
    assert driver.events_about("retry") == ["auto_retry_start", "auto_retry_end"]


@pytest.mark.parametrize("error", [busy(), TOO_LONG])
def test_failure_of_an_aborted_run_is_final(error: ProviderError) -> None:
    driver = Driver([[Fail(error)]], room=[True])
    abort = Abort()
    driver.bus.subscribe(lambda event: abort.abort() if isinstance(event, TurnEnd) else None)
    assert asyncio.run(in_time(driver.prompt(abort=abort))).error is error
    assert (len(driver.faux.requests), driver.events_about("retry"), driver.asked) == (1, [], [])


def test_overflow_is_compacted_and_resent_without_a_retry() -> None:
    driver = Driver([[Fail(TOO_LONG)], [Say("Fits.")]], room=[True])
    outcome = go(driver)
    assert (outcome.error, text_of(outcome.message)) == (None, "Fits.")
    assert driver.asked == ["overflow"]
    assert driver.events_about("retry") == []


def test_gives_up_after_four_useless_compactions() -> None:
    driver = Driver([[Fail(TOO_LONG)]], room=[True])
    outcome = go(driver)
    assert driver.asked == ["overflow"] * 4
    assert len(driver.faux.requests) == 5
    assert isinstance(outcome.error, ProviderError)
    assert (outcome.error.overflow, outcome.error.retryable) == (True, False)
    assert str(outcome.error) == (
        "prompt is too long. The conversation could not be made small enough; "
        "start a new session, or use a model with a larger context window."
    )


def test_answer_in_between_allows_compactions_again() -> None:
    script: list[list[FauxStep]] = []
    for number in range(4):
        script += [[Fail(TOO_LONG)], [Use("echo", text=str(number))]]
    driver = Driver([*script, [Say("Done.")]], room=[True])
    assert go(driver).error is None
    assert driver.asked == ["overflow"] * 4


@pytest.mark.parametrize("room", (None, [False]))
def test_overflow_without_room_ends_the_run(room: list[bool] | None) -> None:
    driver = Driver([[Fail(TOO_LONG)]], room=room)
    outcome = go(driver)
    assert str(outcome.error).startswith("prompt is too long")
    assert ("new session" in str(outcome.error)) is (room is not None)
    assert len(driver.faux.requests) == 1


def test_failed_or_aborted_compaction_does_not_raise() -> None:
    async def fail(abort: Abort, reason: RoomReason) -> bool:
        raise TauError("The summary failed.")

    driver = Driver([[Fail(TOO_LONG)]], compact=fail)
    assert go(driver).error is not None
    assert "The conversation could not be compacted: The summary failed." in driver.notices

    async def stop(wanted: Abort, reason: RoomReason) -> bool:
        if reason == "overflow":
            wanted.abort()
            raise Aborted
        return False

    driver = Driver([[Fail(TOO_LONG)]], compact=stop)
    assert go(driver).aborted


def test_room_is_requested_before_every_request() -> None:
    asked: list[RoomReason] = []

    async def note(abort: Abort, reason: RoomReason) -> bool:
        asked.append(reason)
        raise Aborted

    driver = Driver([[Use("echo", text="x")], [Say("Done.")]], compact=note)
    assert go(driver).error is None
    assert asked == ["threshold", "threshold"]


def test_answer_cut_off_by_a_full_window_is_requested_again() -> None:
    cut: list[FauxStep] = [Think("Hm"), Count(input=199_000, output=900), Stop("length")]
    driver = Driver([cut, [Say("Now.")]], room=[True])
    outcome = go(driver)
    assert driver.asked == ["incomplete"]
    assert text_of(outcome.message) == "Now."
    driver = Driver([cut], room=[True])
    assert "context window is full" in str(go(driver).error)
    assert driver.asked == ["incomplete"] * 4


@pytest.mark.parametrize(
    "cut",
    [
        [Say("Half an answ"), Count(input=199_000, output=900), Stop("length")],
        [Think("Hm"), Count(input=100, output=8_192), Stop("length")],
        [Think("Hm"), Stop("length")],
    ],
    ids=("words", "output limit", "unknown"),
)
def test_other_truncated_answers_are_kept(cut: list[FauxStep]) -> None:
    driver = Driver([cut], room=[True])
    outcome = go(driver)
    assert (outcome.error, driver.asked, len(driver.faux.requests)) == (None, [], 1)


def test_empty_answer_is_requested_again() -> None:
    driver = Driver([[], [Say(" \n")], [Say("Yes.")]], retry=RetrySettings(base_delay_ms=1))
    outcome = go(driver)
    assert text_of(outcome.message) == "Yes."
    assert driver.events_about("retry") == ["auto_retry_start", "auto_retry_start", "auto_retry_end"]
    assert driver.faux.requests[2].messages == driver.faux.requests[0].messages


def test_repeated_empty_answers_are_a_transient_failure() -> None:
    driver = Driver([[]], retry=RetrySettings(base_delay_ms=1))
    error = go(driver).error
    assert isinstance(error, ProviderError) and error.retryable
    assert "empty responses" in str(error)
    assert len(driver.faux.requests) == 4


def test_empty_answer_after_tool_calls_is_accepted() -> None:
    driver = Driver([[Use("echo", text="x")], []], retry=RetrySettings(base_delay_ms=1))
    outcome = go(driver)
    assert outcome.error is None
    assert len(driver.faux.requests) == 5


def test_without_retries_an_empty_answer_is_kept() -> None:
    driver = Driver([[]], retry=RetrySettings(enabled=False))
    assert go(driver).error is None
    assert len(driver.faux.requests) == 1


def test_thinking_alone_is_an_answer() -> None:
    driver = Driver([[Think("Hm")]])
    assert go(driver).error is None
    assert len(driver.faux.requests) == 1
