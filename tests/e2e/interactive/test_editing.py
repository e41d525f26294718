"""Editing: completion, history, pastes, lines, the external editor, custom keys."""

import json
from pathlib import Path

import pytest

from tests.e2e.interactive.launcher import OK, SIGN, Launcher
from tests.support.fake_answers import Call
from tests.support.pictures import PNG


def test_slash_offers_commands_and_tab_takes_one(launcher: Launcher) -> None:
    user = launcher.start().write("/mod")
    user.see("Choose the model")
    user.press("tab")
    user.until(lambda rows: any(row.startswith(f"{SIGN} /model") for row in rows), "/model in the editor")


def test_escape_closes_the_completions_and_keeps_the_text(launcher: Launcher) -> None:
    user = launcher.start().write("/mod")
    user.see("Choose the model")
    user.press("escape").miss("Choose the model")
    user.editor_is("/mod")


def test_arguments_of_a_command_are_offered(launcher: Launcher) -> None:
    launcher.start().write("/thinking m").see("medium")


def test_at_offers_files_of_the_project(launcher: Launcher) -> None:
    (launcher.tau.project / "src").mkdir()
    (launcher.tau.project / "src" / "engine_room.py").write_text("x = 1\n")
    (launcher.tau.project / "notes.md").write_text("# Notes\n")
    user = launcher.start().write("look at @engroom")
    user.see("engine_room.py  src")
    user.press("tab")
    user.until(lambda rows: any("look at @src/engine_room.py" in row for row in rows), "the path")
    user.press("enter")
    user.until(lambda _: bool(launcher.tau.server.requests), "the request")
    assert "src/engine_room.py" in launcher.tau.user_messages()[0]


def test_at_leaves_out_ignored_files(launcher: Launcher) -> None:
    (launcher.tau.project / ".git").mkdir()
    (launcher.tau.project / ".gitignore").write_text("secret_build/\n")
    (launcher.tau.project / "secret_build").mkdir()
    (launcher.tau.project / "secret_build" / "target_one.txt").write_text("x\n")
    (launcher.tau.project / "target_two.txt").write_text("x\n")
    rows = launcher.start().write("@target").see("target_two.txt")
    assert not any("target_one" in row for row in rows)


def test_up_recalls_earlier_messages(launcher: Launcher) -> None:
    launcher.tau.script("A1.", "A2.")
    user = launcher.start().send("first words")
    user.see("A1.")
    user.send("second words").see("A2.")
    user.editor_is("")
    user.press("up")
    user.editor_is("second words")
    user.press("up")
    user.editor_is("first words")
    user.press("down", "down")
    user.editor_is("")


def test_ctrl_r_searches_messages_of_earlier_sessions(launcher: Launcher) -> None:
    first = launcher.start().ask("find the purple elephant", OK)
    assert first.leave() == 0
    user = launcher.start().press("ctrl+r")
    user.see("Prompt history")
    user.term.type("purple")
    user.see("find the purple elephant")
    user.press("enter")
    user.editor_is("find the purple elephant")


def test_large_paste_is_folded_and_sent_completely(launcher: Launcher) -> None:
    pasted = "\n".join(f"line number {number}" for number in range(5000))
    user = launcher.start()
    user.term.paste(pasted)
    user.see("[Pasted text #1 +5,000 lines]")
    user.press("enter").see(OK)
    assert launcher.tau.user_messages() == [pasted]


def test_small_paste_appears_in_the_editor_unchanged(launcher: Launcher) -> None:
    user = launcher.start()
    user.term.paste("one\ntwo\n/exit")
    user.editor_is("one\ntwo\n/exit")
    user.press("enter").see(OK)
    assert launcher.tau.user_messages() == ["one\ntwo\n/exit"]


def test_paste_runs_nothing(launcher: Launcher) -> None:
    user = launcher.start()
    user.term.paste("!touch broken\n\x1b[201~\r!touch broken\r")
    user.see("touch broken")
    assert not (launcher.tau.project / "broken").exists()


@pytest.mark.parametrize("text", ["!touch broken\r", "$open('broken', 'w')\r", "send me\r", "/exit\r", "y\r"])
def test_unmarked_paste_of_one_line_neither_sends_nor_runs(launcher: Launcher, text: str) -> None:
    """As xterm.js and tmux deliver it: all at once, with carriage returns."""
    user = launcher.start()
    user.term.type(text)
    sign = {"!": "sh ", "$": "py "}.get(text[0], "")
    user.editor_is(sign + text.replace("\r", "\n"))
    user.press("ctrl+c")
    user.ask("hello", OK)
    assert not (launcher.tau.project / "broken").exists()
    assert launcher.tau.user_messages() == ["hello"]


def test_unmarked_paste_of_many_lines_is_one_text(launcher: Launcher) -> None:
    user = launcher.start()
    user.term.type("".join(f"{number}\r" for number in range(3000)))
    user.see("[Pasted text #1 +")
    user.press("enter").see(OK)
    (message,) = launcher.tau.user_messages()
    assert message.split("\n")[:3] == ["0", "1", "2"] and "2999" in message


def test_unmarked_paste_does_not_answer_an_approval(launcher: Launcher) -> None:
    launcher.tau.script(Call("write", {"path": "/outside.txt", "content": "x"}), OK)
    user = launcher.start().send("write it")
    user.see("Allow once")
    user.term.type("yes please")
    user.see("Your paste is in the editor.")
    user.press("escape").see("Stopped.")
    user.editor_is("yes please")
    assert not Path("/outside.txt").exists()


def test_multiline_message(launcher: Launcher) -> None:
    user = launcher.start().write("top")
    user.press("shift+enter").write("bottom")
    user.editor_is("top\nbottom")
    user.press("enter").see(OK)
    assert launcher.tau.user_messages() == ["top\nbottom"]


def test_external_editor_changes_the_text(launcher: Launcher, tmp_path: Path) -> None:
    script = tmp_path / "write-more"
    script.write_text('#!/bin/sh\nprintf "written outside" > "$1"\n')
    script.chmod(0o755)
    user = launcher.start(env={"EDITOR": str(script), "VISUAL": ""}).write("inside")
    user.press("ctrl+g")
    user.editor_is("written outside")
    user.press("enter").see(OK)
    assert launcher.tau.user_messages() == ["written outside"]


def test_missing_external_editor_keeps_the_text(launcher: Launcher) -> None:
    user = launcher.start(env={"EDITOR": "no-such-editor", "VISUAL": ""}).write("inside")
    user.press("ctrl+g").see("no-such-editor")
    user.editor_is("inside")


def test_custom_keys(launcher: Launcher) -> None:
    (launcher.tau.home / "keybindings.json").write_text(json.dumps({"app.model.select": "ctrl+q"}))
    user = launcher.start().press("ctrl+q")
    user.see("second-model")


def test_broken_keybindings_file_does_not_prevent_startup(launcher: Launcher) -> None:
    (launcher.tau.home / "keybindings.json").write_text("{broken")
    user = launcher.start(ready="")
    user.see("keybindings.json")
    assert "Traceback" not in user.output
    user.send("hello all the same")
    user.see(OK)


def test_conflicting_keys_are_reported_at_startup(launcher: Launcher) -> None:
    launcher.tau.write("keybindings.json", {"app.todo.toggle": "ctrl+p", "app.nonsense": "f9"})
    user = launcher.start()
    user.see("Ctrl+P")
    user.see("app.nonsense")


def test_dropped_picture_is_sent(launcher: Launcher) -> None:
    picture = launcher.tau.project / "dot.png"
    picture.write_bytes(PNG)
    user = launcher.start()
    user.term.paste(str(picture))
    user.see("[dot.png 67 bytes]")
    user.write(" what is it").press("enter")
    user.see(OK)
    content = launcher.tau.server.requests[-1].body["messages"][-1]["content"]
    assert any(part.get("type") == "image_url" for part in content)


def test_no_key_is_lost_when_a_list_closes(launcher: Launcher) -> None:
    user = launcher.start().send("/model")
    user.see("second-model", "Filter:")
    user.write("second-model").press("enter").miss("Filter:")
    user.send("who are you?").see(OK)
    assert launcher.tau.user_messages() == ["who are you?"]
    assert launcher.tau.server.requests[-1].body["model"] == "second-model"
