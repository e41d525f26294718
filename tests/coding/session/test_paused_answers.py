"""Answers that a server pauses, and thinking levels and service tiers that a model lacks."""

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


def test_service_tier_that_an_api_lacks_is_dropped_and_reported_once() -> None:
    claude = replace(FAUX_MODEL, api="anthropic-messages")
    driver = Driver([[Say("a")]], model=claude)
    setup = driver.runner.next_request
    setup.service_tier = "flex"
    go(driver, "one")
    driver.models.default = FAUX_MODEL
    go(driver, "two")
    driver.models.default = claude
    go(driver, "three")
    assert [request.service_tier for request in driver.faux.requests] == [None, "flex", None]
    assert driver.notices == ["faux/faux does not have the service tier flex; using its usual one."]
    setup.service_tier = "auto"
    go(driver, "four")
    assert driver.faux.requests[-1].service_tier == "auto"
    assert len(driver.notices) == 1


def test_resumed_session_keeps_fast() -> None:
    driver = Driver([[Say("a")]])
    driver.runner.next_request.use_fast(True)
    assert Driver([[Say("b")]], log=driver.log).runner.setup().service_tier == "priority"
    driver.runner.next_request.use_fast(False)
    assert Driver([[Say("c")]], log=driver.log).runner.setup().service_tier is None
