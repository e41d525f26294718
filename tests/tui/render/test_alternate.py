"""The alternate screen: every column of every row is there, on every terminal."""

from typing import Literal

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


@pytest.mark.parametrize(("place", "count"), [("alternate", 3), ("inline", 12)])
def test_dialog_leaves_no_rows_when_the_terminal_gets_smaller(
    place: Literal["inline", "alternate"], count: int
) -> None:
    rig = RenderRig(120, 15).start()
    rig.transcript.add(Lines(*(f"said {number}" for number in range(30))))
    rig.draw()
    dialog = Lines(*(f"choice {number} {'x' * 100}" for number in range(count)))
    rig.screen.root.add(dialog)
    rig.screen.set_dialog(place)
    rig.draw()
    shown = rig.terminal.screen()
    assert rig.terminal.alternate and f"choice {count - 1}" in shown[14]
    for columns, rows in ((80, 15), (60, 8), (100, 20)):
        rig.terminal.resize(columns, rows)
        rig.pass_time()
        assert f"choice {count - 1}" in "".join(rig.terminal.screen())
    rig.screen.root.remove(dialog)
    rig.screen.set_dialog(None)
    rig.draw()
    assert not rig.terminal.alternate
    assert [row for row in rig.terminal.tape() if "said" in row] == [f"said {number}" for number in range(30)]
    assert "choice" not in "".join(rig.terminal.tape())


def test_short_question_leaves_the_conversation_in_reach_of_the_mouse_wheel() -> None:
    rig = RenderRig(80, 24).start()
    rig.transcript.add(Lines(*(f"said {number}" for number in range(30))))
    question = Lines("Allow?", "y", "n")
    rig.screen.root.add(question)
    rig.screen.set_dialog("inline")
    rig.draw()
    for columns, rows in ((60, 24), (80, 10), (100, 20)):
        rig.terminal.resize(columns, rows)
        rig.pass_time()
        assert not rig.terminal.alternate
        assert rig.terminal.tape().count("Allow?") == 1
