"""/reload: what was changed in files while tau runs counts then, and nothing that was said is lost."""

import json

from tests.e2e.interactive.desk import OK, Desk

GREET = "---\ndescription: Greet somebody\n---\nSay hello to $1.\n"


def test_a_changed_setting_is_told_and_counts(desk: Desk) -> None:
    seat = desk.start().ask("hello", OK)
    seat.see("─ fake-model")
    desk.settings(theme__symbols="ascii")
    seat.send("/reload").see('theme.symbols is now "ascii".', "Reloaded instructions, models and tools.")
    seat.see("- fake-model", "hello", OK)
    seat.ask("and again", OK)
    assert desk.tau.said() == ["hello", "and again"]
    assert len(desk.tau.sessions()) == 1


def test_without_a_change_it_says_so(desk: Desk) -> None:
    desk.start().send("/reload").see("No settings changed.")


def test_another_key_counts_at_once(desk: Desk) -> None:
    seat = desk.start().send("/reload")
    seat.see("No settings changed.")
    desk.tau.write("keybindings.json", {"app.model.select": "ctrl+q"})
    seat.send("/reload").see("Choose a model: Ctrl+Q.")
    seat.press("ctrl+q").see("second-model", "Filter:")
    seat.press("escape").miss("Filter:")


def test_another_command_of_the_project_can_be_used(desk: Desk) -> None:
    folder = desk.tau.project / ".tau" / "commands"
    folder.mkdir(parents=True)
    seat = desk.start().send("/reload")
    seat.see("No settings changed.")
    (folder / "greet.md").write_text(GREET)
    seat.send("/reload").see("New command /greet.")
    seat.ask("/greet Ada", OK)
    assert desk.tau.said() == ["Say hello to Ada."]
    (folder / "greet.md").unlink()
    seat.send("/reload").see("Removed command /greet.")


def test_instructions_that_were_changed_reach_the_model(desk: Desk) -> None:
    notes = desk.tau.project / "AGENTS.md"
    notes.write_text("Speak of elephants.\n")
    seat = desk.start().ask("hello", OK)
    assert "Speak of elephants." in system(desk)
    notes.write_text("Speak of whales.\n")
    seat.send("/reload").see("Reloaded instructions")
    seat.ask("hello once more", OK)
    assert "Speak of whales." in system(desk) and "elephants" not in system(desk)


def test_a_theme_file_that_was_changed_is_shown(desk: Desk) -> None:
    folder = desk.tau.home / "themes"
    folder.mkdir()
    (folder / "mine.json").write_text(json.dumps({"colors": {"accent": "#112233"}}))
    seat = desk.start(env={"COLORTERM": "truecolor"})
    seat.send("/theme mine").see("Theme set to mine.")
    assert b"38;2;17;34;51" in seat.term.output
    (folder / "mine.json").write_text(json.dumps({"colors": {"accent": "#778899"}}))
    seat.send("/reload").see("No settings changed.")
    seat.until(lambda _: b"38;2;119;136;153" in seat.term.output, "the new colour")


def test_a_broken_file_is_told_and_all_stays_as_it_was(desk: Desk) -> None:
    seat = desk.start().ask("hello", OK)
    (desk.tau.home / "settings.json").write_text('{"theme": ')
    seat.send("/reload").see("settings.json")
    assert "Traceback" not in seat.told
    seat.see("hello", OK)
    seat.ask("still there?", OK)
    assert desk.tau.said() == ["hello", "still there?"]


def system(desk: Desk) -> str:
    messages = desk.tau.server.requests[-1].body["messages"]
    return "".join(str(one["content"]) for one in messages if one["role"] in ("system", "developer"))


def test_the_model_that_was_chosen_stays(desk: Desk) -> None:
    seat = desk.start("--thinking", "off").ask("hello", OK)
    seat.send("/model second-model").see("─ second-model")
    seat.send("/reload").see("Reloaded instructions")
    seat.see("─ second-model")
    seat.ask("hello once more", OK)
    assert desk.tau.server.requests[-1].body["model"] == "second-model"
