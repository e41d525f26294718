"""How long an answer may be, as servers refuse and cut answers."""

import pytest
from msgspec.structs import replace

from tau.ai.faux import FAUX_MODEL, Count, Fail, FauxStep, Say, Stop, Think, Use
from tau.base.errors import ProviderError
from tests.coding.session.driver import Driver, go

LARGE = replace(FAUX_MODEL, max_tokens=128_000, context_window=200_000, reasoning=False)
TOO_MUCH = ProviderError(
    "you requested 20000 tokens", status=400, overflow=True, answer_limit=4_576, window=8_192
)


def asked(driver: Driver) -> list[int]:
    return [request.max_tokens for request in driver.faux.requests]


def test_first_request_does_not_use_up_the_plans_tokens_per_minute() -> None:
    driver = Driver([[Say("Hi.")]], model=LARGE)
    go(driver)
    assert asked(driver) == [16_384]
    thinking = Driver([[Say("Hi.")]], model=replace(LARGE, reasoning=True))
    go(thinking)
    assert asked(thinking) == [32_768]


def test_server_with_a_small_window_is_asked_for_less_instead_of_compacting() -> None:
    driver = Driver([[Fail(TOO_MUCH)], [Say("Hi.")], [Say("Again.")]], model=LARGE, room=[False])
    outcome = go(driver)
    assert outcome.error is None and driver.asked == []
    assert driver.runner.next_request.build().model.context_window == 8_192
    go(driver)
    assert asked(driver) == [16_384, 4_576, 16_384]  # the dialect fits the last one into the known window


def test_limit_of_a_plan_holds_for_the_session() -> None:
    limited = ProviderError("Limit 6000, Requested 19000", status=413, quota=True, answer_limit=3_384)
    driver = Driver([[Fail(limited)], [Say("Hi.")], [Say("Again.")]], model=LARGE, room=[False])
    assert go(driver).error is None and go(driver).error is None
    assert asked(driver) == [16_384, 3_384, 3_384]
    assert driver.notices == ["The server allows answers of 3,384 tokens here; asking again."]


def test_server_that_is_never_content_ends_the_run() -> None:
    limits = [ProviderError("no", status=400, answer_limit=limit) for limit in (9000, 8000, 7000, 6000, 5000)]
    driver = Driver([[Fail(limit)] for limit in limits], model=LARGE, room=[False])
    outcome = go(driver)
    assert outcome.error is limits[-1]
    assert asked(driver) == [16_384, 9_000, 8_000, 7_000, 6_000]
    same = Driver([[Fail(limits[0])], [Fail(limits[0])]], model=LARGE, room=[False])
    assert go(same).error is limits[0] and len(asked(same)) == 2


def test_call_cut_off_by_the_limit_gets_more_room_the_second_time() -> None:
    cut = [Use("echo", text="x"), Count(output=16_384), Stop("length")]
    driver = Driver([cut, [Say("Done.")]], model=LARGE, room=[False])
    go(driver)
    assert asked(driver) == [16_384, 32_768]


@pytest.mark.parametrize("shown", [[Think("Hm, so")], []], ids=["shown", "hidden"])
def test_thinking_that_fills_the_answer_gets_more_room_instead_of_a_compaction(shown: list[FauxStep]) -> None:
    script: list[list[FauxStep]] = [
        [*shown, Count(input=100, output=output), Stop("length")] for output in (16_384, 32_768, 65_536)
    ]
    driver = Driver([*script, [Say("Done.")]], model=LARGE, room=[True])
    outcome = go(driver)
    assert driver.asked == []
    assert asked(driver) == [16_384, 32_768, 65_536, 128_000]
    assert outcome.message is not None and outcome.message.text == "Done."
