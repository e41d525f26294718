"""Custom keys: applied on reload, with conflicts reported."""

import json
from pathlib import Path

from tau.ai.faux import Wait
from tau.modes.interactive.key_bindings import APP_BINDINGS
from tau.tui.input.bindings import BINDINGS
from tau.tui.widgets.editor.bindings import EDITOR_BINDINGS
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.commands.test_general import home, put
from tests.modes.interactive.rig import Rig, rigged, run


def bind(keys: dict[str, object]) -> None:
    put(home() / "keybindings.json", json.dumps(keys))


async def reloaded(rig: Rig, text: str = "No settings changed.") -> str:
    """The screen after `/reload`, once it shows this text."""
    await rig.send("/reload")
    await rig.show(text)
    await rig.idle()
    return rig.screen()


def test_reload_applies_new_keys_to_editor_and_screen_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40) as rig:
            bind(
                {
                    "tui.editor.deleteToLineStart": "f7",
                    "tui.editor.undo": "f8",
                    "app.clear": "f9",
                    "app.help.hotkeys": "f10",
                }
            )
            shown = await reloaded(rig)
            assert "Delete to the start of the line: F7." in shown
            await rig.type("one two")
            await rig.press("ctrl+u")
            assert rig.front.editor.text == "one two"
            await rig.press("f7")
            assert rig.front.editor.text == ""
            await rig.press("f8")
            assert rig.front.editor.text == "one two"
            await rig.press("f9")
            await rig.show("Cleared; F8 restores it. Press F9 again to quit.")
            await rig.press("f10")
            await rig.show("── Keys")
            await rig.type("clear the editor")
            assert "F9" in await rig.show("Clear the editor; twice: quit")

    run(test)


def test_displayed_keys_follow_the_bindings(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Wait(30)]], columns=120, rows=40) as rig:
            bind({"app.interrupt": "f7", "app.message.dequeue": "f8"})
            await reloaded(rig)
            await rig.send("go")
            await rig.show("F7 stops it")
            await rig.send("more")
            await rig.show("F8 edits the last one")
            await rig.press("f7")
            await rig.idle()

    run(test)


def test_greeting_names_the_current_keys(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40, save=False) as rig:
            await rig.show("F1 all keys")
            bind({"app.help.hotkeys": "f10"})
            await reloaded(rig, "this session is not saved")
            await rig.show("F10 all keys")

    run(test)


def test_keys_removed_from_the_file_return_to_their_defaults(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40) as rig:
            bind({"app.help.hotkeys": "f10"})
            await reloaded(rig)
            (home() / "keybindings.json").unlink()
            await reloaded(rig, "Show keyboard shortcuts: F1.")
            await rig.press("f1")
            await rig.show("── Keys")

    run(test)


def test_reload_names_both_actions_of_a_conflicting_key_and_the_winner(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40) as rig:
            bind({"tui.editor.cursorLineEnd": "ctrl+l"})
            words = (
                "Ctrl+L is bound to tui.editor.cursorLineEnd and app.display.reset; "
                "tui.editor.cursorLineEnd wins."
            )
            assert words in await reloaded(rig)
            await rig.type("abc")
            await rig.press("home", "ctrl+l")
            await rig.type("d")
            assert rig.front.editor.text == "abcd"

    run(test)


def test_broken_keybindings_file_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            put(home() / "keybindings.json", '{"app.help.hotkeys": ')
            assert "keybindings.json" in await run_command(rig, "/reload", "Invalid JSON")
            await rig.press("f1")
            await rig.show("── Keys")

    run(test)


def test_list_keys_win_while_completions_are_open(tmp_path: Path) -> None:
    """Many people use Ctrl+P and Ctrl+N in lists; elsewhere Ctrl+P is the next model."""
    (tmp_path / "alpha.txt").touch()
    (tmp_path / "beta.txt").touch()

    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            bind({"tui.select.up": ["up", "ctrl+p"], "tui.select.down": ["down", "ctrl+n"]})
            await reloaded(rig)
            await rig.type("@")
            completing = rig.front.editor.completing
            await rig.until(lambda: completing.is_open and len(completing.list.items) > 1, "a list")
            await rig.press("ctrl+n")
            assert completing.at == 1
            await rig.press("ctrl+p")
            assert completing.at == 0

    run(test)


SHARED = {
    "ctrl+b": {"tui.editor.cursorLeft", "app.jobs.background"},
    "ctrl+c": {"tui.input.copy", "app.clear"},
    "ctrl+d": {"tui.editor.deleteCharForward", "app.exit"},
    "ctrl+r": {"tui.editor.historySearch", "app.history.search"},
}
"""Keys that two actions share on purpose: the first one that has something to do takes them."""


def test_no_default_key_has_two_actions_in_one_place() -> None:
    actions: dict[tuple[str, str], set[str]] = {}
    for action, binding in (BINDINGS | EDITOR_BINDINGS | APP_BINDINGS).items():
        scope = binding.scope or ("select" if action.startswith("tui.select.") else "editor")
        for key in binding.keys:
            actions.setdefault((scope, key), set()).add(action)
    doubled = {key: names for (_, key), names in actions.items() if len(names) > 1}
    assert doubled == SHARED


def test_every_key_of_the_screen_does_something(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            done = rig.parts.input._actions_by_name
            screen = {action for action, binding in APP_BINDINGS.items() if not binding.scope}
            assert screen - set(done) == set()

    run(test)
