"""Terminals that erase the prompt themselves on a resize, from its mark on: kitty and ghostty."""

from tests.support.terminal.virtual import MODERN, Habits
from tests.tui.render.render_rig import Lines, RenderRig

HABITS = Habits(takes_back="never", erases_marked_rows=True)
MARKED = MODERN._replace(erases_marked_rows=True)


def marked_rig() -> RenderRig:
    return RenderRig(40, 8, habits=HABITS, capabilities=MARKED)


def test_text_printed_by_the_shell_after_the_end_survives_a_resize() -> None:
    rig = marked_rig().start()
    rig.screen.stop()
    rig.terminal.write("$ ls\r\none two three\r\n$ ")
    rig.terminal.resize(30, 8)
    assert rig.terminal.tape()[-3:] == ["$ ls", "one two three", "$"]


def test_rows_that_wrapped_behind_the_alternate_screen_are_counted() -> None:
    rig = marked_rig().start()
    rig.screen.show_alternate(Lines("pager"))
    rig.pass_time()
    rig.terminal.resize(20, 8)
    rig.pass_time()
    rig.screen.show_alternate(None)
    rig.pass_time()
    assert "\r\x1b[2A" in rig.written  # the rule above the cursor takes two rows now


def test_only_terminals_that_erase_marked_rows_get_marks() -> None:
    plain, marked = RenderRig(40, 8).start(), marked_rig().start()
    assert not any("\x1b]133" in text for text in plain.terminal.writes)
    assert sum(text.count("\x1b]133;A") for text in marked.terminal.writes) == 1
