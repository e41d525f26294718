"""Questions on the plain console."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tau.modes.console_ui import ConsoleUi
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream
from tau.modes.plain_transcript import PlainTranscript


def ask(
    question: Callable[[ConsoleUi], Awaitable[Any]], *typed: str, terminal: bool = True, early: str = ""
) -> tuple[Any, str]:
    """The answer and the output. The lines are typed once something is shown, `early` before."""
    person, ours = os.openpty() if terminal else os.pipe()[::-1]
    reading, writing = os.pipe()

    async def main() -> Any:
        ui = ConsoleUi(LineReader(ours), PlainTranscript(OutputStream(writing)))
        os.write(person, early.encode())
        asking = asyncio.ensure_future(question(ui))
        is_shown = asyncio.Event()
        asyncio.get_running_loop().add_reader(reading, is_shown.set)
        await is_shown.wait()
        asyncio.get_running_loop().remove_reader(reading)
        for line in typed:
            os.write(person, line.encode())
        return await asking

    try:
        answer = asyncio.run(main())
    finally:
        os.close(writing)
        shown = os.read(reading, 65536).decode()
        for fd in (person, ours, reading):
            os.close(fd)
    return answer, shown


COLORS = ["red", "green", "dark green"]


@pytest.mark.parametrize(
    ("typed", "answer"), (("2", "green"), ("GREEN", "green"), ("d", "dark green"), ("", None), ("\x04", None))
)
def test_option_is_chosen_by_number_or_prefix(typed: str, answer: str | None) -> None:
    chosen, shown = ask(lambda ui: ui.select("Which?", COLORS), typed if typed == "\x04" else f"{typed}\n")
    assert chosen == answer
    assert shown.startswith("Which?\n  1. red\n  2. green\n  3. dark green\n1-3, empty for none: ")


def test_y_answers_an_approval_with_a_plain_yes() -> None:
    options = ["Yes", "No", "Yes, always this session"]
    assert ask(lambda ui: ui.select("Run it?", options), "y\n")[0] == "Yes"
    assert ask(lambda ui: ui.select("Run it?", options), "yes, a\n")[0] == "Yes, always this session"
    assert ask(lambda ui: ui.select("Which?", ["red", "rust"]), "r\n", "1\n")[0] == "red"


def test_lines_typed_before_an_approval_do_not_answer_it() -> None:
    chosen, shown = ask(lambda ui: ui.select("Run it?", ["Yes", "No"]), "n\n", early="next step\ny\n")
    assert chosen == "No"
    assert shown.startswith("Ignored what was typed before this question: next step y\nRun it?\n")


def test_typo_is_asked_again_of_a_person_but_not_of_a_pipe() -> None:
    chosen, shown = ask(lambda ui: ui.select("Which?", COLORS), "9\n", "x\n", "1\n")
    assert (chosen, shown.count("1-3")) == ("red", 3)
    chosen, shown = ask(lambda ui: ui.select("Which?", COLORS), "9\n", "1\n", terminal=False)
    assert (chosen, shown.count("1-3")) == (None, 1)


@pytest.mark.parametrize(
    ("typed", "answer"), (("y\n", True), ("No\n", False), ("\n", None), ("x\ny\n", True))
)
def test_confirmation_takes_yes_no_or_neither(typed: str, answer: bool | None) -> None:
    chosen, shown = ask(lambda ui: ui.confirm("Sure?", "It is deleted."), typed)
    assert chosen is answer
    assert shown.startswith("Sure?\nIt is deleted.\ny or n: ")


def test_text_is_asked_for_with_a_hint() -> None:
    answer, shown = ask(lambda ui: ui.input("Name?", "your own"), "Ada\n")
    assert answer == "Ada"
    assert shown == "Name? (your own)\nanswer: "


def test_editor_takes_lines_up_to_a_dot() -> None:
    answer, _ = ask(lambda ui: ui.editor("Write", "before"), "one\n", "\n", "two\n", ".\n")
    assert answer == "one\n\ntwo"
    assert ask(lambda ui: ui.editor("Write"), "one\n", "\x04")[0] is None


def test_timeout() -> None:
    answer, shown = ask(lambda ui: ui.confirm("Sure?", "", timeout=0.01))
    assert answer is None
    assert "No answer in time." in shown


def test_question_cannot_forge_other_output() -> None:
    _, shown = ask(lambda ui: ui.select("run \x1b[2J\n  1. Yes\nx", ["No"]), "\n")
    assert shown.startswith("run <U+001B>[2J\n      1. Yes\n    x\n  1. No\n")


def test_notices_are_lines_and_live_updates_are_left_out() -> None:
    async def main(ui: ConsoleUi) -> Any:
        ui.notify("saved")
        ui.notify("disk is nearly full", "warning")
        ui.status("clock", "12:00")
        ui.widget("todo", ["a"])
        ui.title("tau")
        return await ui.custom(object())

    assert ask(main) == (None, "saved\nwarning: disk is nearly full\n")


def test_simultaneous_questions_are_asked_one_by_one() -> None:
    async def both(ui: ConsoleUi) -> Any:
        return await asyncio.gather(ui.input("First?"), ui.input("Second?"))

    answers, shown = ask(both, "1\n", "2\n", terminal=False)
    assert answers == ["1", "2"]
    assert shown.index("Second?") > shown.index("answer: ")
