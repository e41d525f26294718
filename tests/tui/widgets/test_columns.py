"""Components side by side."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CommitBoundary
from tau.tui.style import DARK_TOKENS, Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.columns import Column, Columns
from tau.tui.widgets.spacer import Spacer
from tau.tui.widgets.text import Text
from tests.tui.text.strategies import anything, is_closed

PLAIN = Theme({})


def text(content: str) -> Text:
    return Text(PLAIN, content)


class Ruler(Spacer):
    """Shows the width it was given."""

    def __init__(self, rows: int = 1, seam: CommitBoundary | None = None) -> None:
        super().__init__()
        self.count = rows
        self.its_seam = seam

    def render(self, width: int) -> list[str]:
        return [f"{width}".ljust(width, ".")] * self.count

    def seam(self) -> CommitBoundary | None:
        return self.its_seam


def given_widths(columns: list[Column], width: int, gap: int = 1) -> list[int]:
    (row,) = Columns(PLAIN, columns, gap=gap).render(width)
    return [int(part.rstrip(".")) for part in row.split()]


def test_columns_stand_side_by_side() -> None:
    columns = Columns(
        PLAIN, [Column(text("a\nb\nc"), 3), Column(text("one two")), Column(text("x"), 1)], gap=2
    )
    assert list(columns.render(13)) == ["a    one    x", "b    two", "c"]


def test_flexible_columns_share_what_the_fixed_ones_leave() -> None:
    assert given_widths([Column(Ruler(), 10), Column(Ruler()), Column(Ruler())], 32) == [10, 10, 10]
    assert given_widths([Column(Ruler(), share=1), Column(Ruler(), share=2)], 31) == [10, 20]
    assert given_widths([Column(Ruler(), min_width=15), Column(Ruler()), Column(Ruler())], 32) == [15, 7, 8]


def test_columns_are_stacked_where_they_do_not_fit_or_for_a_screen_reader() -> None:
    parts = [Column(text("a"), 5), Column(text("b"), min_width=5)]
    assert list(Columns(PLAIN, parts).render(11)) == ["a     b"]
    assert list(Columns(PLAIN, parts).render(10)) == ["a", "b"]
    assert list(Columns(Theme({}, linear=True), parts).render(80)) == ["a", "b"]
    assert list(Columns(PLAIN, []).render(10)) == []


def test_it_keeps_its_rows_until_something_changes() -> None:
    left, right = text("a"), text("b")
    columns = Columns(PLAIN, [Column(left), Column(right)])
    for width in (20, 1):
        rows = columns.render(width)
        assert columns.render(width) is rows
        left.append("a")
        assert columns.render(width) is not rows
    assert list(columns.render(5)) == ["aa b", "a"]
    columns.set_columns([Column(right)])
    assert list(columns.render(5)) == ["b"]
    columns.invalidate()
    assert list(columns.render(5)) == ["b"]


def test_the_seam_is_the_highest_live_row_or_that_of_the_stack() -> None:
    parts = [
        Column(Ruler(2), 4),
        Column(Ruler(3, CommitBoundary(2, 3)), 4),
        Column(Ruler(3, CommitBoundary(1)), 4),
    ]
    columns = Columns(PLAIN, parts)
    columns.render(20)
    assert columns.seam() == CommitBoundary(1)
    columns.render(6)
    assert columns.seam() == CommitBoundary(4, 5)
    still = Columns(PLAIN, parts[:1])
    still.render(20)
    assert still.seam() is None


@given(
    st.lists(
        st.tuples(anything, st.none() | st.integers(-1, 9), st.integers(-1, 9), st.integers(-1, 3)),
        max_size=4,
    ),
    st.integers(1, 40),
    st.integers(0, 3),
)
def test_any_columns_fit(given_columns: list[tuple[str, int | None, int, int]], width: int, gap: int) -> None:
    theme = Theme(DARK_TOKENS)
    columns = [
        Column(Text(theme, content, "accent", background="selectedBackground"), fixed, least, share)
        for content, fixed, least, share in given_columns
    ]
    rows = Columns(theme, columns, gap=gap).render(width)
    assert all(visible_width(row) <= width and is_closed(row) for row in rows)
