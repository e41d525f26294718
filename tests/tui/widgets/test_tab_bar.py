"""Tabs: moving between them, and a row too short for all."""

import pytest

from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key
from tau.tui.style import Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets.tab_bar import Tab, TabBar
from tests.support.palettes import DARK_TOKENS

KEYS = Keymap()
PLAIN = Theme({}, depth="none")


def tabs(*labels: str) -> list[Tab]:
    return [Tab(label.lower(), label) for label in labels]


def test_active_tab_moves_and_wraps_around() -> None:
    reported: list[str] = []
    bar = TabBar(PLAIN, KEYS, tabs("One", "Two", "Three"), on_change=lambda tab: reported.append(tab.value))
    assert bar.render(40) == ["[One]  Two   Three "]
    assert bar.handle_input(Key("right"))
    assert bar.render(40) == [" One  [Two]  Three "]
    assert bar.handle_input(Key("tab"))
    assert bar.handle_input(Key("tab"))
    assert bar.handle_input(Key("left"))
    assert reported == ["two", "three", "one", "three"]
    assert not bar.handle_input(Key("x", "x"))


def test_narrow_bar_shows_the_active_tab_and_that_there_are_more() -> None:
    bar = TabBar(PLAIN, KEYS, tabs("Alpha", "Beta", "Gamma", "Delta"))
    assert bar.render(18) == ["[Alpha]  Beta …"]
    bar.activate("gamma")
    assert bar.render(18) == ["… Beta  [Gamma]…"]
    bar.activate("delta")
    assert bar.render(18) == ["… Gamma  [Delta]"]
    bar.activate("alpha")
    assert bar.render(18) == ["[Alpha]  Beta …"]


def test_new_tabs_keep_the_active_one() -> None:
    bar = TabBar(PLAIN, KEYS, tabs("A", "B"), active="b")
    bar.set_tabs([Tab("x", "X"), Tab("b", "B\x1b[2J", "3")])
    assert bar.active is not None
    assert bar.active.value == "b"
    assert bar.render(40) == [" X  [B 3]"]
    bar.set_tabs([])
    assert bar.active is None
    assert list(bar.render(40)) == []
    assert not bar.handle_input(Key("right"))


def test_unchanged_bar_returns_the_same_row() -> None:
    bar = TabBar(PLAIN, KEYS, tabs("A", "B"))
    assert bar.render(40) is bar.render(40)
    rows = bar.render(40)
    bar.invalidate()
    assert bar.render(40) is not rows


def test_screen_reader_hears_the_active_tab() -> None:
    bar = TabBar(Theme({}, linear=True), KEYS, [Tab("a", "Files", "12"), Tab("b", "Log")])
    assert bar.render(80) == ["Tab 1 of 2: Files (12)"]


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 13, 80])
def test_rows_never_exceed_the_width(width: int) -> None:
    bar = TabBar(Theme(DARK_TOKENS), KEYS, tabs("漢字", "Settings", "👩‍👩‍👧 family", "x"))
    for _ in range(4):
        assert all(visible_width(row) <= width for row in bar.render(width))
        bar.handle_input(Key("right"))
        assert "\n" not in strip_escapes(bar.render(width)[0])
