"""What went wrong, above the editor."""

from pathlib import Path

from tau.ai.faux import Say
from tau.modes.interactive.status.error_banner import MAX_ROWS
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import rigged, run


def test_it_stays_until_the_next_thing_is_sent(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Fine.")]]) as rig:
            rig.app.banner.show("That did not work.")
            await rig.show("✗ That did not work.")
            await rig.send("go")
            await rig.show("Fine.")
            assert "That did not work." not in rig.screen()

    run(test)


def test_the_level_is_told_by_a_sign(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.app.banner.show("Mind that.", "warning")
            await rig.show("! Mind that.")
            rig.app.banner.show("And this.", "info")
            shown = await rig.show("• And this.")
            assert "Mind that." not in shown
            rig.app.banner.hide()
            await rig.gone("And this.")

    run(test)


def test_a_long_error_takes_a_few_rows(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.app.banner.show("a long error \x1b[2J with a story " * 200)
            await rig.show("a long error")
            for width in (1, 20, 80):
                rows = rig.app.banner.render(width)
                assert len(rows) <= MAX_ROWS + 1
                assert all(visible_width(row) <= width and "\x1b[2J" not in row for row in rows)

    run(test)
