"""The screen for a screen reader: lines in order, no cursor addressing."""

import re
from typing import Any

from tau.tui.render.screen_reader import find_new_lines, spoken_text
from tests.tui.render.render_rig import Field, Growing, Lines, RenderRig, numbered


def linear(**options: Any) -> RenderRig:
    return RenderRig(40, 12, linear=True, **options)


def written(rig: RenderRig) -> str:
    return "".join(rig.terminal.writes)


def test_only_text_newlines_and_backspaces_are_written() -> None:
    rig = linear().start()
    rig.say(1, 30)
    rig.transcript.add(Lines("\x1b[31mred\x1b[39m", "╭────╮", "│ in │"))
    rig.terminal.type("hello")
    rig.terminal.press("backspace")
    rig.terminal.resize(30, 8)
    rig.draw()
    rig.screen.stop()
    assert not re.search(r"\x1b", written(rig))
    assert "red\r\n\r\nin" in written(rig)


def test_rows_are_printed_once_when_they_are_final() -> None:
    rig = linear().start()
    rig.say(1, 2)
    live = Growing("half")
    rig.transcript.add(live)
    rig.draw()
    assert "half" not in written(rig)
    live.rows = ["whole", "answer"]
    live.finish()
    rig.draw()
    rig.draw()
    text = written(rig)
    assert text.count("line 1\r\nline 2\r\n") == 1
    assert text.count("whole\r\nanswer\r\n") == 1


def test_typing_at_the_end_appends_and_deleting_erases() -> None:
    rig = linear().start()
    rig.terminal.type("a")
    rig.pass_time()
    assert rig.written == "a"
    rig.terminal.type("b")
    rig.pass_time()
    rig.terminal.press("backspace")
    rig.pass_time()
    assert rig.written == "\b \b"
    rig.field.text = "other"
    rig.draw()
    assert rig.written == "\r\n> other"


def test_new_lines_do_not_break_the_line_being_typed() -> None:
    rig = linear().start()
    rig.terminal.type("abc")
    rig.pass_time()
    rig.say(1, 1)
    assert rig.written == "\r\nline 1\r\n> abc"


def test_status_is_printed_when_it_changes() -> None:
    rig = linear()
    status = Lines("Ready")
    rig.screen.root.add(status)
    rig.start()
    for text in ("Working", "Working", "Ready"):
        status.rows = [text]
        rig.draw()
    assert written(rig).count("Working") == 1
    assert written(rig).count("Ready") == 2


def test_overlay_is_read_out_and_then_the_selection() -> None:
    rig = linear().start()
    listed = Lines("Models", "Selected: one", "two")
    overlay = rig.screen.show_overlay(listed)
    rig.pass_time()
    assert "Models\r\nSelected: one\r\ntwo\r\n" in rig.written
    listed.rows = ["Models", "one", "Selected: two"]
    rig.draw()
    assert rig.written == "Selected: two\r\n"
    overlay.hide()
    rig.pass_time()
    assert rig.written == "> "


def test_overlay_with_a_field_echoes_typing() -> None:
    rig = linear().start()
    rig.screen.show_overlay(Field())
    rig.terminal.type("x")
    rig.pass_time()
    assert rig.written.endswith("> x")
    rig.terminal.type("y")
    rig.pass_time()
    assert rig.written == "y"


def test_unfinished_rows_are_printed_at_the_end() -> None:
    rig = linear().start()
    rig.transcript.add(Growing("half an answer"))
    rig.draw()
    rig.screen.stop()
    assert written(rig).endswith("half an answer\r\n")


def test_width_change_prints_nothing_again() -> None:
    rig = linear().start()
    rig.say(1, 20)
    rig.terminal.resize(25, 12)
    rig.pass_time()
    rig.say(21, 22)
    assert re.findall(r"line \d+", written(rig)) == numbered(1, 22)


def test_symbols_are_not_read_out() -> None:
    assert spoken_text("\x1b[2m╭── title ──╮\x1b[22m") == "title"
    assert spoken_text("a  b ") == "a  b"
    assert find_new_lines(["a", "b"], ["a", "c"]) == ["c"]
    assert find_new_lines(["Selected: a", "b"], ["a", "Selected: b"]) == ["Selected: b"]


def test_all_lines_of_the_selection_are_read_out() -> None:
    old = ["Selected: one", "two: a long", "  story"]
    new = ["one", "Selected: two: a long", "  story of it", "three"]
    assert find_new_lines(old, new) == ["Selected: two: a long", "  story of it"]
    assert spoken_text("  über") == "  über" and spoken_text("│ über │") == "über"


def test_another_tab_is_announced_with_its_selected_item() -> None:
    old = ["Tab 1 of 3: Display", "Selected: Theme (1 of 9)", "Symbols"]
    new = ["Tab 2 of 3: Editor", "Selected: Rows (1 of 4)", "Keys"]
    assert find_new_lines(old, new) == ["Tab 2 of 3: Editor", "Selected: Rows (1 of 4)"]
