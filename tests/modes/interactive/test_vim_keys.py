"""Vim keys on the screen: the mode is shown, and Escape leaves it before it stops the agent."""

import sys
from pathlib import Path

from tau.ai.faux import Say, Wait
from tests.modes.interactive.rig import rigged, run

VIM = {"interaction.vimKeys": True}


def test_mode_is_shown_and_escape_leaves_it_before_it_stops_the_agent(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working"), Wait()]], settings=VIM) as rig:
            await rig.show("INSERT")
            await rig.send("go")
            await rig.show("Working")
            await rig.type("one two")
            await rig.press("escape")
            await rig.show("NORMAL")
            assert rig.session.busy
            await rig.type("bD")
            assert rig.front.editor.text == "one "
            await rig.press("escape")
            await rig.idle()
            assert rig.front.editor.text == "one "

    run(test)


def test_ctrl_r_redoes_in_normal_mode_and_searches_in_insert_mode(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings=VIM) as rig:
            await rig.type("one")
            await rig.press("escape")
            await rig.type("xu")
            await rig.press("ctrl+r")
            assert rig.front.editor.text == "on"
            assert not rig.parts.dialogs.open

    run(test)


def test_setting_turns_them_on_and_off_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert "INSERT" not in rig.screen()
            await rig.send("/settings")
            await rig.show("Filter")
            await rig.type("vim keys")
            await rig.show("Vim keys in the editor")
            await rig.press("enter")
            await rig.press("escape")
            await rig.show("INSERT")

    run(test)


def test_unused_vim_keys_are_not_imported(tmp_path: Path) -> None:
    sys.modules.pop("tau.tui.widgets.editor.vim", None)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("hello")
            assert "tau.tui.widgets.editor.vim" not in sys.modules

    run(test)
