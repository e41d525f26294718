"""Text typed or pasted while a question appears is not lost and answers nothing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.modes.interactive.composer import type_ahead
from tests.modes.interactive.rig import Rig, rigged, run


def asked(rig: Rig, answers: list[Any], question: str = "Delete everything?") -> asyncio.Task[None]:
    """An unsolicited question of the agent."""

    async def ask() -> None:
        answers.append(await rig.parts.ui.select(question, ["Yes", "No"]))

    return rig.parts.tasks.start(ask())


def test_typing_ahead_continues_into_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type_ahead, "PAUSE_S", 60.0)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            answers: list[Any] = []
            await rig.type("there are ")
            asked(rig, answers)
            await rig.show("Delete everything?")
            await rig.type("1q")
            await rig.press("backspace")
            await rig.type(" of 2")
            await rig.show("still goes into the editor")
            assert answers == []
            assert rig.front.editor.text == "there are 1 of 2"
            monkeypatch.setattr(type_ahead, "PAUSE_S", -1.0)  # a moment later
            await rig.type("2")
            await rig.until(lambda: answers == ["No"], "the answer")
            assert rig.front.editor.text == "there are 1 of 2"

    run(test)


def test_enter_of_a_message_does_not_answer_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type_ahead, "PAUSE_S", 60.0)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            answers: list[Any] = []
            await rig.type("go o")
            asked(rig, answers)
            await rig.show("Delete everything?")
            await rig.type("n")
            await rig.press("enter")
            await rig.until(lambda: len(rig.faux.requests) == 1, "the message")
            assert answers == [] and rig.front.editor.is_empty
            await rig.press("enter")
            await rig.until(lambda: answers == ["Yes"], "the answer")

    run(test)


def test_non_typing_key_goes_to_the_dialog_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type_ahead, "PAUSE_S", 60.0)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            answers: list[Any] = []
            await rig.type("half")
            asked(rig, answers)
            await rig.show("Delete everything?")
            await rig.press("down")
            await rig.press("enter")
            await rig.until(lambda: answers == ["No"], "the answer")
            assert rig.front.editor.text == "half"

    run(test)


def test_dialog_opened_by_a_key_or_a_command_gets_all_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type_ahead, "PAUSE_S", 60.0)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("a draft")
            await rig.press("f1")
            await rig.show("── Keys")
            await rig.type("undo")
            await rig.show("Filter: undo")
            await rig.press("escape")
            assert rig.front.editor.text == "a draft"
            rig.front.editor.clear()
            await rig.send("/hotkeys")
            await rig.show("── Keys")
            await rig.type("undo")
            await rig.show("Filter: undo")

    run(test)


def test_paste_into_a_choice_dialog_goes_to_the_editor(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(5_000))

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            answers: list[Any] = []
            asked(rig, answers)
            await rig.show("Delete everything?")
            rig.terminal.paste(pasted)
            await rig.show("Your paste is in the editor.")
            assert answers == []
            await rig.press("escape")
            await rig.show("[Pasted text #1 +5,000 lines]")
            assert rig.front.editor.text == pasted

    run(test)


def test_paste_into_a_text_field_stays_there(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            answers: list[Any] = []

            async def ask() -> None:
                answers.append(await rig.parts.ui.input("Which name?"))

            rig.parts.tasks.start(ask())
            await rig.show("Which name?")
            rig.terminal.paste("a name")
            await rig.press("enter")
            await rig.until(lambda: answers == ["a name"], "the answer")
            assert rig.front.editor.is_empty

    run(test)
