"""What commands do, and the lists some of them open."""

import json

import pytest

from tests.e2e.interactive.launcher import OK, Launcher
from tests.support.fake_answers import Call


def test_unknown_command_suggests_the_nearest_and_stays_typed(launcher: Launcher) -> None:
    user = launcher.start().send("/modle")
    user.see("Unknown command /modle. Did you mean /model?")
    user.editor_is("/modle")
    assert not launcher.tau.server.requests


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("/help", "show keyboard shortcuts"),
        ("/help undo", "/undo"),
        ("/hotkeys", "Stop the agent"),
        ("/tools", "bash"),
        ("/jobs", "No background jobs"),
        ("/changelog", "no longer"),
        ("/shake", "There is no large tool output to drop."),
        ("/queue", "The queue is empty."),
        ("/undo", "Nothing to undo"),
        ("/theme plum", "Theme set to plum."),
        ("/debug", "Raw responses"),
    ],
)
def test_command_shows_its_output(launcher: Launcher, command: str, output: str) -> None:
    user = launcher.start(rows=120).send(command)
    text = "\n".join(user.see(output))
    assert "Internal error" not in text and "Traceback" not in text


def test_name_and_session_describe_the_session(launcher: Launcher) -> None:
    user = launcher.start(columns=200).send("hello")
    user.see(OK)
    user.send("/name Purple work").see('Renamed the session to "Purple work".')
    user.send("/session").see("1 message from you", "Purple work")


def test_export_writes_a_page(launcher: Launcher) -> None:
    user = launcher.start(columns=200).send("hello")
    user.see(OK)
    user.send("/export talk.md").see("Exported the session")
    assert "hello" in (launcher.tau.project / "talk.md").read_text()
    user.send("/export talk.pdf").see("must end in .html, .md or .json")


def test_compact_inserts_a_summary(launcher: Launcher) -> None:
    launcher.settings(compaction__keepRecentTokens=1000)
    first, second = "An answer. " * 500, "A second one. " * 500
    launcher.tau.script(first, second, "## Goal\nAbout elephants.", "## Part\nAbout ants.", "After it.")
    user = launcher.start().ask("tell me", "An answer.").ask("tell more", "A second one.")
    user.send("/compact")
    user.until(lambda _: len(launcher.tau.server.requests) == 4, "the requests for a summary")
    user.see("Summarized earlier messages")
    user.send("go on").see("After it.")
    assert any("elephants" in message for message in launcher.tau.user_messages())


def test_undo_reverts_a_change_and_redo_reapplies_it(launcher: Launcher) -> None:
    file = launcher.tau.project / "a.txt"
    file.write_text("old\n")
    launcher.tau.script(Call("write", {"path": "a.txt", "content": "new\n"}), "Written.")
    user = launcher.start().ask("write it", "Written.")
    assert file.read_text() == "new\n"
    user.send("/undo").see("a.txt")
    user.until(lambda _: file.read_text() == "old\n", "the old content")
    user.send("/redo")
    user.until(lambda _: file.read_text() == "new\n", "the new content")


def test_copy_puts_the_answer_on_the_clipboard(launcher: Launcher) -> None:
    launcher.tau.script("Take this away.")
    user = launcher.start().send("hello")
    user.see("Take this away.")
    user.send("/copy last")
    user.until(lambda _: "Take this away." in user.term.terminal.clipboard, "the clipboard")


def test_copy_list(launcher: Launcher) -> None:
    launcher.tau.script("Answer here.")
    user = launcher.start().send("hello")
    user.see("Answer here.")
    user.send("/copy").see("Everything")
    user.press("enter")
    user.until(lambda _: "Answer here." in user.term.terminal.clipboard, "the clipboard")


def test_model_is_chosen_from_the_list(launcher: Launcher) -> None:
    user = launcher.start().send("/model")
    user.see("second-model")
    user.term.type("second")
    user.miss("Claude")
    user.press("enter").miss("Filter:")
    user.send("hello").see(OK)
    assert launcher.tau.server.requests[-1].body["model"] == "second-model"


def test_model_is_chosen_by_name(launcher: Launcher) -> None:
    user = launcher.start().send("/model second-model")
    user.see("starting with the next request")
    user.send("hello").see(OK)
    assert launcher.tau.server.requests[-1].body["model"] == "second-model"


def test_ctrl_p_switches_to_the_next_model(launcher: Launcher) -> None:
    launcher.settings(enabledModels=["fake/fake-model", "fake/second-model"])
    launcher.start().press("ctrl+p").see("second-model")


def test_shift_tab_switches_to_the_next_thinking_level(launcher: Launcher) -> None:
    flags = ("--provider", "fake", "--model", "second-model:low")
    user = launcher.start(flags=flags, ready="low")
    user.press("shift+tab").see("medium")


def test_changed_setting_stays_changed(launcher: Launcher) -> None:
    user = launcher.start(rows=40).send("/settings")
    user.see("Filter: type to search the settings")
    user.term.type("symbols")
    user.see("theme.symbols")
    user.press("enter").see("ascii")
    user.press("down")
    user.press("enter")
    path = launcher.tau.home / "settings.json"
    user.until(lambda _: "symbols" in path.read_text(), "the setting in the file")
    assert json.loads(path.read_text())["titles.enabled"] is False


def test_theme_is_previewed_and_escape_restores_the_old_one(launcher: Launcher) -> None:
    user = launcher.start().send("/theme")
    user.see("dusk ✓")
    user.press("down", "escape").miss("Filter:")
    assert "theme" not in (launcher.tau.home / "settings.json").read_text()


def test_shell_command_runs_and_is_sent_to_the_model(launcher: Launcher) -> None:
    user = launcher.start().send("!echo sum-$((40 + 2))")
    user.see("sum-42")
    user.send("what was it?").see(OK)
    assert any("sum-42" in message for message in launcher.tau.user_messages())


def test_doubled_sign_is_not_sent_to_the_model(launcher: Launcher) -> None:
    user = launcher.start().send("!!echo hidden-$((40 + 2))")
    user.see("hidden-42")
    user.send("what was it?").see(OK)
    assert not any("hidden-42" in message for message in launcher.tau.user_messages())


def test_python_command_runs(launcher: Launcher) -> None:
    launcher.start().send("$print(6 * 7 * 1000)").see("42000")


def test_escape_stops_a_shell_command(launcher: Launcher) -> None:
    user = launcher.start().send("!sleep 100")
    user.see("Running your command")
    user.press("escape").miss("Running your command")
    user.send("hello").see(OK)


def test_project_command_is_sent_with_its_arguments(launcher: Launcher) -> None:
    folder = launcher.tau.project / ".tau" / "commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("---\ndescription: Greet somebody\n---\nSay hello to $1 and $2.\n")
    user = launcher.start().send("/greet Ada Grace")
    user.see(OK)
    assert launcher.tau.user_messages() == ["Say hello to Ada and Grace."]


def test_new_starts_an_empty_session(launcher: Launcher) -> None:
    launcher.tau.script("Old answer.", "New answer.")
    user = launcher.start().ask("old question", "Old answer.")
    user.send("/new").see("Old answer.", "Started a new session.")
    user.send("new question").see("New answer.")
    assert launcher.tau.user_messages() == ["new question"]
