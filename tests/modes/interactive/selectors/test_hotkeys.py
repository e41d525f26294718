"""The list of all keys."""

from pathlib import Path

from tau.modes.interactive.key_bindings import APP_BINDINGS
from tau.modes.interactive.selectors.hotkeys import PROBLEMS, choose_hotkeys, hotkey_items
from tau.tui.input.bindings import BINDINGS, Keymap
from tests.modes.interactive.rig import run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened, settled


def test_every_action_is_listed_once_with_its_keys() -> None:
    items = hotkey_items(Keymap({}, extra=APP_BINDINGS))
    assert {item.value for item in items} == {*BINDINGS, *APP_BINDINGS}
    assert len(items) == len({item.value for item in items})
    by_action = {item.value: item for item in items}
    assert by_action["app.tree.label"].label == "Shift+L"
    assert by_action["app.session.new"].label == "(no key)"
    words = by_action["tui.editor.deleteWordBackward"]
    assert words.label == "Ctrl+W" and "also Alt+Backspace, Ctrl+Backspace" in words.description


def test_custom_keys_and_their_problems_are_shown() -> None:
    keys = Keymap({"app.exit": ["f9"], "app.nothing": ["f8"], "app.suspend": ["f9"]}, extra=APP_BINDINGS)
    items = hotkey_items(keys)
    wrong = [item.label for item in items if item.group == PROBLEMS]
    assert len(wrong) == 2 and items[0].group == PROBLEMS
    assert any("app.nothing" in text for text in wrong)
    assert "F9 is bound to app.exit and app.suspend; app.exit wins." in wrong
    assert next(item for item in items if item.value == "app.exit").label == "F9"
    assert next(item for item in items if item.value == "app.suspend").label == "(no key)"


def test_keys_are_found_by_their_action(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig, opened(rig, choose_hotkeys, "── Keys"):
            await rig.type("edit queued")
            shown = await settled(rig)
            assert "Alt+Up" in shown and "Ctrl+L" not in shown
            assert "app.message.dequeue, keybindings.json" in shown  # the full name of the selected one
            await rig.press("enter")

    run(test)


def test_no_row_is_cut_at_the_usual_width_and_names_match(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig, opened(rig, choose_hotkeys, "── Keys"):
            shown = await settled(rig)
            assert "…" not in shown
            assert "app.interrupt, keybindings.json" in shown
            await rig.type("app.tree.label")
            shown = await settled(rig)
            assert "Shift+L" in shown and "app.tree.label, keybindings.json" in shown
            await rig.press("enter")

    run(test)
