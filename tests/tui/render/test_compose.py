"""Frames: rows of the children in order, the boundary counted from the top, the cursor mark removed."""

from collections.abc import Sequence
from pathlib import Path

from tau.base import log
from tau.tui.component import CURSOR_MARKER, CommitBoundary, Component
from tau.tui.render.compose import Frame, FrameComposer, extract_cursor_marker, join_parts
from tau.tui.rows import Rows
from tests.tui.render.render_rig import Lines


class Seamed(Lines):
    """Says where its final rows end."""

    def __init__(self, commit_boundary: CommitBoundary, *rows: str) -> None:
        super().__init__(*rows)
        self.where = commit_boundary

    def commit_boundary(self) -> CommitBoundary:
        return self.where


class Counted(Lines):
    """Counts how often it is rendered."""

    count = 0

    def render(self, width: int) -> Sequence[str]:
        self.count += 1
        return super().render(width)


def test_without_a_boundary_every_row_may_be_final() -> None:
    frame = join_parts([["a"], ["b", "c"]], [None, None])
    assert list(frame.rows) == ["a", "b", "c"]
    assert frame[1:] == (3, 3, 3, False)


def test_first_boundary_counts_from_the_top_of_the_frame() -> None:
    frame = join_parts([["a"], ["b", "c", "d"], ["e"]], [None, CommitBoundary(1, 2), CommitBoundary(0)])
    assert (frame.live_start, frame.boundary, frame.content_end) == (2, 3, 4)


def test_boundary_beyond_its_rows_is_clamped() -> None:
    frame = join_parts([["a", "b"], ["c"]], [CommitBoundary(9, 12), None])
    assert (frame.live_start, frame.boundary) == (2, 2)
    assert join_parts([["a", "b"]], [CommitBoundary(2, 1)]).boundary == 2


def test_same_parts_give_the_same_frame() -> None:
    composer, child = FrameComposer(), Lines("a")
    first = composer.compose([child], 10)
    assert composer.compose([child], 10) is first
    child.rows = ["b"]
    assert list(composer.compose([child], 10).rows) == ["b"]


def test_moved_boundary_gives_another_frame() -> None:
    composer, child = FrameComposer(), Seamed(CommitBoundary(0), "a", "b")
    first = composer.compose([child], 10)
    child.where = CommitBoundary(1)
    assert composer.compose([child], 10) != first


def test_only_the_named_children_are_rendered() -> None:
    composer, one, two = FrameComposer(), Counted("a"), Counted("b")
    composer.compose([one, two], 10)
    two.rows = ["changed"]
    frame = composer.compose([one, two], 10, only={id(two)})
    assert list(frame.rows) == ["a", "changed"]
    assert (one.count, two.count) == (1, 2)
    composer.compose([one, two], 11, only={id(two)})
    assert (one.count, two.count) == (2, 3)


def test_failing_component_shows_its_previous_rows(tmp_path: Path) -> None:
    class Broken(Component):
        fails = False

        def render(self, width: int) -> list[str]:
            return ["fine"] if not self.fails else [][1]

    log.to(tmp_path)
    composer, child = FrameComposer(), Broken()
    children = [child, Lines("below")]
    assert list(composer.compose(children, 10).rows) == ["fine", "below"]
    child.fails = True
    for _ in range(3):
        assert list(composer.compose(children, 10).rows) == ["fine", "below"]
    log.to(None)
    assert (tmp_path / "tau.log").read_text().count("Broken could not be rendered") == 1


def test_cursor_mark_is_removed_and_its_column_returned() -> None:
    rows = ["plain", f"\x1b[1m漢{CURSOR_MARKER}b\x1b[22m"]
    assert extract_cursor_marker(rows) == (1, 2)
    assert rows == ["plain", "\x1b[1m漢b\x1b[22m"]
    assert extract_cursor_marker(["nothing"]) is None


def test_long_transcript_is_not_copied_into_the_frame() -> None:
    long = ["row"] * 10
    frame = join_parts([Rows([long, ["x"]]), ["y"]], [None, None])
    assert isinstance(frame, Frame)
    assert frame.rows.parts[0] is long
