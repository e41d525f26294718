"""The frame of the selectors: it fits any terminal, shows the keys and messages."""

from pathlib import Path

import pytest

from tau.modes.interactive.key_bindings import APP_BINDINGS
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel, key_rows, title_row
from tau.modes.interactive.selectors.pick_list import PickList, pick
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key
from tau.tui.style import Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets.select_list import SelectItem
from tests.modes.interactive.rig import rigged, run
from tests.modes.interactive.selectors.selector_rig import closed, settled
from tests.support.palettes import DARK_TOKENS

THEME = Theme(DARK_TOKENS)
KEYS = [("Enter", "use"), ("Esc", "close"), ("Ctrl+S", "use and make default"), ("Tab", "all")]


@pytest.mark.parametrize("width", [1, 2, 5, 8, 20, 40, 80, 200])
def test_no_row_of_the_frame_is_wider_than_the_screen(width: int) -> None:
    rows = [title_row(THEME, "Session tree", "default, 12 entries", width), *key_rows(THEME, KEYS, width, 2)]
    assert all(visible_width(row) <= width for row in rows)


def test_note_is_at_the_end_of_the_title_if_there_is_room() -> None:
    assert strip_escapes(title_row(THEME, "Tree", "12 rows", 30)).endswith("12 rows ─")
    assert "12 rows" not in title_row(THEME, "Tree", "12 rows", 14)


def test_keys_that_do_not_fit_are_dropped_from_the_end() -> None:
    (row,) = key_rows(THEME, KEYS, 24, 1)
    assert strip_escapes(row) == "Enter use · Esc close"
    assert len(key_rows(THEME, KEYS, 40, 2)) == 2


def test_frame_is_text_for_a_screen_reader() -> None:
    plain = Theme({}, linear=True)
    assert title_row(plain, "Tree", "12 rows", 40) == "Tree (12 rows)"
    assert key_rows(plain, KEYS[:2], 60, 1) == ["Keys: Enter use, Esc close."]


def test_known_action_follows_the_custom_keys() -> None:
    action = "app.models.saveDefault"
    plain = Keymap({}, extra=APP_BINDINGS)
    assert plain.matches(Key("ctrl+s"), action) and plain.label(action) == "Ctrl+S"
    own = Keymap({action: ["f5"]}, extra=APP_BINDINGS)
    assert own.matches(Key("f5"), action) and not own.matches(Key("ctrl+s"), action)
    assert own.label(action) == "F5"


def test_capital_letter_is_shown_with_shift() -> None:
    own = Keymap({"app.models.scope": ["L"]}, extra=APP_BINDINGS)
    assert own.label("app.models.scope") == "Shift+L"


def test_panel_is_never_taller_than_the_terminal(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            items = [SelectItem(number, f"Item {number}", "words " * 30) for number in range(100)]
            for columns, rows in ((80, 24), (40, 10), (20, 8), (200, 50)):
                rig.terminal.resize(columns, rows)
                chosen = PickList(rig.front, items)
                hints = [Hint(CONFIRM, "choose"), Hint(CANCEL, "close")]
                panel = Panel(rig.front, "Things", chosen, hints=hints, fit=chosen.fit)
                panel.tell("A word to the person that is longer than one row of a narrow screen is.")
                drawn = panel.render(columns)
                assert len(drawn) <= rows
                assert all(visible_width(row) <= columns for row in drawn)
                assert panel.render(columns) is drawn

    run(test)


def test_message_stays_until_the_next_key(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            chosen = PickList(rig.front, [SelectItem("a", "First")])
            panel = Panel(rig.front, "Things", chosen, fit=chosen.fit)
            panel.tell("There is no key.")
            assert any("There is no key." in row for row in panel.render(40))
            panel.handle_input(Key("down"))
            assert not any("There is no key." in row for row in panel.render(40))

    run(test)


def test_disabled_item_can_be_highlighted(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            items = [SelectItem("a", "First"), SelectItem("b", "Second", disabled=True)]
            chosen = PickList(rig.front, items)
            chosen.handle_input(Key("down"))
            assert chosen.selected is not None and chosen.selected.value == "b"

    run(test)


def test_resize_changes_how_much_of_a_list_is_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=80, rows=40) as rig:
            items = [SelectItem(number, f"Item {number:02}") for number in range(60)]

            async def choose() -> None:
                await pick(rig.context, "Things", items)

            task = rig.parts.tasks.start(choose())
            assert (await rig.show("Item 19")).count("Item ") == 20
            rig.terminal.resize(40, 10)
            shown = await settled(rig)
            assert "Things" in shown and "Esc cancel" in shown and shown.count("Item ") == 5
            await rig.press("escape")
            await closed(rig, task)

    run(test)
