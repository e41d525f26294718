"""Errors above the editor."""

from pathlib import Path

from tau.ai.faux import Say
from tau.modes.interactive.status.notices import MAX_ERROR_ROWS
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import rigged, run


def test_stays_until_the_next_message_is_sent(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fine.")]]) as rig:
            rig.parts.notices.show_error("That did not work.")
            await rig.show("✗ That did not work.")
            await rig.send("go")
            await rig.show("Fine.")
            assert "That did not work." not in rig.screen()

    run(test)


def test_long_error_takes_a_few_rows(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.notices.show_error("a long error \x1b[2J with a story " * 200)
            await rig.show("a long error")
            for width in (1, 20, 80):
                rows = rig.front.layout.banner.render(width)
                assert len(rows) <= MAX_ERROR_ROWS + 1
                assert all(visible_width(row) <= width and "\x1b[2J" not in row for row in rows)

    run(test)


def test_hint_does_not_push_a_dialog_out_of_a_small_window(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=40, rows=12) as rig:
            rig.parts.notices.hint("Shown before the dialog.", seconds=60)
            await rig.show("Shown before the dialog.")
            await rig.send("/settings")
            before = await rig.show("Filter")
            rig.parts.notices.hint("A warning that takes more than one row here.", "warning", 60)
            after = await rig.drawn()
            dialog = before[before.index("Settings") - 3 :]
            assert dialog in after
            await rig.press("escape")
            shown = await rig.show("! A warning that takes")
            assert shown.index("A warning") > shown.index("Type a message")

    run(test)
