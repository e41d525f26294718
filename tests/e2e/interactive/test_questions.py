"""Questions and plans of the agent: each answer reaches the model as given."""

from typing import Any

import pytest

from tests.e2e.interactive.launcher import OK, Launcher, User
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


def asked(launcher: Launcher, *questions: dict[str, Any]) -> User:
    launcher.tau.script(Call("ask", {"questions": list(questions)}), "Heard.")
    return launcher.start(rows=40).send("begin")


def result(launcher: Launcher, number: int = -1) -> str:
    """The last tool result sent to the model."""
    messages = launcher.tau.server.requests[number].body["messages"]
    return str([message["content"] for message in messages if message["role"] == "tool"][-1])


def test_option_is_chosen_by_number(launcher: Launcher) -> None:
    user = asked(launcher, DATABASE)
    user.see(
        "The agent asks", "Which database is it to be?", "One file, no server.", "Postgres (recommended)"
    )
    user.press("1").see("Heard.")
    assert result(launcher) == "The user chose SQLite."
    user.miss("The agent asks")
    user.see("Which database is it to be?", "SQLite")


def test_enter_takes_the_recommended_option(launcher: Launcher) -> None:
    user = asked(launcher, DATABASE)
    user.see("The agent asks", "Postgres (recommended)")
    user.press("enter").see("Heard.")
    assert result(launcher) == "The user chose Postgres."


def test_custom_answer_is_typed(launcher: Launcher) -> None:
    user = asked(launcher, DATABASE)
    user.see("Something else")
    user.press("3").see("type it here")
    user.term.type("A text file, 2 of them")
    user.see("A text file, 2 of them")
    user.press("enter").see("Heard.")
    assert result(launcher) == "The user wrote: A text file, 2 of them"


def test_several_options_are_checked(launcher: Launcher) -> None:
    user = asked(launcher, PARTS)
    user.see("Which parts?", "Undo")
    user.press("1", "3")
    user.see("☑ Search", "☐ Export", "☑ Undo")
    user.press("enter").see("Heard.")
    assert result(launcher) == "The user chose Search, Undo."


def test_several_answers_are_reviewed_before_they_are_sent(launcher: Launcher) -> None:
    user = asked(launcher, DATABASE, PARTS)
    user.see("Which database is it to be?")
    user.press("1").see("Which parts?")
    user.press("2", "enter").see("Send the answers", "SQLite", "Export")
    assert len(launcher.tau.server.requests) == 1
    user.press("enter").see("Heard.")
    assert result(launcher) == "database: the user chose SQLite.\nparts: the user chose Export."


def test_unanswered_question_is_not_sent(launcher: Launcher) -> None:
    user = asked(launcher, DATABASE, PARTS)
    user.see("Which database is it to be?")
    user.press("tab").see("Which parts?")
    user.press("enter").see("Send the answers", "no answer yet")
    user.press("enter").see("This question has no answer yet.", "Which database is it to be?")
    assert len(launcher.tau.server.requests) == 1


def test_escape_at_a_question_stops_the_agent(launcher: Launcher) -> None:
    user = asked(launcher, DATABASE)
    user.see("The agent asks")
    user.press("escape").miss("The agent asks")
    user.see("Stopped")
    user.rests()
    assert len(launcher.tau.server.requests) == 1


def test_text_typed_when_a_question_arrives_is_kept(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "until [ -e go ]; do sleep 0.02; done"}), *waits())
    user = launcher.start(rows=40).send("begin")
    user.see("Running bash")
    user.write("a thought of mine")
    (launcher.tau.project / "go").touch()
    user.see("The agent asks")
    user.press("1").see("Heard.")
    user.editor_is("a thought of mine")


def waits() -> tuple[Call, str]:
    return Call("ask", {"questions": [DATABASE]}), "Heard."


def planned(launcher: Launcher, *more: Any) -> User:
    launcher.tau.script(WRITES, HANDS_IN, *more)
    user = launcher.start(rows=40).send("/plan mend the parser")
    user.see("Plan: Mend the parser", "Find the fault", APPROVE, "Keep planning")
    assert not list(launcher.tau.project.iterdir())
    return user


def test_approved_plan_is_carried_out(launcher: Launcher) -> None:
    user = planned(launcher, Call("write", {"path": "parser.py", "content": "x = 1\n"}), "Carried out.")
    user.press("1").see("Carried out.")
    user.rests().miss("plan mode")
    assert (launcher.tau.project / "parser.py").read_text() == "x = 1\n"
    assert "approved" in result(launcher, 2).lower()


def test_plan_is_approved_only_deliberately(launcher: Launcher) -> None:
    user = planned(launcher, "Thinking on.")
    user.until(lambda rows: any("❯" in row and "Keep planning" in row for row in rows), "the safe default")
    user.press("enter").miss(APPROVE)
    user.rests().see("plan mode")
    assert not list(launcher.tau.project.iterdir())


def test_plan_is_rejected_with_comments(launcher: Launcher) -> None:
    user = planned(launcher, "I shall think again.")
    user.press("4").see("What should change:")
    user.press("enter").see("Describe what should change.")
    user.term.type("begin with the tests")
    user.see("begin with the tests")
    user.press("enter").see("I shall think again.")
    assert "begin with the tests" in result(launcher)
    user.rests().see("plan mode")


def test_plan_is_carried_out_in_a_new_session(launcher: Launcher) -> None:
    user = planned(launcher, "Begun anew.")
    user.press("2").see('Carrying out the plan "Mend the parser".', "Begun anew.")
    assert len(launcher.tau.user_messages()) == 1
    assert (
        "Carry out this plan" in launcher.tau.user_messages()[0]
        and "1. Find the fault" in launcher.tau.user_messages()[0]
    )
    user.rests().miss("plan mode")
    assert len(launcher.tau.sessions()) == 2


def test_plan_is_edited_before_it_is_approved(launcher: Launcher, tmp_path: Any) -> None:
    script = tmp_path / "change"
    script.write_text(
        '#!/bin/sh\nsed "s/Find the fault/Look for the fault/" "$1" > t && cat t > "$1"; rm t\n'
    )
    script.chmod(0o755)
    launcher.tau.script(WRITES, HANDS_IN, OK)
    user = launcher.start(rows=40, env={"EDITOR": str(script), "VISUAL": ""}).send("/plan mend the parser")
    user.see(APPROVE)
    user.press("3").see("Look for the fault", APPROVE)
    user.press("1").see(OK)
    assert "Look for the fault" in result(launcher)


@pytest.mark.parametrize("answer", ["1", "5"])
def test_plan_can_be_viewed_again(launcher: Launcher, answer: str) -> None:
    user = planned(launcher, "Thinking on.", "To work.")
    user.press("enter").miss(APPROVE)
    user.rests().send("/plan review").see("Plan: Mend the parser", APPROVE)
    user.press(answer).miss(APPROVE)
    if answer == "1":
        user.see("To work.")
        user.rests().miss("plan mode")
    else:
        user.see("plan mode")
