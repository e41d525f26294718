"""The screen for a screen reader: lines in order, nothing addressed."""

import re
from typing import Any

from tau.tui.render.screen_reader import find_new_lines, spoken_text
from tests.tui.render.stagehand import Field, Growing, Lines, Stagehand, numbered


def linear(**options: Any) -> Stagehand:
    return Stagehand(40, 12, linear=True, **options)


def written(hand: Stagehand) -> str:
    return "".join(hand.terminal.writes)


def test_only_text_line_ends_and_backspaces_are_written() -> None:
    hand = linear().start()
    hand.say(1, 30)
    hand.transcript.add(Lines("\x1b[31mred\x1b[39m", "╭────╮", "│ in │"))
    hand.terminal.type("hello")
    hand.terminal.press("backspace")
    hand.terminal.resize(30, 8)
    hand.draw()
    hand.screen.stop()
    assert not re.search(r"\x1b", written(hand))
    assert "red\r\n\r\nin" in written(hand)


def test_rows_are_printed_once_when_they_are_final() -> None:
    hand = linear().start()
    hand.say(1, 2)
    live = Growing("half")
    hand.transcript.add(live)
    hand.draw()
    assert "half" not in written(hand)
    live.rows = ["whole", "answer"]
    live.finish()
    hand.draw()
    hand.draw()
    text = written(hand)
    assert text.count("line 1\r\nline 2\r\n") == 1
    assert text.count("whole\r\nanswer\r\n") == 1


def test_typing_at_the_end_appends_and_deleting_there_takes_back() -> None:
    hand = linear().start()
    hand.terminal.type("a")
    hand.pass_time()
    assert hand.written == "a"
    hand.terminal.type("b")
    hand.pass_time()
    hand.terminal.press("backspace")
    hand.pass_time()
    assert hand.written == "\b \b"
    hand.field.text = "other"
    hand.draw()
    assert hand.written == "\r\n> other"


def test_new_lines_do_not_break_the_line_that_is_typed() -> None:
    hand = linear().start()
    hand.terminal.type("abc")
    hand.pass_time()
    hand.say(1, 1)
    assert hand.written == "\r\nline 1\r\n> abc"


def test_a_status_is_printed_when_it_changes() -> None:
    hand = linear()
    status = Lines("Ready")
    hand.screen.root.add(status)
    hand.start()
    for text in ("Working", "Working", "Ready"):
        status.rows = [text]
        hand.draw()
    assert written(hand).count("Working") == 1
    assert written(hand).count("Ready") == 2


def test_an_overlay_is_read_out_and_then_what_is_chosen() -> None:
    hand = linear().start()
    listed = Lines("Models", "Selected: one", "two")
    overlay = hand.screen.show_overlay(listed)
    hand.pass_time()
    assert "Models\r\nSelected: one\r\ntwo\r\n" in hand.written
    listed.rows = ["Models", "one", "Selected: two"]
    hand.draw()
    assert hand.written == "Selected: two\r\n"
    overlay.hide()
    hand.pass_time()
    assert hand.written == "> "


def test_an_overlay_with_a_field_echoes_what_is_typed_there() -> None:
    hand = linear().start()
    hand.screen.show_overlay(Field())
    hand.terminal.type("x")
    hand.pass_time()
    assert hand.written.endswith("> x")
    hand.terminal.type("y")
    hand.pass_time()
    assert hand.written == "y"


def test_at_the_end_what_was_not_final_is_printed_too() -> None:
    hand = linear().start()
    hand.transcript.add(Growing("half an answer"))
    hand.draw()
    hand.screen.stop()
    assert written(hand).endswith("half an answer\r\n")


def test_another_width_prints_nothing_again() -> None:
    hand = linear().start()
    hand.say(1, 20)
    hand.terminal.resize(25, 12)
    hand.pass_time()
    hand.say(21, 22)
    assert re.findall(r"line \d+", written(hand)) == numbered(1, 22)


def test_signs_are_not_read_out() -> None:
    assert spoken_text("\x1b[2m╭── title ──╮\x1b[22m") == "title"
    assert spoken_text("a  b ") == "a  b"
    assert find_new_lines(["a", "b"], ["a", "c"]) == ["c"]
    assert find_new_lines(["Selected: a", "b"], ["a", "Selected: b"]) == ["Selected: b"]


def test_all_lines_of_what_is_chosen_are_told() -> None:
    old = ["Selected: one", "two: a long", "  story"]
    new = ["one", "Selected: two: a long", "  story of it", "three"]
    assert find_new_lines(old, new) == ["Selected: two: a long", "  story of it"]
    assert spoken_text("  über") == "  über" and spoken_text("│ über │") == "über"
