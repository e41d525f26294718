"""When the agent asks, and when it hands in a plan: each answer reaches the model as it was given."""

from typing import Any

import pytest

from tests.e2e.interactive.desk import OK, Desk, Seat
from tests.support.fake_answers import Call

DATABASE = {
    "id": "database",
    "question": "Which database is it to be?",
    "options": [
        {"label": "SQLite", "description": "One file, no server."},
        {"label": "Postgres", "description": "A server of its own."},
    ],
    "recommended": 1,
}
PARTS = {"id": "parts", "question": "Which parts?", "options": ["Search", "Export", "Undo"], "multi": True}
PLAN = "# Mend the parser\n\n1. Find the fault\n2. Mend it\n"
WRITES = Call("write", {"path": "local://plan.md", "content": PLAN})
HANDS_IN = Call("resolve", {"action": "apply", "reason": "ready"})
APPROVE = "Approve and start"


def asked(desk: Desk, *questions: dict[str, Any]) -> Seat:
    desk.tau.script(Call("ask", {"questions": list(questions)}), "Heard.")
    return desk.start(rows=40).send("begin")


def result(desk: Desk, number: int = -1) -> str:
    """What the last tool told the model."""
    messages = desk.tau.server.requests[number].body["messages"]
    return str([message["content"] for message in messages if message["role"] == "tool"][-1])


def test_an_option_is_chosen_by_its_number(desk: Desk) -> None:
    seat = asked(desk, DATABASE)
    seat.see(
        "The agent asks", "Which database is it to be?", "One file, no server.", "Postgres (recommended)"
    )
    seat.press("1").see("Heard.")
    assert result(desk) == "The user chose SQLite."
    seat.miss("The agent asks")
    seat.see("Which database is it to be?", "SQLite")


def test_enter_takes_the_recommended_option(desk: Desk) -> None:
    seat = asked(desk, DATABASE)
    seat.see("The agent asks", "Postgres (recommended)")
    seat.press("enter").see("Heard.")
    assert result(desk) == "The user chose Postgres."


def test_another_answer_is_typed(desk: Desk) -> None:
    seat = asked(desk, DATABASE)
    seat.see("Something else")
    seat.press("3").see("type it here")
    seat.term.type("A text file, 2 of them")
    seat.see("A text file, 2 of them")
    seat.press("enter").see("Heard.")
    assert result(desk) == "The user wrote: A text file, 2 of them"


def test_several_options_are_checked(desk: Desk) -> None:
    seat = asked(desk, PARTS)
    seat.see("Which parts?", "Undo")
    seat.press("1", "3")
    seat.see("☑ Search", "☐ Export", "☑ Undo")
    seat.press("enter").see("Heard.")
    assert result(desk) == "The user chose Search, Undo."


def test_several_questions_are_shown_together_before_they_are_sent(desk: Desk) -> None:
    seat = asked(desk, DATABASE, PARTS)
    seat.see("Which database is it to be?")
    seat.press("1").see("Which parts?")
    seat.press("2", "enter").see("Send the answers", "SQLite", "Export")
    assert len(desk.tau.server.requests) == 1
    seat.press("enter").see("Heard.")
    assert result(desk) == "database: the user chose SQLite.\nparts: the user chose Export."


def test_a_question_without_an_answer_is_not_sent(desk: Desk) -> None:
    seat = asked(desk, DATABASE, PARTS)
    seat.see("Which database is it to be?")
    seat.press("tab").see("Which parts?")
    seat.press("enter").see("Send the answers", "no answer yet")
    seat.press("enter").see("This question has no answer yet.", "Which database is it to be?")
    assert len(desk.tau.server.requests) == 1


def test_escape_at_a_question_stops_the_agent(desk: Desk) -> None:
    seat = asked(desk, DATABASE)
    seat.see("The agent asks")
    seat.press("escape").miss("The agent asks")
    seat.see("Stopped")
    seat.rests()
    assert len(desk.tau.server.requests) == 1


def test_what_is_being_typed_when_a_question_comes_stays(desk: Desk) -> None:
    desk.tau.script(Call("bash", {"command": "until [ -e go ]; do sleep 0.02; done"}), *waits())
    seat = desk.start(rows=40).send("begin")
    seat.see("Running bash")
    seat.write("a thought of mine")
    (desk.tau.project / "go").touch()
    seat.see("The agent asks")
    seat.press("1").see("Heard.")
    seat.editor_is("a thought of mine")


def waits() -> tuple[Call, str]:
    return Call("ask", {"questions": [DATABASE]}), "Heard."


def planned(desk: Desk, *more: Any) -> Seat:
    desk.tau.script(WRITES, HANDS_IN, *more)
    seat = desk.start(rows=40).send("/plan mend the parser")
    seat.see("Plan: Mend the parser", "Find the fault", APPROVE, "Keep planning")
    assert not list(desk.tau.project.iterdir())
    return seat


def test_a_plan_that_is_approved_is_carried_out(desk: Desk) -> None:
    seat = planned(desk, Call("write", {"path": "parser.py", "content": "x = 1\n"}), "Carried out.")
    seat.press("1").see("Carried out.")
    seat.rests().miss("plan mode")
    assert (desk.tau.project / "parser.py").read_text() == "x = 1\n"
    assert "approved" in result(desk, 2).lower()


def test_a_plan_is_approved_only_on_purpose(desk: Desk) -> None:
    seat = planned(desk, "Thinking on.")
    seat.until(lambda rows: any("❯" in row and "Keep planning" in row for row in rows), "the safe default")
    seat.press("enter").miss(APPROVE)
    seat.rests().see("plan mode")
    assert not list(desk.tau.project.iterdir())


def test_a_plan_goes_back_with_remarks(desk: Desk) -> None:
    seat = planned(desk, "I shall think again.")
    seat.press("4").see("What should change:")
    seat.press("enter").see("Describe what should change.")
    seat.term.type("begin with the tests")
    seat.see("begin with the tests")
    seat.press("enter").see("I shall think again.")
    assert "begin with the tests" in result(desk)
    seat.rests().see("plan mode")


def test_a_plan_is_carried_out_in_a_new_session(desk: Desk) -> None:
    seat = planned(desk, "Begun anew.")
    seat.press("2").see('Carrying out the plan "Mend the parser".', "Begun anew.")
    assert len(desk.tau.said()) == 1
    assert "Carry out this plan" in desk.tau.said()[0] and "1. Find the fault" in desk.tau.said()[0]
    seat.rests().miss("plan mode")
    assert len(desk.tau.sessions()) == 2


def test_a_plan_is_changed_in_an_editor_before_it_is_approved(desk: Desk, tmp_path: Any) -> None:
    script = tmp_path / "change"
    script.write_text(
        '#!/bin/sh\nsed "s/Find the fault/Look for the fault/" "$1" > t && cat t > "$1"; rm t\n'
    )
    script.chmod(0o755)
    desk.tau.script(WRITES, HANDS_IN, OK)
    seat = desk.start(rows=40, env={"EDITOR": str(script), "VISUAL": ""}).send("/plan mend the parser")
    seat.see(APPROVE)
    seat.press("3").see("Look for the fault", APPROVE)
    seat.press("1").see(OK)
    assert "Look for the fault" in result(desk)


@pytest.mark.parametrize("answer", ["1", "5"])
def test_a_plan_can_be_looked_at_again(desk: Desk, answer: str) -> None:
    seat = planned(desk, "Thinking on.", "To work.")
    seat.press("enter").miss(APPROVE)
    seat.rests().send("/plan review").see("Plan: Mend the parser", APPROVE)
    seat.press(answer).miss(APPROVE)
    if answer == "1":
        seat.see("To work.")
        seat.rests().miss("plan mode")
    else:
        seat.see("plan mode")
