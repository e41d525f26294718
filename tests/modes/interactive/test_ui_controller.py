"""Questions on screen, and custom status and widgets around the editor."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tau.ai.faux import Say, Use
from tau.base.errors import TauError
from tau.modes.interactive.ui_controller import QUIET_S
from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import Rig, rigged, run
from tests.support.limits import HANG_S

T = TypeVar("T")


async def asked(rig: Rig, question: Awaitable[T], answer: Callable[[], Awaitable[Any]]) -> T:
    """The result of a question after `answer` is applied to it."""
    task = asyncio.ensure_future(question)
    await rig.until(lambda: rig.parts.dialogs.open or task.done(), "a dialog")
    await answer()
    async with asyncio.timeout(HANG_S):
        return await task


def test_option_is_chosen_by_number_by_arrows_or_not_at_all(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            ui = rig.parts.ui
            options = ["red", "green", "blue"]

            async def by_number() -> None:
                shown = await rig.show("Which color?")
                assert "1. red" in shown and "3. blue" in shown
                await rig.type("2")

            assert await asked(rig, ui.select("Which color?", options), by_number) == "green"
            down = lambda: rig.press("down", "enter")  # noqa: E731
            assert await asked(rig, ui.select("Which color?", options), down) == "green"
            up = lambda: rig.press("up", "enter")  # noqa: E731
            assert await asked(rig, ui.select("Which color?", options), up) == "blue"
            escape = lambda: rig.press("escape")  # noqa: E731
            assert await asked(rig, ui.select("Which color?", options), escape) is None
            await rig.gone("Which color?")
            assert rig.front.screen.focused is rig.front.editor

    run(test)


def test_long_list_is_filtered_by_typing(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:

            async def narrow() -> None:
                await rig.type("item 77")
                await rig.show("item 77")
                await rig.press("enter")

            options = [f"item {number}" for number in range(100)]
            assert await asked(rig, rig.parts.ui.select("Which?", options), narrow) == "item 77"

    run(test)


def test_excess_options_are_left_out_with_a_note(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:

            async def look() -> None:
                await rig.show("200 more options not shown.")
                await rig.press("escape")

            await asked(rig, rig.parts.ui.select("Which?", [f"item {n}" for n in range(1200)]), look)

    run(test)


def test_enter_alone_declines_a_yes_or_no_question(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            ui = rig.parts.ui
            enter = lambda: rig.press("enter")  # noqa: E731
            assert await asked(rig, ui.confirm("Delete it?", "It cannot be undone."), enter) is False
            one = lambda: rig.type("1")  # noqa: E731
            assert await asked(rig, ui.confirm("Delete it?", "It cannot be undone."), one) is True
            escape = lambda: rig.press("escape")  # noqa: E731
            assert await asked(rig, ui.confirm("Delete it?", ""), escape) is None

    run(test)


def test_line_input(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:

            async def write() -> None:
                await rig.show("a short name")
                await rig.send("Jo hn")

            assert (
                await asked(rig, rig.parts.ui.input("What is it called?", "a short name"), write) == "Jo hn"
            )
            escape = lambda: rig.press("escape")  # noqa: E731
            assert await asked(rig, rig.parts.ui.input("What is it called?"), escape) is None

    run(test)


def test_editor_input_starts_with_the_given_text(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:

            async def write() -> None:
                await rig.show("first line")
                await rig.press("ctrl+j")
                await rig.type("second line")
                await rig.show("second line")
                await rig.press("enter")

            text = await asked(rig, rig.parts.ui.editor("Change it", "first line"), write)
            assert text == "first line\nsecond line"

    run(test)


def test_editor_input_can_use_the_external_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "edit.sh"
    script.write_text('#!/bin/sh\nprintf "from outside\\n" >> "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))

    async def test() -> None:
        async with rigged(tmp_path) as rig:

            async def write() -> None:
                await rig.show("begun")
                await rig.press("ctrl+g")
                await rig.show("from outside")
                await rig.press("enter")

            text = await asked(rig, rig.parts.ui.editor("Change it", "begun\n"), write)
            assert text == "begun\nfrom outside\n"

    run(test)


def test_unanswered_question_disappears_on_timeout(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert await rig.parts.ui.select("Anybody?", ["yes", "no"], timeout=0.05) is None
            assert await rig.parts.ui.confirm("Anybody?", "", timeout=0.05) is None
            assert await rig.parts.ui.input("Anybody?", timeout=0.05) is None
            await rig.gone("Anybody?")

    run(test)


def test_questions_wait_for_each_other(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            first = asyncio.ensure_future(rig.parts.ui.select("The first?", ["a", "b"]))
            second = asyncio.ensure_future(rig.parts.ui.select("The second?", ["c", "d"]))
            assert "The second?" not in await rig.show("The first?")
            await rig.type("2")
            await rig.show("The second?")
            await rig.type("1")
            assert (await first, await second) == ("b", "c")

    run(test)


def test_question_waits_until_typing_pauses(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("hel")
            question = asyncio.ensure_future(rig.parts.ui.select("Now?", ["a", "b"]))
            rig.skip(QUIET_S / 2)
            await rig.rested()
            assert not rig.parts.dialogs.open
            await rig.type("lo 1")
            assert rig.front.editor.text == "hello 1"
            rig.skip(QUIET_S / 2)
            await rig.rested()
            assert not rig.parts.dialogs.open
            rig.skip(QUIET_S / 2)
            await rig.show("Now?")
            await rig.type("2")
            assert await question == "b"
            assert rig.front.editor.text == "hello 1"

    run(test)


def test_question_disappears_with_the_run_that_asked_it(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [[Use("bash", command="touch made")], [Say("Never mind.")]]
        async with rigged(tmp_path, answers, settings={"tools.approvalMode": "ask"}) as rig:
            await rig.send("go")
            await rig.show("touch made")
            await rig.until(lambda: rig.parts.dialogs.open)
            rig.session.abort()
            await rig.idle()
            assert not rig.parts.dialogs.open
            assert rig.front.screen.focused is rig.front.editor
            assert not (tmp_path / "made").exists()

    run(test)


def test_foreign_text_cannot_send_control_sequences_or_hide_the_answers(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            title = "Sure?\x1b[2J\x1b]0;owned\x07\n" + "line\n" * 5_000 + "the end"

            async def look() -> None:
                shown = await rig.show("1. yes")
                assert "Sure?" in shown and "the end" in shown
                await rig.type("2")

            assert await asked(rig, rig.parts.ui.select(title, ["yes\x1b[31m", "no"]), look) == "no"
            assert rig.terminal.title != "owned"

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_questions_fit_any_width(tmp_path: Path, columns: int) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=columns) as rig:

            async def look() -> None:
                await rig.show("1. ")
                assert all(visible_width(row) <= columns for row in rig.terminal.screen())
                assert rig.screen().count("very long") == 1
                await rig.press("escape")

            question = rig.parts.ui.select("Is this fine?", ["a very long answer " + "x " * 60, "no"])
            await asked(rig, question, look)

    run(test)


def test_question_is_plain_text_without_boxes(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings={"display.screenReader": True}) as rig:

            async def look() -> None:
                await rig.until(lambda: "Marked: 2. No" in rig.tape(), "the question")
                assert "Sure?" in rig.tape() and "1. Yes" in rig.tape() and "Keys:" in rig.tape()
                assert "─" not in rig.tape()
                await rig.press("up", "down")
                await rig.until(lambda: "Selected: 2. No" in rig.tape(), "the choice")
                await rig.press("enter")

            assert await asked(rig, rig.parts.ui.confirm("Sure?", ""), look) is False

    run(test)


def test_custom_component_is_shown_until_it_is_done(tmp_path: Path) -> None:
    class Part(Component):
        def __init__(self, done: Callable[[Any], None]) -> None:
            self._done = done

        def render(self, width: int) -> list[str]:
            return ["a part of my own"]

        def handle_input(self, event: InputEvent) -> bool:
            self._done(42)
            return True

    async def test() -> None:
        async with rigged(tmp_path) as rig:

            async def press() -> None:
                await rig.show("a part of my own")
                await rig.type("x")

            assert await asked(rig, rig.parts.ui.custom(Part), press) == 42
            with pytest.raises(TauError):
                await rig.parts.ui.custom("no function")

    run(test)


def test_failing_component_is_reported_and_breaks_nothing(tmp_path: Path) -> None:
    def broken(done: Callable[[Any], None]) -> Component:
        raise RuntimeError("no such thing")

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert await rig.parts.ui.custom(broken) is None
            assert await rig.parts.ui.custom(lambda done: "text") is None
            await rig.show("no such thing")
            assert not rig.parts.dialogs.open

    run(test)


def test_status_and_widgets_stay_around_the_editor_until_removed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=40) as rig:
            ui = rig.parts.ui
            ui.status("b", "second")
            ui.status("a", "first\x1b[2J")
            ui.widget("w", [f"line {number}" for number in range(30)])
            ui.title("my title\x07")
            shown = await rig.show("first · second")
            assert "line 0" in shown and "19 more lines" in shown and "line 29" not in shown
            assert rig.terminal.title.strip() == "tau: my title"
            ui.status("a", None)
            ui.widget("w", None)
            shown = await rig.gone("line 0")
            assert "second" in shown and "first" not in shown
            for number in range(50):
                ui.status(f"many {number}", "x")
                ui.widget(f"many {number}", ["y"])
            assert (await rig.show("\ny")).count("\ny") == 10

    run(test)


def test_notice_appears_in_the_transcript(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.ui.notify("Mind the gap.", "warning")
            await rig.show("Mind the gap.")

    run(test)
