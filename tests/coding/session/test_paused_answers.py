"""Answers that a server pauses, and thinking levels that a model lacks."""

from msgspec.structs import replace

from tau.agent.loop import MAX_PAUSES
from tau.ai.faux import FAUX_MODEL, Say, Stop
from tau.ai.wire import AssistantMessage
from tests.coding.session.driver import Driver, go

THINKER = replace(FAUX_MODEL, reasoning=True, thinking_level_map={"off": None, "minimal": None, "high": None})


def test_paused_answer_is_continued() -> None:
    driver = Driver([[Say("First half."), Stop("pause")], [Say("Second half.")]])
    outcome = go(driver)
    assert outcome.message is not None and outcome.message.text == "Second half."
    last = driver.faux.requests[1].messages[-1]
    assert isinstance(last, AssistantMessage) and last.text == "First half."
    assert last.stop_reason == "stop"


def test_answer_that_is_paused_forever_ends() -> None:
    driver = Driver([[Say("More."), Stop("pause")]])
    assert go(driver).error is None
    assert len(driver.faux.requests) == MAX_PAUSES + 1


def test_missing_thinking_level_is_reported_once() -> None:
    driver = Driver([[Say("a")], [Say("b")]], model=THINKER)
    driver.runner.next_request.thinking = "high"
    go(driver, "one")
    go(driver, "two")
    assert {request.thinking for request in driver.faux.requests} == {"medium"}
    assert driver.notices == ["faux/faux does not have the thinking level high; using medium."]
    driver.runner.next_request.thinking = "off"
    go(driver, "three")
    assert driver.faux.requests[-1].thinking == "low"
    assert driver.notices[1:] == ["faux/faux does not have the thinking level off; using low."]
