"""Blocks that freeze, above those that still change."""

from collections.abc import Sequence

from tau.tui.component import CommitBoundary
from tau.tui.widgets.transcript import STABLE_PREFIX_COMMIT_FRAMES, Transcript
from tests.tui.render.render_rig import Growing, Lines, Wrapped, numbered


class Counted(Lines):
    """Counts how often it is rendered and invalidated."""

    def __init__(self, *rows: str) -> None:
        super().__init__(*rows)
        self.renders = self.forgets = 0

    def render(self, width: int) -> Sequence[str]:
        self.renders += 1
        return super().render(width)

    def invalidate(self) -> None:
        self.forgets += 1


def shown(transcript: Transcript, width: int = 20) -> list[str]:
    return list(transcript.render(width))


def test_blocks_are_in_order_with_space_between_them() -> None:
    transcript = Transcript([Lines("a"), Lines(), Lines("b", "c")])
    assert shown(transcript) == ["a", "", "b", "c"]
    assert transcript.commit_boundary() == CommitBoundary(4)
    assert shown(Transcript([Lines("a"), Lines("b")], spacing=0)) == ["a", "b"]


def test_final_block_is_rendered_once_and_not_copied() -> None:
    block = Counted("a")
    transcript = Transcript([block])
    first = transcript.render(20)
    for _ in range(5):
        assert transcript.render(20) is first
    assert (block.renders, block.forgets) == (1, 1)
    block.rows = ["drifted"]
    assert shown(transcript) == ["a"]


def test_changeable_block_holds_the_boundary_and_everything_below() -> None:
    live, below = Growing("x"), Lines("below")
    transcript = Transcript([Lines("a"), live, below])
    assert shown(transcript) == ["a", "", "x", "", "below"]
    assert transcript.commit_boundary() == CommitBoundary(1)
    below.rows = ["changed"]
    assert shown(transcript)[-1] == "changed"
    live.finish()
    assert shown(transcript) == ["a", "", "x", "", "changed"]
    assert transcript.commit_boundary() == CommitBoundary(5)


def test_growing_block_commits_all_but_its_last_row() -> None:
    live = Growing("1")
    transcript = Transcript([Lines("a"), live])
    shown(transcript)
    live.add("2", "3")
    shown(transcript)
    assert transcript.commit_boundary() == CommitBoundary(1, 4)


def test_stable_rows_above_a_ticking_row_may_commit() -> None:
    live = Growing()
    transcript = Transcript([live])
    for tick in range(STABLE_PREFIX_COMMIT_FRAMES + 1):
        live.rows = [*numbered(1, 4), f"tick {tick}", "end"]
        shown(transcript)
    assert transcript.commit_boundary() == CommitBoundary(0, 4)


def test_new_width_renders_every_block_again() -> None:
    transcript = Transcript([Wrapped("abcdef"), Wrapped("ghij")], spacing=0)
    assert shown(transcript, 3) == ["abc", "def", "ghi", "j"]
    assert shown(transcript, 6) == ["abcdef", "ghij"]


def test_new_theme_renders_every_block_again() -> None:
    block = Counted("a")
    transcript = Transcript([block])
    shown(transcript)
    block.rows = ["b"]
    transcript.invalidate()
    assert shown(transcript) == ["b"]


def test_rebuild_renders_every_block_again() -> None:
    block = Lines("folded")
    transcript = Transcript([block, Lines("x")])
    shown(transcript)
    block.rows = ["unfolded", "more"]
    transcript.rebuild()
    assert shown(transcript) == ["unfolded", "more", "", "x"]


def test_last_block_can_be_removed_frozen_or_not() -> None:
    live = Growing("live")
    transcript = Transcript([Lines("a"), Lines("b"), live])
    before = transcript.render(20)
    assert transcript.remove_last() is live
    assert shown(transcript) == ["a", "", "b"]
    transcript.remove_last()
    assert shown(transcript) == ["a"]
    transcript.add(Lines("c"))
    assert shown(transcript) == ["a", "", "c"]
    assert list(before) == ["a", "", "b", "", "live"]
    transcript.remove_last()
    transcript.remove_last()
    assert transcript.remove_last() is None
    assert shown(transcript) == []


def test_clear_leaves_nothing() -> None:
    transcript = Transcript([Lines("a"), Growing("b")])
    shown(transcript)
    transcript.clear()
    assert shown(transcript) == []
    assert transcript.commit_boundary() == CommitBoundary(0)
    assert list(transcript.blocks) == []


def test_frame_does_not_touch_frozen_blocks() -> None:
    blocks = [Counted(f"row {number}") for number in range(500)]
    transcript = Transcript(blocks)
    live = Growing()
    transcript.add(live)
    for number in range(20):
        live.add(str(number))
        shown(transcript)
    assert {block.renders for block in blocks} == {1}
