"""How much of a changing block may be committed to the history."""

from tau.tui.rows import Rows
from tau.tui.widgets.transcript import (
    STABLE_PREFIX_COMMIT_FRAMES,
    VOLATILE_REARM_FRAMES,
    LiveCommit,
    count_shared_rows,
)
from tests.tui.render.render_rig import numbered


def watch(*frames: list[str]) -> list[int]:
    live = LiveCommit()
    return [live.observe(frame) for frame in frames]


def test_block_is_not_trusted_before_it_was_seen_growing() -> None:
    assert watch(numbered(1, 5), numbered(1, 5)) == [0, 0]


def test_block_growing_at_its_end_commits_all_but_its_last_row() -> None:
    assert watch(numbered(1, 3), numbered(1, 4), numbered(1, 9)) == [0, 3, 8]


def test_last_row_may_still_change() -> None:
    assert watch(["a", "b"], ["a", "bc", "d"], ["a", "bc", "de", "f"]) == [0, 2, 3]


def test_colors_do_not_count() -> None:
    assert watch(["\x1b[1ma\x1b[22m", "b"], ["a", "b", "c"]) == [0, 2]


def test_rewritten_row_above_the_last_suspends_trust_for_a_while() -> None:
    live = LiveCommit()
    live.observe(numbered(1, 3))
    assert live.observe(numbered(1, 4)) == 3
    assert live.observe(["other", *numbered(2, 5)]) == 0
    rows = ["other", *numbered(2, 5)]
    answers = [live.observe(rows) for _ in range(VOLATILE_REARM_FRAMES)]
    assert answers[-2] < 4
    assert answers[-1] == 4


def test_stable_rows_commit_while_the_last_ones_tick() -> None:
    live = LiveCommit()
    head = numbered(1, 6)
    answers = [
        live.observe([*head, "a", f"tick {tick}", "end"]) for tick in range(STABLE_PREFIX_COMMIT_FRAMES + 1)
    ]
    assert answers[:-1] == [0] * STABLE_PREFIX_COMMIT_FRAMES
    assert answers[-1] == 7


def ticking(live: LiveCommit, frames: int, rows: list[str], start: int) -> int:
    """The second-to-last row ticks in each frame, so that the block is never trusted as a whole."""
    answer = 0
    for tick in range(frames):
        answer = live.observe([*rows, f"tick {start + tick}", "end"])
    return answer


def test_slow_ticker_is_never_committed_again() -> None:
    live = LiveCommit()
    rows = numbered(1, 8)
    assert ticking(live, STABLE_PREFIX_COMMIT_FRAMES + 1, rows, 0) == 8
    rows[5] = "slow 1"
    assert ticking(live, 1, rows, 1000) == 5
    assert ticking(live, 5 * STABLE_PREFIX_COMMIT_FRAMES, rows, 2000) == 5


def test_rows_inserted_above_a_slow_ticker_may_commit() -> None:
    live = LiveCommit()
    rows = numbered(1, 8)
    ticking(live, STABLE_PREFIX_COMMIT_FRAMES + 1, rows, 0)
    rows[5] = "slow 1"
    ticking(live, 1, rows, 1000)
    rows = [*rows[:5], "new a", "new b", *rows[5:]]
    assert ticking(live, 3 * STABLE_PREFIX_COMMIT_FRAMES, rows, 2000) == 7


def test_change_before_the_first_commit_leaves_no_mark() -> None:
    live = LiveCommit()
    rows = numbered(1, 8)
    ticking(live, 3, rows, 0)
    rows[2] = "laid out again"
    assert ticking(live, 2 * STABLE_PREFIX_COMMIT_FRAMES, rows, 100) == 8


def test_block_that_grew_is_still_trusted_at_another_width() -> None:
    live = LiveCommit()
    live.observe(numbered(1, 3))
    live.observe(numbered(1, 4))
    live.forget_rows()
    assert live.observe(["li", "ne", "1", "li"]) == 3


def test_shared_parts_are_not_compared() -> None:
    head = numbered(1, 1000)
    assert count_shared_rows(Rows([head, ["a"]]), Rows([head, ["b"]])) == 1000
    assert count_shared_rows(head, [*head[:700], "x", *head[701:]]) == 700
    assert count_shared_rows(head, head[:20]) == 20
