"""What commands do, and the lists that some of them open."""

import json

import pytest

from tests.e2e.interactive.desk import OK, Desk
from tests.support.fake_answers import Call


def test_an_unknown_command_suggests_the_nearest_and_is_typed_again(desk: Desk) -> None:
    seat = desk.start().send("/modle")
    seat.see("Unknown command /modle. Did you mean /model?")
    seat.editor_is("/modle")
    assert not desk.tau.server.requests


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/help", "show keyboard shortcuts"),
        ("/help undo", "/undo"),
        ("/hotkeys", "Stop the agent"),
        ("/tools", "bash"),
        ("/jobs", "No background jobs"),
        ("/changelog", "Added"),
        ("/shake", "There is no large tool output to drop."),
        ("/queue", "The queue is empty."),
        ("/undo", "Nothing to undo"),
        ("/theme plum", "Theme set to plum."),
        ("/debug", "Raw responses"),
    ],
)
def test_a_command_tells_something(desk: Desk, command: str, told: str) -> None:
    seat = desk.start(rows=120).send(command)
    text = "\n".join(seat.see(told))
    assert "Internal error" not in text and "Traceback" not in text


def test_name_and_session_tell_about_the_session(desk: Desk) -> None:
    seat = desk.start(columns=200).send("hello")
    seat.see(OK)
    seat.send("/name Purple work").see('The session name is "Purple work".')
    seat.send("/session").see("1 message of yours", "Purple work")


def test_export_writes_a_page(desk: Desk) -> None:
    seat = desk.start(columns=200).send("hello")
    seat.see(OK)
    seat.send("/export talk.md").see("Exported the session")
    assert "hello" in (desk.tau.project / "talk.md").read_text()
    seat.send("/export talk.pdf").see("must end in .html, .md or .json")


def test_compact_puts_a_summary_in_place(desk: Desk) -> None:
    desk.settings(compaction__keepRecentTokens=1000)
    first, second = "An answer. " * 500, "A second one. " * 500
    desk.tau.script(first, second, "## Goal\nAbout elephants.", "## Part\nAbout ants.", "After it.")
    seat = desk.start().ask("tell me", "An answer.").ask("tell more", "A second one.")
    seat.send("/compact")
    seat.until(lambda _: len(desk.tau.server.requests) == 4, "the requests for a summary")
    seat.see("Summarized earlier messages")
    seat.send("go on").see("After it.")
    assert any("elephants" in said for said in desk.tau.said())


def test_undo_takes_a_change_back_and_redo_brings_it_again(desk: Desk) -> None:
    file = desk.tau.project / "a.txt"
    file.write_text("old\n")
    desk.tau.script(Call("write", {"path": "a.txt", "content": "new\n"}), "Written.")
    seat = desk.start().ask("write it", "Written.")
    assert file.read_text() == "new\n"
    seat.send("/undo").see("a.txt")
    seat.until(lambda _: file.read_text() == "old\n", "the old content")
    seat.send("/redo")
    seat.until(lambda _: file.read_text() == "new\n", "the new content")


def test_copy_puts_the_answer_into_the_clipboard(desk: Desk) -> None:
    desk.tau.script("Take this away.")
    seat = desk.start().send("hello")
    seat.see("Take this away.")
    seat.send("/copy last")
    seat.until(lambda _: "Take this away." in seat.term.terminal.clipboard, "the clipboard")


def test_the_list_to_copy_from(desk: Desk) -> None:
    desk.tau.script("Answer here.")
    seat = desk.start().send("hello")
    seat.see("Answer here.")
    seat.send("/copy").see("Everything")
    seat.press("enter")
    seat.until(lambda _: "Answer here." in seat.term.terminal.clipboard, "the clipboard")


def test_a_model_is_chosen_from_the_list(desk: Desk) -> None:
    seat = desk.start().send("/model")
    seat.see("second-model")
    seat.term.type("second")
    seat.miss("Claude")
    seat.press("enter").miss("Filter:")
    seat.send("hello").see(OK)
    assert desk.tau.server.requests[-1].body["model"] == "second-model"


def test_a_model_is_chosen_by_name(desk: Desk) -> None:
    seat = desk.start().send("/model second-model")
    seat.see("is used from the next request on")
    seat.send("hello").see(OK)
    assert desk.tau.server.requests[-1].body["model"] == "second-model"


def test_ctrl_p_goes_to_the_next_model(desk: Desk) -> None:
    desk.settings(enabledModels=["fake/fake-model", "fake/second-model"])
    desk.start().press("ctrl+p").see("second-model")


def test_shift_tab_goes_to_the_next_level_of_thinking(desk: Desk) -> None:
    flags = ("--provider", "fake", "--model", "second-model:low")
    seat = desk.start(flags=flags, ready="low")
    seat.press("shift+tab").see("medium")


def test_a_setting_that_is_changed_stays_changed(desk: Desk) -> None:
    seat = desk.start(rows=40).send("/settings")
    seat.see("Filter: type to search the settings")
    seat.term.type("symbols")
    seat.see("theme.symbols")
    seat.press("enter").see("ascii")
    seat.press("down")
    seat.press("enter")
    path = desk.tau.home / "settings.json"
    seat.until(lambda _: "symbols" in path.read_text(), "the setting in the file")
    assert json.loads(path.read_text())["titles.enabled"] is False


def test_a_theme_is_shown_while_it_is_chosen_and_escape_takes_it_back(desk: Desk) -> None:
    seat = desk.start().send("/theme")
    seat.see("dusk ✓")
    seat.press("down", "escape").miss("Filter:")
    assert "theme" not in (desk.tau.home / "settings.json").read_text()


def test_a_line_for_the_shell_is_run_and_told_to_the_model(desk: Desk) -> None:
    seat = desk.start().send("!echo sum-$((40 + 2))")
    seat.see("sum-42")
    seat.send("what was it?").see(OK)
    assert any("sum-42" in said for said in desk.tau.said())


def test_a_doubled_sign_is_not_told_to_the_model(desk: Desk) -> None:
    seat = desk.start().send("!!echo hidden-$((40 + 2))")
    seat.see("hidden-42")
    seat.send("what was it?").see(OK)
    assert not any("hidden-42" in said for said in desk.tau.said())


def test_a_line_for_python_is_run(desk: Desk) -> None:
    desk.start().send("$print(6 * 7 * 1000)").see("42000")


def test_escape_stops_a_line_for_the_shell(desk: Desk) -> None:
    seat = desk.start().send("!sleep 100")
    seat.see("Running your command")
    seat.press("escape").miss("Running your command")
    seat.send("hello").see(OK)


def test_a_command_of_the_project_is_sent_with_its_arguments(desk: Desk) -> None:
    folder = desk.tau.project / ".tau" / "commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("---\ndescription: Greet somebody\n---\nSay hello to $1 and $2.\n")
    seat = desk.start().send("/greet Ada Grace")
    seat.see(OK)
    assert desk.tau.said() == ["Say hello to Ada and Grace."]


def test_new_begins_an_empty_session(desk: Desk) -> None:
    desk.tau.script("Old answer.", "New answer.")
    seat = desk.start().ask("old question", "Old answer.")
    seat.send("/new").see("Old answer.", "Started a new session.")
    seat.send("new question").see("New answer.")
    assert desk.tau.said() == ["new question"]
