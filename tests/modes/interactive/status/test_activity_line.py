"""The activity line."""

from pathlib import Path

import pytest

from tau.modes.interactive.status.activity_line import LONG_S, short_count
from tests.modes.interactive.rig import rigged, run


def test_shows_the_activity_and_the_key_that_stops_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.activity.begin("Waiting for the model")
            shown = await rig.show("Waiting for the model")
            assert "Esc stops it" in shown
            rig.parts.activity.update("Running bash")
            await rig.show("Running bash")
            rig.parts.activity.end()
            await rig.gone("Running bash")
            assert not rig.front.layout.activity.children

    run(test)


def test_long_command_shows_the_key_that_moves_it_to_the_background(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.activity.begin("Waiting for the model")
            rig.skip(LONG_S)
            rig.parts.activity.update("Running bash", can_move=True)
            assert "Ctrl+B" not in await rig.show("Running bash")
            rig.skip(LONG_S)
            await rig.show("Esc stops it, Ctrl+B moves it to the background")
            rig.parts.activity.update("Running edit")
            assert "Ctrl+B" not in await rig.show("Running edit")

    run(test)


def test_temporary_text_takes_precedence_and_the_activity_returns(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.activity.begin("Writing")
            rig.parts.activity.show("Fetching the list", stop_key_action="app.clear")
            shown = await rig.show("Fetching the list")
            assert "Writing" not in shown and "Ctrl+C stops it" in shown
            rig.parts.activity.update("Thinking")
            rig.parts.activity.hide()
            shown = await rig.show("Thinking")
            assert "Fetching" not in shown
            rig.parts.activity.clear()
            await rig.gone("Thinking")

    run(test)


def test_tokens_are_estimated_while_streaming_and_exact_afterwards(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.activity.begin("Writing")
            for _ in range(100):
                rig.parts.activity.count_chars(8)
            await rig.show("200 tokens")
            rig.parts.activity.count_tokens(1234)
            await rig.show("1.2k tokens")
            rig.parts.activity.count_chars(400)
            await rig.show("1.3k tokens")

    run(test)


def test_new_run_resets_the_count_but_a_retry_continues_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            lane = rig.parts.activity
            lane.begin("Writing")
            lane.count_tokens(500)
            lane.end()
            lane.retry(0.1, "Retry 1 of 3")
            lane.begin("Waiting")
            await rig.show("500 tokens")
            lane.end()
            lane.begin("Waiting once more")
            shown = await rig.show("Waiting once more")
            assert "tokens" not in shown

    run(test)


def test_wait_counts_down(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.activity.retry(2.0, "Retry 2 of 3")
            await rig.show("Retry 2 of 3 in 2 s")
            await rig.show("Retry 2 of 3 in 1 s")
            await rig.show("Retry 2 of 3 (")
            rig.parts.activity.end()
            await rig.gone("Retry 2")

    run(test)


def test_stopping_is_shown_until_it_has_stopped(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.activity.begin("Running bash")
            rig.parts.activity.show_stopping()
            rig.parts.activity.update("Waiting for the model")
            shown = await rig.show("Stopping")
            assert "stops it" not in shown
            rig.parts.activity.end()
            rig.parts.activity.begin("Writing")
            await rig.show("Writing")
            rig.parts.activity.end()
            rig.parts.activity.show_stopping()
            await rig.drawn()
            assert "Stopping" not in rig.screen()

    run(test)


def test_a_screen_reader_hears_neither_time_nor_tokens(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings={"display.screenReader": True}) as rig:
            rig.parts.activity.begin("Writing")
            rig.parts.activity.count_chars(4000)
            await rig.until(lambda: "Writing" in rig.tape(), "the lane")
            rig.parts.activity.count_chars(40_000)
            rig.parts.activity.retry(30, "Retry 1 of 3")
            await rig.until(lambda: "Retry 1 of 3 in 30 s" in rig.tape(), "the retry")
            assert "tokens" not in rig.tape()
            assert rig.tape().count("Writing") == 1

    run(test)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0"), (999, "999"), (1000, "1k"), (1290, "1.2k"), (34_567, "35k"), (1_560_000, "1.5M")],
)
def test_counts_are_short(number: int, expected: str) -> None:
    assert short_count(number) == expected
