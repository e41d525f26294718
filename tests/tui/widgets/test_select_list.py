"""The select list: moving, filtering, groups, multiple choice, and its looks."""

import pytest

from tau.tui.component import CURSOR_MARKER
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key, Paste
from tau.tui.style import StyleSpec, Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets.select_list import SelectItem, SelectList
from tests.support.palettes import DARK_TOKENS

KEYS = Keymap()
PLAIN = Theme({}, depth="none")

FRUIT = ["apple", "banana", "cherry", "date", "elderberry", "fig", "grape"]


def items(*labels: str, **more: str) -> list[SelectItem[str]]:
    return [SelectItem(label, label, **more) for label in labels]


def typed(text: str) -> list[Key]:
    return [Key(letter, letter) for letter in text]


def press(target: SelectList[str], *names: str) -> None:
    for name in names:
        assert target.handle_input(Key(name))


def shown(target: SelectList[str], width: int = 40) -> list[str]:
    return [strip_escapes(row).rstrip() for row in target.render(width)]


def labels(target: SelectList[str], width: int = 40) -> list[str]:
    return [row[2:] for row in shown(target, width)]


def test_pointer_moves_and_wraps_around() -> None:
    picker = SelectList(PLAIN, KEYS, items("a", "b", "c"), filterable=False)
    assert shown(picker) == ["❯ a", "  b", "  c"]
    press(picker, "up")
    assert shown(picker) == ["  a", "  b", "❯ c"]
    press(picker, "down", "down")
    assert shown(picker) == ["  a", "❯ b", "  c"]


def test_page_stops_at_the_ends_and_the_position_is_shown() -> None:
    picker = SelectList(PLAIN, KEYS, items(*FRUIT), 3, filterable=False)
    assert shown(picker) == ["❯ apple", "  banana", "  cherry", " ↓ 1/7"]
    press(picker, "pageDown")
    assert shown(picker) == ["  banana", "  cherry", "❯ date", "↑↓ 4/7"]
    press(picker, "pageDown", "pageDown")
    assert shown(picker)[-2:] == ["❯ grape", "↑  7/7"]
    press(picker, "home")
    assert shown(picker)[0] == "❯ apple"
    press(picker, "end")
    assert shown(picker)[2] == "❯ grape"


def test_enter_accepts_and_escape_cancels() -> None:
    reported: list[object] = []
    picker = SelectList(
        PLAIN,
        KEYS,
        items("a", "b"),
        on_select=lambda item: reported.append(item.value),
        on_change=lambda item: reported.append(f"see {item.value}"),
        on_cancel=lambda: reported.append("left"),
    )
    press(picker, "down", "enter", "escape")
    assert reported == ["see b", "b", "left"]


def test_letters_filter_the_list_best_first_and_are_marked() -> None:
    theme = Theme({"matched": StyleSpec(underline=True)})
    seen: list[str] = []
    picker = SelectList(theme, KEYS, items(*FRUIT), on_change=lambda item: seen.append(item.value))
    for event in typed("gr"):
        assert picker.handle_input(event)
    assert shown(picker) == ["Filter: gr", "❯ grape"]
    assert theme["matched"]("gr") in picker.render(40)[1]
    assert seen == ["grape"]
    press(picker, "backspace", "backspace")
    assert len(shown(picker)) == 1 + len(FRUIT)
    assert picker.selected is not None
    assert picker.selected.value == "grape"


def test_paste_goes_into_the_filter_as_one_clean_line() -> None:
    picker = SelectList(PLAIN, KEYS, items(*FRUIT))
    assert picker.handle_input(Paste("che\x1b[31m\nrry"))
    assert picker.filter_text == "che rry"
    assert shown(picker)[1] == "❯ cherry"
    press(picker, "ctrl+w")
    assert picker.filter_text == "che "
    press(picker, "ctrl+u")
    assert picker.filter_text == ""


def test_no_match_and_empty_list_have_different_messages() -> None:
    picker = SelectList(PLAIN, KEYS, items("a"), empty_text="No models.")
    picker.set_filter("zzz")
    assert shown(picker)[1] == "No matches for zzz."
    assert picker.selected is None
    press(picker, "enter", "up")
    picker.set_items([])
    picker.set_filter("")
    assert shown(picker)[1] == "No models."


def test_group_and_description_matches_rank_after_labels() -> None:
    things = [
        SelectItem("1", "sonnet", "quick", "anthropic"),
        SelectItem("2", "gpt", "made by a rival of anthropic", "openai"),
        SelectItem("3", "anthropic-proxy", "", "local"),
    ]
    picker = SelectList(PLAIN, KEYS, things)
    picker.set_filter("anthropic")
    values = []
    for _ in range(3):
        assert picker.selected is not None
        values.append(picker.selected.value)
        press(picker, "down")
    assert values == ["3", "1", "2"]
    picker.set_filter("anthropic quick")
    assert picker.selected is not None
    assert picker.selected.value == "1"


def test_groups_have_headings_that_scroll_in_with_their_first_item() -> None:
    things = [*items("a", "b", group="one"), *items("c", "d", group="two")]
    picker = SelectList(PLAIN, KEYS, things, 3, filterable=False)
    assert shown(picker) == ["one", "❯ a", "  b", " ↓ 1/4"]
    press(picker, "down", "down")
    assert shown(picker) == ["  b", "two", "❯ c", "↑↓ 3/4"]
    press(picker, "up", "up")
    assert shown(picker)[:2] == ["one", "❯ a"]


def test_disabled_items_are_shown_and_skipped() -> None:
    things = [
        SelectItem("a", "a", disabled=True),
        *items("b"),
        SelectItem("c", "c", disabled=True),
        *items("d"),
    ]
    picker = SelectList(PLAIN, KEYS, things, filterable=False)
    assert shown(picker) == ["  a", "❯ b", "  c", "  d"]
    press(picker, "down")
    assert shown(picker)[3] == "❯ d"
    press(picker, "down")
    assert shown(picker)[1] == "❯ b"
    press(picker, "end")
    assert shown(picker)[3] == "❯ d"
    nobody = SelectList(PLAIN, KEYS, [SelectItem("a", "a", disabled=True)])
    press(nobody, "down", "enter")
    assert nobody.selected is None


def test_current_value_is_marked_and_selected_first() -> None:
    picker = SelectList(PLAIN, KEYS, items("a", "b"), filterable=False, current="b")
    assert shown(picker) == ["  a", "❯ b ✓"]
    picker.current = "a"
    assert shown(picker) == ["  a ✓", "❯ b"]


def test_descriptions_are_in_a_column_or_below() -> None:
    things = [
        SelectItem("a", "alpha", "the first one", hint="12k"),
        SelectItem("b", "beta", "the second one"),
    ]
    picker = SelectList(PLAIN, KEYS, things, filterable=False)
    wide = shown(picker, 60)
    assert wide[0].startswith("❯ alpha")
    assert wide[0].endswith("12k")
    assert wide[0].index("the first one") == wide[1].index("the second one")
    narrow = shown(picker, 30)
    assert narrow[0].endswith("12k")
    assert narrow[2:] == ["", "  the first one", ""]
    press(picker, "down")
    assert shown(picker, 30)[2:] == ["", "  the second one", ""]


def test_few_long_labels_in_a_long_list_leave_room_for_the_descriptions() -> None:
    items = [SelectItem(n, f"model {n}", "200K") for n in range(600)] + [SelectItem(-1, "x" * 40, "1M")]
    row = strip_escapes(SelectList(Theme({}), Keymap(), items).render(80)[1])
    assert row.index("200K") < 20


def test_new_items_keep_the_selection_and_the_filter() -> None:
    picker = SelectList(PLAIN, KEYS, items(*FRUIT))
    assert picker.select("fig")
    picker.set_items(items("zebra", "fig", "apple"))
    assert picker.selected is not None
    assert picker.selected.value == "fig"
    picker.set_items(items("zebra"))
    assert picker.selected.value == "zebra"
    assert not picker.select("nobody")


def test_foreign_text_cannot_contain_control_sequences() -> None:
    bad = "\x1b[2Jx\x07\ny\x9b31m"
    picker = SelectList(PLAIN, KEYS, [SelectItem("a", bad, bad, bad, bad)])
    picker.set_filter("x\x1b]0;t\x07")
    text = "\n".join(picker.render(80))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\x9b" not in text


def test_unchanged_list_returns_the_same_rows() -> None:
    picker = SelectList(PLAIN, KEYS, items(*FRUIT))
    rows = picker.render(40)
    assert picker.render(40) is rows
    press(picker, "down")
    changed = picker.render(40)
    assert changed is not rows
    picker.focused = True
    assert CURSOR_MARKER in picker.render(40)[0]
    assert not picker.handle_input(Key("f5"))


def test_cursor_stays_at_the_end_of_a_long_filter() -> None:
    picker = SelectList(PLAIN, KEYS, items("a"))
    picker.focused = True
    picker.set_filter("abcdefghijklmnopqrstuvwxyz")
    assert picker.render(20)[0] == f"Filter: pqrstuvwxyz{CURSOR_MARKER}"


@pytest.mark.parametrize("width", [1, 2, 3, 7, 20, 59, 60, 200])
@pytest.mark.parametrize("linear", [False, True])
def test_rows_never_exceed_the_width(width: int, linear: bool) -> None:
    things = [
        SelectItem(str(n), f"名前 number {n} 👩‍👩‍👧", "説明 " * n, f"group {n // 3}", f"{n}k", n % 4 == 1)
        for n in range(12)
    ]
    theme = Theme(DARK_TOKENS, linear=linear)
    picker = SelectList(theme, KEYS, things, 5, current="3")
    picker.focused = True
    for _ in range(8):
        assert all(visible_width(row) <= width for row in picker.render(width))
        press(picker, "down")
    picker.set_filter("名 4")
    assert all(visible_width(row) <= width for row in picker.render(width))


def test_screen_reader_gets_words_for_symbols() -> None:
    theme = Theme({}, linear=True)
    things = [
        SelectItem("a", "alpha", "the first", hint="12k"),
        SelectItem("b", "beta", disabled=True),
        SelectItem("c", "gamma"),
    ]
    picker = SelectList(theme, KEYS, things, 2, filterable=False, current="a")
    assert list(picker.render(80)) == [
        "Selected: alpha (current, 1 of 3): the first (12k)",
        "beta (not available)",
        "Item 1 of 3",
    ]
