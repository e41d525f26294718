"""What can be typed into the plain console besides messages."""

from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say
from tau.modes import command_table
from tau.modes.console_commands import ConsoleCommands
from tests.modes.test_console import body, piped

SUMMARY = "## Goal\nMany words were said."


def rows(shown: Any) -> list[str]:
    lines: list[str] = body(shown).splitlines()
    return lines


def test_command_runs_and_the_model_sees_it_with_the_next_message(tmp_path: Path) -> None:
    shown = piped([[Say("I see.")]], "!echo hello; exit 3\nwhat was that?\n", tmp_path)
    assert rows(shown) == ["> !echo hello; exit 3", "hello", "Exit code 3.", "> what was that?", "I see."]
    assert shown.asked == ["Ran `echo hello; exit 3`\n```\nhello\n```\nExit code 3.", "what was that?"]


def test_double_sign_hides_it_from_the_model(tmp_path: Path) -> None:
    shown = piped([[Say("ok")]], "!!echo secret\nhi\n", tmp_path)
    assert rows(shown)[:2] == ["> !!echo secret", "secret"]
    assert shown.asked == ["hi"]


def test_python_runs_and_its_variables_persist(tmp_path: Path) -> None:
    typed = "$x = 6 * 7; print('set')\n$$print('unseen')\n$x\nwhat is it?\n"
    shown = piped([[Say("42.")]], typed, tmp_path)
    assert [line for line in rows(shown) if not line.startswith(">")] == ["set", "unseen", "42", "42."]
    reported = shown.asked
    assert "print('set')" in reported[0] and "set" in reported[0] and reported[1].endswith("```\n42\n```")
    assert reported[-1] == "what is it?" and not any("unseen" in text for text in reported)


def test_compact_the_conversation(tmp_path: Path) -> None:
    talk = f"{'many words ' * 3_000}\n/compact the words\nand now?\n"
    shown = piped([[Say("Yes.")], [Say(SUMMARY)], [Say("Now.")]], talk, tmp_path)
    assert "Compacted the conversation from about" in body(shown)
    assert "Many words were said." in shown.asked[0]
    assert shown.asked[-1] == "and now?"


def test_nothing_to_compact(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "/compact\n", tmp_path)
    assert rows(shown)[-1].startswith("There is nothing")


def test_name_the_session(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "/name\n/name The  garden\n", tmp_path)
    reported = ["The session has no name.", 'The session name is "The garden".']
    assert [line for line in rows(shown) if line.startswith("The session")] == reported


def test_tree_shows_where_to_continue(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "one\n/tree\n/tree nothing of it\n/goto nowhere\n", tmp_path)
    assert any(line.endswith("user: one") for line in rows(shown))
    assert "No matches." in rows(shown)
    assert "Usage: /goto ID. /tree shows all entries." in rows(shown)


def test_other_text_is_a_message(tmp_path: Path) -> None:
    shown = piped([[Say("a")], [Say("b")]], "/etc/hosts is a file\n/nothing\n! \n", tmp_path)
    assert 'Unknown command "/nothing".' in rows(shown)
    assert shown.asked == ["/etc/hosts is a file", "!"]


def test_mistyped_command_with_arguments_was_sent_to_the_model(tmp_path: Path) -> None:
    shown = piped([[Say("a")]], "/udno 2 src\n/tmp is full\n", tmp_path)
    assert "Unknown command /udno. Did you mean /undo? A message starts with another word." in rows(shown)
    assert shown.asked == ["/tmp is full"]


@pytest.mark.parametrize(
    "sentence",
    (
        "undo 1 of the two renames",
        "redo the tests please",
        "plan it now",
        "name of the function?",
        "compact",
        "tree",
        "help me",
        "session",
    ),
)
def test_sentence_that_starts_like_a_command_is_sent(tmp_path: Path, sentence: str) -> None:
    shown = piped([[Say("Sure.")]], f"{sentence}\n", tmp_path)
    assert shown.asked == [sentence]
    assert rows(shown) == [f"> {sentence}", "Sure."]


def test_commands_of_the_screen_work_here_too(tmp_path: Path) -> None:
    typed = "hi\n/session\n/usage\n/context\n/shake\n/model\n/jobs\n/export talk.json\n"
    shown = body(piped([[Say("Yes.")]], typed, tmp_path))
    for text in (
        "1 message from you, 1 answer",
        "Total cost",
        "tokens used",
        "your messages",
        "The model is faux/faux",
        "No background jobs",
        f"Exported the session to {tmp_path / 'talk.json'}.",
    ):
        assert text in shown
    assert "Unknown command" not in shown
    assert (tmp_path / "talk.json").exists()


def test_command_of_the_screen_alone_is_not_sent_to_the_model(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "/theme dark\n/plan it now\n", tmp_path)
    assert shown.faux.requests == []
    assert "/theme needs the interactive screen" in body(shown)
    assert "/plan takes no arguments here" in body(shown) and "Plan mode on" not in body(shown)


def test_help_lists_every_command_with_its_function(tmp_path: Path) -> None:
    shown = body(piped([[Say("Yes.")]], "/help\n", tmp_path))
    for name in command_table.PLAIN:
        assert f"\n/{name}" in shown
        assert name == "exit" or callable(getattr(ConsoleCommands, f"_{name}"))


def test_message_may_start_with_a_path(tmp_path: Path) -> None:
    shown = piped([[Say("Yes.")]], "/usr/bin/env is where?\n", tmp_path)
    assert shown.asked == ["/usr/bin/env is where?"]
