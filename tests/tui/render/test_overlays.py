"""Overlays: their position, what they cover, and that they leave no trace in the history."""

import pytest

from tau.tui.component import CURSOR_MARKER
from tau.tui.render.overlays import Anchor, OverlayOptions, Rect, place_overlay, resolve_size
from tests.tui.render.render_rig import Growing, Lines, RenderRig, numbered


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
def test_anchor_sets_the_position(anchor: Anchor, column: int, row: int) -> None:
    options = OverlayOptions(width=10, min_width=1, anchor=anchor)
    assert place_overlay(options, 3, 20, 10) == Rect(column, row, 10, 3)


def test_sizes_are_cells_or_percentages_of_the_screen() -> None:
    assert (
        resolve_size(7, 20),
        resolve_size("50%", 21),
        resolve_size("9", 20),
        resolve_size("wide", 20),
    ) == (7, 10, 9, 20)
    assert place_overlay(OverlayOptions(width="50%", min_width=1, max_height="30%"), 9, 40, 10) == Rect(
        10, 3, 20, 3
    )


def test_overlay_stays_on_screen_whatever_is_requested() -> None:
    for columns, rows in ((1, 1), (3, 2), (80, 24)):
        options = OverlayOptions(width=500, offset_x=-90, offset_y=90, margin=9)
        box = place_overlay(options, 50, columns, rows)
        assert 0 <= box.column <= box.column + box.width <= columns
        assert 0 <= box.row <= box.row + box.height <= rows


def test_overlay_covers_only_its_cells_and_leaves_no_trace() -> None:
    rig = RenderRig(20, 6).start()
    rig.say(1, 3)
    before = rig.terminal.screen()
    overlay = rig.screen.show_overlay(
        Lines("+----+", "| hi |"), OverlayOptions(width=6, min_width=1, anchor="top-right")
    )
    rig.pass_time()
    assert rig.terminal.screen()[:3] == ["line 1        +----+", "line 2        | hi |", "line 3"]
    overlay.hide()
    rig.pass_time()
    assert rig.terminal.screen() == before


def test_wide_characters_cut_by_it_become_blanks() -> None:
    rig = RenderRig(10, 4)
    rig.transcript.add(Lines("漢字漢字漢"))
    rig.start()
    rig.screen.show_overlay(Lines("xx"), OverlayOptions(width=2, min_width=1, anchor="top-left", offset_x=3))
    rig.pass_time()
    assert rig.terminal.screen()[0] == "漢 xx 字漢"


def test_scrollback_is_frozen_while_an_overlay_is_open_and_catches_up_afterwards() -> None:
    rig = RenderRig(20, 6).start()
    rig.say(1, 3)
    overlay = rig.screen.show_overlay(Lines("OVER"), OverlayOptions(width=4, min_width=1))
    live = Growing()
    rig.transcript.add(live)
    for number in range(4, 40):
        live.add(f"line {number}")
        rig.draw()
    assert rig.terminal.scrollback() == []
    live.finish()
    overlay.hide()
    rig.draw()
    assert rig.record == numbered(1, 39)


def test_overlay_owns_the_cursor() -> None:
    rig = RenderRig(20, 6).start()
    rig.screen.show_overlay(
        Lines("ab", f"cd{CURSOR_MARKER}"), OverlayOptions(width=4, min_width=1, anchor="top-left")
    )
    rig.pass_time()
    assert rig.terminal.cursor == (1, 2)
    assert rig.terminal.cursor_visible


def test_overlay_without_room_is_not_shown() -> None:
    rig = RenderRig(20, 6).start()
    options = OverlayOptions(width=4, min_width=1, visible=lambda columns, rows: columns > 30)
    rig.screen.show_overlay(Lines("OVER"), options)
    rig.pass_time()
    assert not any("OVER" in row for row in rig.terminal.screen())
    rig.terminal.resize(40, 6)
    rig.pass_time()
    assert any("OVER" in row for row in rig.terminal.screen())
