"""The alternate screen: every column of every row is there, on every terminal."""

import pytest

from tests.support.terminal.virtual import Habits
from tests.tui.render.render_rig import Lines, RenderRig


@pytest.mark.parametrize("erases_full_row", [True, False])
def test_row_as_wide_as_the_screen_keeps_its_last_column(erases_full_row: bool) -> None:
    rig = RenderRig(20, 4, habits=Habits(erases_full_row=erases_full_row)).start()
    shown = Lines("x" * 20, "short", "y" * 20)
    rig.screen.show_alternate(shown)
    rig.pass_time()
    assert rig.terminal.screen() == ["x" * 20, "short", "y" * 20, ""]
    shown.rows = ["z" * 20, "longer than", "y"]
    rig.draw()
    assert rig.terminal.screen() == ["z" * 20, "longer than", "y", ""]
