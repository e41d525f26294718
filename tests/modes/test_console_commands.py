"""What can be typed into the plain conversation besides messages."""

from pathlib import Path
from typing import Any

from tau.ai.faux import Say
from tests.modes.test_console import body, piped

SUMMARY = "## Goal\nMany words were said."


def rows(shown: Any) -> list[str]:
    lines: list[str] = body(shown).splitlines()
    return lines


def test_a_command_runs_and_the_model_is_told_with_the_next_message(tmp_path: Path) -> None:
    shown = piped([[Say("I see.")]], "!echo hello; exit 3\nwhat was that?\n", tmp_path)
    assert rows(shown) == ["> !echo hello; exit 3", "hello", "Exit code 3.", "> what was that?", "I see."]
    assert shown.asked == ["Ran `echo hello; exit 3`\n```\nhello\n```\nExit code 3.", "what was that?"]


def test_two_marks_keep_it_from_the_model(tmp_path: Path) -> None:
    shown = piped([[Say("ok")]], "!!echo secret\nhi\n", tmp_path)
    assert rows(shown)[:2] == ["> !!echo secret", "secret"]
    assert shown.asked == ["hi"]


def test_python_runs_and_its_variables_last(tmp_path: Path) -> None:
    typed = "$x = 6 * 7; print('set')\n$$print('unseen')\n$x\nwhat is it?\n"
    shown = piped([[Say("42.")]], typed, tmp_path)
    assert [line for line in rows(shown) if not line.startswith(">")] == ["set", "unseen", "42", "42."]
    told = shown.asked
    assert "print('set')" in told[0] and "set" in told[0] and told[1].endswith("```\n42\n```")
    assert told[-1] == "what is it?" and not any("unseen" in text for text in told)


def test_a_conversation_can_be_compacted(tmp_path: Path) -> None:
    talk = f"{'many words ' * 3_000}\n/compact the words\nand now?\n"
    shown = piped([[Say("Yes.")], [Say(SUMMARY)], [Say("Now.")]], talk, tmp_path)
    assert "Compacted the conversation from about" in body(shown)
    assert "Many words were said." in shown.asked[0]
    assert shown.asked[-1] == "and now?"


def test_there_may_be_nothing_to_compact(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "/compact\n", tmp_path)
    assert rows(shown)[-1].startswith("There is nothing")


def test_a_session_gets_a_name(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "/name\n/name The  garden\n", tmp_path)
    told = ["The session has no name.", 'The session name is "The garden".']
    assert [line for line in rows(shown) if line.startswith("The session")] == told


def test_the_tree_shows_where_one_can_go_on(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "one\n/tree\n/tree nothing of it\n/goto nowhere\n", tmp_path)
    assert any(line.endswith("user: one") for line in rows(shown))
    assert "No matches." in rows(shown)
    assert "Usage: /goto ID. /tree shows all entries." in rows(shown)


def test_what_is_no_command_is_a_message(tmp_path: Path) -> None:
    shown = piped([[Say("a")], [Say("b")]], "/etc/hosts is a file\n/nothing\n! \n", tmp_path)
    assert 'Unknown command "/nothing".' in rows(shown)
    assert shown.asked == ["/etc/hosts is a file", "!"]
