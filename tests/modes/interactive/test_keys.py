"""Keys of the user's own: in force when they are read again, and told where they are in each other's way."""

import json
from pathlib import Path

from tau.ai.faux import Wait
from tests.modes.interactive.commands.asking import said
from tests.modes.interactive.commands.test_general import home, put
from tests.modes.interactive.rig import Rig, rigged, run


def bind(keys: dict[str, object]) -> None:
    put(home() / "keybindings.json", json.dumps(keys))


async def reloaded(rig: Rig, text: str = "No settings changed.") -> str:
    """The screen after `/reload`, which brings this text to it."""
    await rig.send("/reload")
    await rig.show(text)
    await rig.idle()
    return rig.screen()


def test_reload_gives_the_editor_and_the_screen_their_new_keys_at_once(tmp_path: Path) -> None:
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


def test_what_the_screen_says_of_a_key_follows_it(tmp_path: Path) -> None:
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


def test_the_greeting_names_the_keys_of_now(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40, save=False) as rig:
            await rig.show("F1 all keys")
            bind({"app.help.hotkeys": "f10"})
            await reloaded(rig, "this session is not saved")
            await rig.show("F10 all keys")

    run(test)


def test_keys_that_are_taken_out_of_the_file_are_the_usual_ones_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40) as rig:
            bind({"app.help.hotkeys": "f10"})
            await reloaded(rig)
            (home() / "keybindings.json").unlink()
            await reloaded(rig, "Show keyboard shortcuts: F1.")
            await rig.press("f1")
            await rig.show("── Keys")

    run(test)


def test_reload_names_both_actions_of_a_key_and_which_one_wins(tmp_path: Path) -> None:
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


def test_a_broken_file_of_keys_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            put(home() / "keybindings.json", '{"app.help.hotkeys": ')
            assert "keybindings.json" in await said(rig, "/reload", "Invalid JSON")
            await rig.press("f1")
            await rig.show("── Keys")

    run(test)


def test_keys_of_lists_are_theirs_while_completions_are_offered(tmp_path: Path) -> None:
    """Ctrl+P and Ctrl+N walk in lists for many people; elsewhere Ctrl+P is the next model."""
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
