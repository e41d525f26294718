"""Overlays: where they stand, what they cover, and that they leave no trace in the history."""

import pytest

from tau.tui.component import CURSOR_MARKER
from tau.tui.render.overlays import Anchor, OverlayOptions, Rect, place_overlay, resolve_size
from tests.tui.render.stagehand import Growing, Lines, Stagehand, numbered


@pytest.mark.parametrize(
    ("anchor", "column", "row"),
    [
        ("center", 5, 3),
        ("top-left", 0, 0),
        ("top-center", 5, 0),
        ("top-right", 10, 0),
        ("left-center", 0, 3),
        ("right-center", 10, 3),
        ("bottom-left", 0, 7),
        ("bottom-center", 5, 7),
        ("bottom-right", 10, 7),
    ],
)
def test_the_anchor_tells_where_it_stands(anchor: Anchor, column: int, row: int) -> None:
    options = OverlayOptions(width=10, min_width=1, anchor=anchor)
    assert place_overlay(options, 3, 20, 10) == Rect(column, row, 10, 3)


def test_sizes_are_cells_or_shares_of_the_screen() -> None:
    assert (
        resolve_size(7, 20),
        resolve_size("50%", 21),
        resolve_size("9", 20),
        resolve_size("wide", 20),
    ) == (7, 10, 9, 20)
    assert place_overlay(OverlayOptions(width="50%", min_width=1, max_height="30%"), 9, 40, 10) == Rect(
        10, 3, 20, 3
    )


def test_it_stays_on_the_screen_whatever_is_asked_for() -> None:
    for columns, rows in ((1, 1), (3, 2), (80, 24)):
        options = OverlayOptions(width=500, offset_x=-90, offset_y=90, margin=9)
        box = place_overlay(options, 50, columns, rows)
        assert 0 <= box.column <= box.column + box.width <= columns
        assert 0 <= box.row <= box.row + box.height <= rows


def test_it_covers_its_cells_only_and_goes_without_a_trace() -> None:
    hand = Stagehand(20, 6).start()
    hand.say(1, 3)
    before = hand.terminal.screen()
    overlay = hand.screen.show_overlay(
        Lines("+----+", "| hi |"), OverlayOptions(width=6, min_width=1, anchor="top-right")
    )
    hand.pass_time()
    assert hand.terminal.screen()[:3] == ["line 1        +----+", "line 2        | hi |", "line 3"]
    overlay.hide()
    hand.pass_time()
    assert hand.terminal.screen() == before


def test_wide_characters_cut_by_it_become_blanks() -> None:
    hand = Stagehand(10, 4)
    hand.transcript.add(Lines("漢字漢字漢"))
    hand.start()
    hand.screen.show_overlay(Lines("xx"), OverlayOptions(width=2, min_width=1, anchor="top-left", offset_x=3))
    hand.pass_time()
    assert hand.terminal.screen()[0] == "漢 xx 字漢"


def test_nothing_enters_the_history_while_one_is_open_and_all_of_it_afterwards() -> None:
    hand = Stagehand(20, 6).start()
    hand.say(1, 3)
    overlay = hand.screen.show_overlay(Lines("OVER"), OverlayOptions(width=4, min_width=1))
    live = Growing()
    hand.transcript.add(live)
    for number in range(4, 40):
        live.add(f"line {number}")
        hand.draw()
    assert hand.terminal.scrollback() == []
    live.finish()
    overlay.hide()
    hand.draw()
    assert hand.record == numbered(1, 39)


def test_its_cursor_is_the_cursor() -> None:
    hand = Stagehand(20, 6).start()
    hand.screen.show_overlay(
        Lines("ab", f"cd{CURSOR_MARKER}"), OverlayOptions(width=4, min_width=1, anchor="top-left")
    )
    hand.pass_time()
    assert hand.terminal.cursor == (1, 2)
    assert hand.terminal.cursor_visible


def test_one_that_finds_no_room_is_not_shown() -> None:
    hand = Stagehand(20, 6).start()
    options = OverlayOptions(width=4, min_width=1, visible=lambda columns, rows: columns > 30)
    hand.screen.show_overlay(Lines("OVER"), options)
    hand.pass_time()
    assert not any("OVER" in row for row in hand.terminal.screen())
    hand.terminal.resize(40, 6)
    hand.pass_time()
    assert any("OVER" in row for row in hand.terminal.screen())
