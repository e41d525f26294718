"""A frame around a component."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CommitBoundary, Component
from tau.tui.input.key import InputEvent, Key
from tau.tui.style import ASCII, DARK_TOKENS, StyleSpec, Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.box import Box
from tau.tui.widgets.text import Text
from tests.tui.text.strategies import anything, is_closed

PLAIN = Theme({})


class Live(Component):
    """A child with a seam that takes keys."""

    def __init__(self) -> None:
        self.keys: list[InputEvent] = []
        self.rows = ["a", "b"]

    def render(self, width: int) -> list[str]:
        return self.rows

    def handle_input(self, event: InputEvent) -> bool:
        self.keys.append(event)
        return True

    def seam(self) -> CommitBoundary | None:
        return CommitBoundary(1, 2)


def test_a_frame_with_and_without_a_title() -> None:
    assert Box(PLAIN, Text(PLAIN, "text"), "Title").render(14) == [
        "╭─ Title ────╮",
        "│ text       │",
        "╰────────────╯",
    ]
    assert Box(Theme({}, symbols=ASCII), Text(PLAIN, "text"), padding_x=0, padding_y=1).render(8) == [
        "+------+",
        "|      |",
        "|text  |",
        "|      |",
        "+------+",
    ]


def test_a_long_title_is_cut() -> None:
    assert Box(PLAIN, Text(PLAIN, "x"), "A long title").render(10)[0] == "╭─ A l… ─╮"
    assert all(visible_width(Box(PLAIN, Text(PLAIN, "x"), "Title").render(n)[0]) == n for n in range(5, 20))


def test_without_room_there_is_no_frame() -> None:
    assert list(Box(PLAIN, Text(PLAIN, "text"), "T").render(4)) == ["T", "text"]


def test_a_screen_reader_gets_the_title_as_a_line() -> None:
    box = Box(Theme({}, linear=True), Text(PLAIN, "text"), "Title")
    assert list(box.render(20)) == ["Title", "text"]
    assert list(Box(Theme({}, linear=True), Text(PLAIN, "text")).render(20)) == ["text"]


def test_the_background_fills_the_frame_and_survives_styles_inside() -> None:
    theme = Theme({"back": StyleSpec(bg="red"), "inner": StyleSpec(bg="blue")}, depth="16")
    row = Box(theme, Text(theme, theme["inner"]("x"), styled=True), background="back").render(8)[1]
    assert row == "│\x1b[41m \x1b[44mx\x1b[49m\x1b[41m    \x1b[49m│"
    assert visible_width(row) == 8


def test_it_keeps_its_rows_until_something_changes() -> None:
    child = Text(PLAIN, "a\nb")
    box = Box(PLAIN, child, "T")
    rows = box.render(12)
    assert box.render(12) is rows
    child.append("\nc")
    grown = box.render(12)
    assert grown is not rows
    assert (len(rows), len(grown)) == (4, 5)
    assert grown[1] is rows[1]
    assert box.render(10) != grown
    box.set_title("New")
    assert "New" in box.render(12)[0]
    box.invalidate()
    box.set_border("accent")
    assert len(box.render(12)) == 5


def test_the_seam_is_that_of_the_child_below_the_border() -> None:
    box = Box(PLAIN, Live(), padding_y=1)
    box.render(20)
    assert box.seam() == CommitBoundary(3, 4)
    box.render(3)
    assert box.seam() == CommitBoundary(1, 2)
    plain = Box(PLAIN, Text(PLAIN, "x"))
    plain.render(20)
    assert plain.seam() is None


def test_the_focus_and_the_keys_go_to_the_child() -> None:
    child = Live()
    box = Box(PLAIN, child)
    box.focused = True
    assert child.focused
    assert box.focused
    assert box.handle_input(Key("a", "a"))
    assert child.keys == [Key("a", "a")]
    assert box.wants_releases is False


@given(anything, anything, st.integers(1, 20), st.integers(0, 3), st.booleans())
def test_any_content_fits(text: str, title: str, width: int, padding: int, linear: bool) -> None:
    theme = Theme(DARK_TOKENS, linear=linear)
    rows = Box(
        theme, Text(theme, text, "muted"), title, padding_x=padding, background="selectedBackground"
    ).render(width)
    assert all(visible_width(row) <= width and is_closed(row) for row in rows)
    if width >= 5 and not linear:
        assert all(visible_width(row) == width for row in rows)
