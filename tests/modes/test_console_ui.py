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
    question: Callable[[ConsoleUi], Awaitable[Any]], *typed: str, terminal: bool = True
) -> tuple[Any, str]:
    """The answer and what was shown."""
    person, ours = os.openpty() if terminal else os.pipe()[::-1]
    reading, writing = os.pipe()

    async def main() -> Any:
        ui = ConsoleUi(LineReader(ours), PlainTranscript(OutputStream(writing)))
        for line in typed:
            os.write(person, line.encode())
        return await question(ui)

    try:
        answer = asyncio.run(main())
    finally:
        os.close(writing)
        shown = os.read(reading, 65536).decode()
        for fd in (person, ours, reading):
            os.close(fd)
    return answer, shown


COLOURS = ["red", "green", "dark green"]


@pytest.mark.parametrize(
    ("typed", "answer"), (("2", "green"), ("GREEN", "green"), ("d", "dark green"), ("", None), ("\x04", None))
)
def test_an_option_is_chosen_by_number_or_by_its_first_letters(typed: str, answer: str | None) -> None:
    chosen, shown = ask(lambda ui: ui.select("Which?", COLOURS), typed if typed == "\x04" else f"{typed}\n")
    assert chosen == answer
    assert shown.startswith("Which?\n  1. red\n  2. green\n  3. dark green\n1-3, empty for none: ")


def test_a_person_who_mistypes_is_asked_again_and_a_pipe_is_not() -> None:
    chosen, shown = ask(lambda ui: ui.select("Which?", COLOURS), "9\n", "x\n", "1\n")
    assert (chosen, shown.count("1-3")) == ("red", 3)
    chosen, shown = ask(lambda ui: ui.select("Which?", COLOURS), "9\n", "1\n", terminal=False)
    assert (chosen, shown.count("1-3")) == (None, 1)


@pytest.mark.parametrize(
    ("typed", "answer"), (("y\n", True), ("No\n", False), ("\n", None), ("x\ny\n", True))
)
def test_a_confirmation_takes_yes_no_or_neither(typed: str, answer: bool | None) -> None:
    chosen, shown = ask(lambda ui: ui.confirm("Sure?", "It is deleted."), typed)
    assert chosen is answer
    assert shown.startswith("Sure?\nIt is deleted.\ny or n: ")


def test_a_text_is_asked_for_with_a_hint() -> None:
    answer, shown = ask(lambda ui: ui.input("Name?", "your own"), "Ada\n")
    assert answer == "Ada"
    assert shown == "Name? (your own)\nanswer: "


def test_an_editor_takes_lines_up_to_a_dot() -> None:
    answer, _ = ask(lambda ui: ui.editor("Write", "before"), "one\n", "\n", "two\n", ".\n")
    assert answer == "one\n\ntwo"
    assert ask(lambda ui: ui.editor("Write"), "one\n", "\x04")[0] is None


def test_time_runs_out() -> None:
    answer, shown = ask(lambda ui: ui.confirm("Sure?", "", timeout=0.01))
    assert answer is None
    assert "No answer in time." in shown


def test_a_question_cannot_pretend_to_be_something_else() -> None:
    _, shown = ask(lambda ui: ui.select("run \x1b[2J\n  1. Yes\nx", ["No"]), "\n")
    assert shown.startswith("run \n      1. Yes\n    x\n  1. No\n")


def test_notes_are_lines_and_what_changes_all_the_time_is_left_out() -> None:
    async def main(ui: ConsoleUi) -> Any:
        ui.notify("saved")
        ui.notify("disk is nearly full", "warning")
        ui.status("clock", "12:00")
        ui.widget("todo", ["a"])
        ui.title("tau")
        return await ui.custom(object())

    assert ask(main) == (None, "saved\nwarning: disk is nearly full\n")


def test_two_questions_at_once_are_asked_one_after_the_other() -> None:
    async def both(ui: ConsoleUi) -> Any:
        return await asyncio.gather(ui.input("First?"), ui.input("Second?"))

    answers, shown = ask(both, "1\n", "2\n", terminal=False)
    assert answers == ["1", "2"]
    assert shown.index("Second?") > shown.index("answer: ")
