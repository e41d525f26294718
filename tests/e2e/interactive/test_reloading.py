"""/reload applies changed files while tau runs and keeps the conversation."""

import json

from tests.e2e.interactive.launcher import OK, Launcher

GREET = "---\ndescription: Greet somebody\n---\nSay hello to $1.\n"


def test_changed_setting_is_reported_and_applied(launcher: Launcher) -> None:
    user = launcher.start().ask("hello", OK)
    user.see("─ fake-model")
    launcher.settings(theme__symbols="ascii")
    user.send("/reload").see('theme.symbols is now "ascii".', "Reloaded instructions, models and tools.")
    user.see("- fake-model", "hello", OK)
    user.ask("and again", OK)
    assert launcher.tau.user_messages() == ["hello", "and again"]
    assert len(launcher.tau.sessions()) == 1


def test_without_a_change_it_says_so(launcher: Launcher) -> None:
    launcher.start().send("/reload").see("No settings changed.")


def test_stricter_permission_mode_stays_after_a_reload_and_in_a_new_session(launcher: Launcher) -> None:
    user = launcher.start().send("/permissions ask")
    user.see("ask mode")
    user.send("/reload").see("No settings changed.", "ask mode")
    user.ask("hello", OK).send("/new")
    user.see("Started a new session.", "ask mode")


def test_changed_key_applies_at_once(launcher: Launcher) -> None:
    user = launcher.start().send("/reload")
    user.see("No settings changed.")
    launcher.tau.write("keybindings.json", {"app.model.select": "ctrl+q"})
    user.send("/reload").see("Choose a model: Ctrl+Q.")
    user.press("ctrl+q").see("second-model", "Filter:")
    user.press("escape").miss("Filter:")


def test_new_project_command_can_be_used(launcher: Launcher) -> None:
    folder = launcher.tau.project / ".tau" / "commands"
    folder.mkdir(parents=True)
    user = launcher.start().send("/reload")
    user.see("No settings changed.")
    (folder / "greet.md").write_text(GREET)
    user.send("/reload").see("New command /greet.")
    user.ask("/greet Ada", OK)
    assert launcher.tau.user_messages() == ["Say hello to Ada."]
    (folder / "greet.md").unlink()
    user.send("/reload").see("Removed command /greet.")


def test_changed_instructions_reach_the_model(launcher: Launcher) -> None:
    notes = launcher.tau.project / "AGENTS.md"
    notes.write_text("Speak of elephants.\n")
    user = launcher.start().ask("hello", OK)
    assert "Speak of elephants." in system(launcher)
    notes.write_text("Speak of whales.\n")
    user.send("/reload").see("Reloaded instructions")
    user.ask("hello once more", OK)
    assert "Speak of whales." in system(launcher) and "elephants" not in system(launcher)


def test_changed_theme_file_is_shown(launcher: Launcher) -> None:
    folder = launcher.tau.home / "themes"
    folder.mkdir()
    (folder / "mine.json").write_text(json.dumps({"colors": {"accent": "#112233"}}))
    user = launcher.start(env={"COLORTERM": "truecolor"})
    user.send("/theme mine").see("Theme set to mine.")
    assert b"38;2;17;34;51" in user.term.output
    (folder / "mine.json").write_text(json.dumps({"colors": {"accent": "#778899"}}))
    user.send("/reload").see("No settings changed.")
    user.until(lambda _: b"38;2;119;136;153" in user.term.output, "the new colour")


def test_broken_file_is_reported_and_nothing_changes(launcher: Launcher) -> None:
    user = launcher.start().ask("hello", OK)
    (launcher.tau.home / "settings.json").write_text('{"theme": ')
    user.send("/reload").see("settings.json")
    assert "Traceback" not in user.output
    user.see("hello", OK)
    user.ask("still there?", OK)
    assert launcher.tau.user_messages() == ["hello", "still there?"]


def system(launcher: Launcher) -> str:
    messages = launcher.tau.server.requests[-1].body["messages"]
    return "".join(str(one["content"]) for one in messages if one["role"] in ("system", "developer"))


def test_chosen_model_stays(launcher: Launcher) -> None:
    user = launcher.start("--thinking", "off").ask("hello", OK)
    user.send("/model second-model").see("─ second-model")
    user.send("/reload").see("Reloaded instructions")
    user.see("─ second-model")
    user.ask("hello once more", OK)
    assert launcher.tau.server.requests[-1].body["model"] == "second-model"
