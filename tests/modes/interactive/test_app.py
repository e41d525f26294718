"""End to end through all layers: type, send, see the answer, quit."""

from pathlib import Path

import pytest

from tau.ai.faux import Say
from tau.tui.text.clean import TAB_WIDTH
from tests.modes.interactive.rig import rigged, run


def test_message_is_sent_and_its_answer_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Good day to you.")]]) as rig:
            await rig.send("hello there")
            shown = await rig.show("Good day to you.")
            assert "hello there" in shown
            await rig.idle()
            assert rig.faux.requests[0].messages[-1].content == "hello there"

    run(test)


def test_text_typed_before_the_session_opens_is_not_lost(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fine.")]], prompts=["first"]) as rig:
            await rig.show("Fine.")
            await rig.idle()
            await rig.send("/exit")
            await rig.until(lambda: rig.current.session is None, "the end")

    run(test)


def test_tab_width_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        TAB_WIDTH, "width", TAB_WIDTH.width
    )  # it belongs to the screen, and another test has another one

    async def test() -> None:
        async with rigged(tmp_path, [[Say("x")]], settings={"display.tabWidth": 7}) as rig:
            rig.terminal.paste("a\tb")
            rig.terminal.press("enter")
            await rig.show("a      b")

    run(test)
