"""A component in a scrolling window."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CommitBoundary, Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent, Key
from tau.tui.style import ASCII, Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.text import Text
from tests.support.palettes import DARK_TOKENS
from tests.tui.text.strategies import anything
from tools.gallery.widgets.scroll_view import ScrollView

PLAIN = Theme({}, symbols=ASCII)
KEYS = Keymap()


def lines(count: int) -> Text:
    return Text(PLAIN, "\n".join(f"line {number}" for number in range(1, count + 1)))


def test_long_child_is_shown_in_part_with_a_position_mark() -> None:
    view = ScrollView(PLAIN, KEYS, lines(10), 4)
    assert view.render(20) == ["line 1", "line 2", "line 3", " v 1-3 of 10"]
    view.scroll_by(2)
    assert view.render(20) == ["line 3", "line 4", "line 5", "^v 3-5 of 10"]
    view.scroll_to(99)
    assert view.render(20) == ["line 8", "line 9", "line 10", "^  8-10 of 10"]
    assert view.offset == view._last == 7


def test_short_child_takes_its_own_height_without_a_mark() -> None:
    assert ScrollView(PLAIN, KEYS, lines(2), 4).render(20) == ["line 1", "line 2", "", ""]
    assert ScrollView(PLAIN, KEYS, lines(4), 4).render(20) == ["line 1", "line 2", "line 3", "line 4"]
    assert ScrollView(PLAIN, KEYS, lines(9), 1).render(20) == ["line 1"]


def test_keys_scroll() -> None:
    view = ScrollView(PLAIN, KEYS, lines(20), 6)
    view.render(20)
    for key, offset in (("down", 1), ("pageDown", 5), ("up", 4), ("pageUp", 0), ("up", 0)):
        assert view.handle_input(Key(key))
        assert view.offset == offset
    assert not view.handle_input(Key("x", "x"))
    assert not view.handle_input(Key("escape"))


def test_custom_keys_are_used() -> None:
    view = ScrollView(PLAIN, Keymap({"tui.select.down": ["j"]}), lines(20), 6)
    view.render(20)
    assert view.handle_input(Key("j", "j"))
    assert not view.handle_input(Key("down"))
    assert view.offset == 1


def test_cancel_calls_the_callback() -> None:
    reported: list[str] = []
    view = ScrollView(PLAIN, KEYS, lines(3), 2, on_cancel=lambda: reported.append("cancel"))
    assert view.handle_input(Key("escape"))
    assert reported == ["cancel"]


def test_follows_a_growing_child_until_the_user_scrolls_away() -> None:
    child = lines(5)
    view = ScrollView(PLAIN, KEYS, child, 3, follow=True)
    assert view.render(20)[:2] == ["line 4", "line 5"]
    child.append("\nline 6")
    assert view.render(20)[:2] == ["line 5", "line 6"]
    view.scroll_by(-1)
    child.append("\nline 7")
    assert view.render(20)[:2] == ["line 4", "line 5"]
    view.scroll_by(9)
    child.append("\nline 8")
    assert view.render(20)[:2] == ["line 7", "line 8"]


def test_shrinking_child_pulls_the_window_up() -> None:
    child = lines(10)
    view = ScrollView(PLAIN, KEYS, child, 3)
    view.render(20)
    view.scroll_to(8)
    child.set_text("a\nb")
    assert view.render(20) == ["a", "b", ""]
    assert view.offset == 0


def test_keeps_its_rows_until_something_changes() -> None:
    view = ScrollView(PLAIN, KEYS, lines(10), 4)
    rows = view.render(20)
    assert view.render(20) is rows
    view.scroll_by(-1)
    assert view.render(20) is rows
    view.scroll_by(1)
    assert view.render(20) is not rows
    view.set_height(3)
    assert view.render(20) == ["line 2", "line 3", "^v 2-3 of 10"]
    view.invalidate()
    assert len(view.render(20)) == 3
    assert view.commit_boundary() == CommitBoundary(0)


def test_screen_reader_gets_words() -> None:
    view = ScrollView(Theme({}, linear=True), KEYS, lines(10), 4)
    assert view.render(40)[-1] == "Lines 1 to 3 of 10"


class Typing(Component):
    """A child that handles one key."""

    def render(self, width: int) -> list[str]:
        return ["x"] * 9

    def handle_input(self, event: InputEvent) -> bool:
        return isinstance(event, Key) and event.name == "down"


def test_child_has_the_focus_and_gets_the_keys_first() -> None:
    child = Typing()
    view = ScrollView(PLAIN, KEYS, child, 3)
    view.render(20)
    view.focused = True
    assert child.focused
    assert view.focused
    assert view.handle_input(Key("down"))
    assert view.offset == 0
    assert view.handle_input(Key("pageDown"))
    assert view.offset == 1


@given(anything, st.integers(1, 20), st.integers(-1, 8), st.lists(st.integers(-9, 9), max_size=4))
def test_any_content_fits_in_exactly_that_many_rows(
    text: str, width: int, height: int, moves: list[int]
) -> None:
    theme = Theme(DARK_TOKENS)
    view = ScrollView(theme, KEYS, Text(theme, text), height)
    for move in (0, *moves):
        view.scroll_by(move)
        rows = view.render(width)
        assert len(rows) == max(height, 1)
        assert all(visible_width(row) <= width for row in rows)
