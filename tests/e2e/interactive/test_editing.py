"""Writing: completion, history, pastes, lines, the editor of one's own choice, keys of one's own."""

import json
from pathlib import Path

from tests.e2e.interactive.desk import OK, Desk


def test_slash_offers_commands_and_tab_takes_one(desk: Desk) -> None:
    seat = desk.start().write("/mod")
    seat.see("Choose the model")
    seat.press("tab")
    seat.until(lambda rows: any(row.startswith("/model") for row in rows), "/model in the editor")


def test_escape_closes_the_offers_and_keeps_the_text(desk: Desk) -> None:
    seat = desk.start().write("/mod")
    seat.see("Choose the model")
    seat.press("escape").miss("Choose the model")
    seat.editor_is("/mod")


def test_arguments_of_a_command_are_offered(desk: Desk) -> None:
    desk.start().write("/thinking m").see("medium")


def test_at_offers_files_of_the_project(desk: Desk) -> None:
    (desk.tau.project / "src").mkdir()
    (desk.tau.project / "src" / "engine_room.py").write_text("x = 1\n")
    (desk.tau.project / "notes.md").write_text("# Notes\n")
    seat = desk.start().write("look at @engroom")
    seat.see("engine_room.py  src")
    seat.press("tab")
    seat.until(lambda rows: any("look at @src/engine_room.py" in row for row in rows), "the path")
    seat.press("enter")
    seat.until(lambda _: bool(desk.tau.server.requests), "the request")
    assert "src/engine_room.py" in desk.tau.said()[0]


def test_at_leaves_out_what_git_ignores(desk: Desk) -> None:
    (desk.tau.project / ".git").mkdir()
    (desk.tau.project / ".gitignore").write_text("secret_build/\n")
    (desk.tau.project / "secret_build").mkdir()
    (desk.tau.project / "secret_build" / "target_one.txt").write_text("x\n")
    (desk.tau.project / "target_two.txt").write_text("x\n")
    rows = desk.start().write("@target").see("target_two.txt")
    assert not any("target_one" in row for row in rows)


def test_up_brings_earlier_messages_back(desk: Desk) -> None:
    desk.tau.script("A1.", "A2.")
    seat = desk.start().send("first words")
    seat.see("A1.")
    seat.send("second words").see("A2.")
    seat.editor_is("")
    seat.press("up")
    seat.editor_is("second words")
    seat.press("up")
    seat.editor_is("first words")
    seat.press("down", "down")
    seat.editor_is("")


def test_ctrl_r_searches_the_messages_of_earlier_sessions(desk: Desk) -> None:
    first = desk.start().ask("find the purple elephant", OK)
    assert first.leave() == 0
    seat = desk.start().press("ctrl+r")
    seat.see("Prompt history")
    seat.term.type("purple")
    seat.see("find the purple elephant")
    seat.press("enter")
    seat.editor_is("find the purple elephant")


def test_a_large_paste_is_folded_and_sent_whole(desk: Desk) -> None:
    pasted = "\n".join(f"line number {number}" for number in range(5000))
    seat = desk.start()
    seat.term.paste(pasted)
    seat.see("[Pasted text #1 +5,000 lines]")
    seat.press("enter").see(OK)
    assert desk.tau.said() == [pasted]


def test_a_small_paste_stands_in_the_editor_as_it_is(desk: Desk) -> None:
    seat = desk.start()
    seat.term.paste("one\ntwo\n/exit")
    seat.editor_is("one\ntwo\n/exit")
    seat.press("enter").see(OK)
    assert desk.tau.said() == ["one\ntwo\n/exit"]


def test_a_paste_runs_nothing_by_itself(desk: Desk) -> None:
    seat = desk.start()
    seat.term.paste("!touch broken\n\x1b[201~\r!touch broken\r")
    seat.see("touch broken")
    assert not (desk.tau.project / "broken").exists()


def test_a_message_of_several_lines(desk: Desk) -> None:
    seat = desk.start().write("top")
    seat.press("shift+enter").write("bottom")
    seat.editor_is("top\nbottom")
    seat.press("enter").see(OK)
    assert desk.tau.said() == ["top\nbottom"]


def test_the_external_editor_changes_the_text(desk: Desk, tmp_path: Path) -> None:
    script = tmp_path / "write-more"
    script.write_text('#!/bin/sh\nprintf "written outside" > "$1"\n')
    script.chmod(0o755)
    seat = desk.start(env={"EDITOR": str(script), "VISUAL": ""}).write("inside")
    seat.press("ctrl+g")
    seat.editor_is("written outside")
    seat.press("enter").see(OK)
    assert desk.tau.said() == ["written outside"]


def test_an_external_editor_that_is_missing_keeps_the_text(desk: Desk) -> None:
    seat = desk.start(env={"EDITOR": "no-such-editor", "VISUAL": ""}).write("inside")
    seat.press("ctrl+g").see("no-such-editor")
    seat.editor_is("inside")


def test_keys_of_ones_own(desk: Desk) -> None:
    (desk.tau.home / "keybindings.json").write_text(json.dumps({"app.model.select": "ctrl+q"}))
    seat = desk.start().press("ctrl+q")
    seat.see("second-model")


def test_a_broken_keybindings_file_does_not_keep_tau_from_starting(desk: Desk) -> None:
    (desk.tau.home / "keybindings.json").write_text("{broken")
    seat = desk.start(ready="")
    seat.see("keybindings.json")
    assert "Traceback" not in seat.told
    seat.send("hello all the same")
    seat.see(OK)


def test_keys_that_get_in_each_others_way_are_told_at_the_start(desk: Desk) -> None:
    desk.tau.write("keybindings.json", {"app.todo.toggle": "ctrl+p", "app.nonsense": "f9"})
    seat = desk.start()
    seat.see("Ctrl+P")
    seat.see("app.nonsense")


def test_a_picture_that_is_dropped_is_sent(desk: Desk) -> None:
    picture = desk.tau.project / "dot.png"
    picture.write_bytes(PNG)
    seat = desk.start()
    seat.term.paste(str(picture))
    seat.see("[dot.png 70 bytes]")
    seat.write(" what is it").press("enter")
    seat.see(OK)
    content = desk.tau.server.requests[-1].body["messages"][-1]["content"]
    assert any(part.get("type") == "image_url" for part in content)


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63f8ffffbf"
    "030007fb02fdd3a5a4e50000000049454e44ae426082"
)


def test_no_key_is_lost_when_a_list_closes(desk: Desk) -> None:
    seat = desk.start().send("/model")
    seat.see("second-model", "Filter:")
    seat.term.type("second-model\rwho are you?\r")
    seat.see(OK)
    assert desk.tau.said() == ["who are you?"]
    assert desk.tau.server.requests[-1].body["model"] == "second-model"
