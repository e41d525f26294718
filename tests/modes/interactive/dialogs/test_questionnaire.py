"""The questions of the agent on the screen."""

from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say, Use
from tau.coding.tools.ask import Ask
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import Rig, rigged, run
from tests.support.limits import HANG_S

DATABASE = {
    "id": "db",
    "question": "Which database should it use?",
    "options": [
        {"label": "SQLite", "description": "One file and nothing to install."},
        {"label": "PostgreSQL", "description": "For many writers."},
    ],
    "recommended": 1,
}
PARTS = {"id": "parts", "question": "Which parts?", "options": ["api", "web", "docs"], "multi": True}
NAME = {"id": "name", "question": "What is it called?"}


def asking(folder: Path, *questions: dict[str, Any], timeout_s: float = 0, **options: Any) -> Any:
    script = [[Use("ask", questions=list(questions))], [Say("Understood.")]]
    return rigged(folder, script, tools=("read",), add_tools=(Ask(timeout_s),), **options)


def tool_result(rig: Rig) -> str:
    return str(rig.faux.requests[1].messages[-1].content[0].text)  # type: ignore[union-attr]


def test_one_question_is_answered_with_one_key(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE) as rig:
            await rig.send("go")
            shown = await rig.show("1. SQLite")
            assert "Which database should it use?" in shown and "For many writers." in shown
            assert "PostgreSQL (recommended)" in shown
            marked = [row for row in rig.terminal.screen() if row.startswith("❯")][-1]
            assert "PostgreSQL" in marked
            await rig.type("1")
            await rig.show("Understood.")
            assert tool_result(rig) == "The user chose SQLite."

    run(test)


def test_enter_takes_the_recommended_option(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE) as rig:
            await rig.send("go")
            await rig.show("1. SQLite")
            await rig.press("enter")
            await rig.show("Understood.")
            assert tool_result(rig) == "The user chose PostgreSQL."

    run(test)


def test_custom_answer_is_typed(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE) as rig:
            await rig.send("go")
            await rig.show("3. Something else")
            await rig.press("down")
            await rig.show("type it here")
            await rig.press("enter")
            await rig.show("Choose an option, or type an answer.")
            await rig.type("Duck DB 2")
            await rig.show("Duck DB 2")
            await rig.press("enter")
            await rig.show("Understood.")
            assert tool_result(rig) == "The user wrote: Duck DB 2"

    run(test)


def test_several_options_are_checked(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, PARTS) as rig:
            await rig.send("go")
            await rig.show("1. ☐ api")
            await rig.type("3")
            await rig.press("up", "up", "space")
            await rig.show("1. ☑ api")
            await rig.type("2")
            await rig.type("2")
            await rig.press("enter")
            await rig.show("Understood.")
            assert tool_result(rig) == "The user chose api, docs."

    run(test)


def test_several_answers_are_reviewed_before_they_are_sent(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE, PARTS, NAME) as rig:
            await rig.send("go")
            shown = await rig.show("1. SQLite")
            assert "db" in shown and "parts" in shown and "name" in shown
            await rig.type("2")
            await rig.show("Which parts?")
            await rig.press("tab", "tab")
            await rig.show("no answer yet")
            await rig.press("enter")
            await rig.show("This question has no answer yet.")
            await rig.type("1")
            await rig.press("enter")
            await rig.show("What is it called?")
            await rig.type("Shop 7")
            await rig.press("enter")
            shown = await rig.show("Send the answers")
            assert "PostgreSQL" in shown and "Shop 7" in shown
            await rig.press("enter")
            await rig.show("Understood.")
            assert tool_result(rig).split("\n") == [
                "db: the user chose PostgreSQL.",
                "parts: the user chose api.",
                "name: the user wrote: Shop 7",
            ]

    run(test)


def test_user_can_go_back_and_change_an_answer(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE, NAME) as rig:
            await rig.send("go")
            await rig.show("1. SQLite")
            await rig.type("1")
            await rig.show("What is it called?")
            await rig.type("Shop")
            await rig.press("enter")
            await rig.show("Send the answers")
            await rig.type("2")
            await rig.show("1. SQLite")
            await rig.type("2")
            await rig.press("enter")
            await rig.show("Send the answers")
            await rig.type("1")
            await rig.show("Understood.")
            assert tool_result(rig).startswith("db: the user chose PostgreSQL.")

    run(test)


def test_escape_stops_the_agent(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE) as rig:
            await rig.send("go")
            await rig.show("stops the agent")
            await rig.press("escape")
            await rig.idle()
            assert len(rig.faux.requests) == 1
            assert not rig.parts.dialogs.open

    run(test)


def test_recommended_option_is_used_on_timeout_and_reported(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE, timeout_s=0.2) as rig:
            await rig.send("go")
            await rig.show("No answer in time")
            await rig.show("Understood.")
            assert "so the default applies: PostgreSQL." in tool_result(rig)

    run(test)


def test_first_key_stops_the_timeout(tmp_path: Path) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE, timeout_s=HANG_S) as rig:
            await rig.send("go")
            await rig.show("any key stops the countdown")
            await rig.press("up")
            await rig.gone("any key stops the countdown")
            await rig.press("enter")
            await rig.show("Understood.")
            assert tool_result(rig) == "The user chose SQLite."

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_it_fits_any_width(tmp_path: Path, columns: int) -> None:
    async def test() -> None:
        async with asking(tmp_path, DATABASE, PARTS, NAME, columns=columns) as rig:
            await rig.send("go")
            await rig.show("SQLite")
            await rig.until(lambda: rig.parts.dialogs.open)
            assert all(visible_width(row) <= columns for row in rig.terminal.screen())
            await rig.press("escape")
            await rig.idle()

    run(test)


def test_question_from_a_model_cannot_contain_control_sequences(tmp_path: Path) -> None:
    async def test() -> None:
        hostile = {"id": "x\x1b[2J", "question": "Sure?\x1b]0;owned\x07", "options": ["a\x1b[31m", "b\r\nc"]}
        async with asking(tmp_path, hostile, NAME) as rig:
            await rig.send("go")
            await rig.show("2. b c")
            assert rig.terminal.title != "owned"
            await rig.press("escape")
            await rig.idle()

    run(test)
