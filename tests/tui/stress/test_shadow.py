"""The shadow ledger in hand-worked cases: the gate is only as good as this."""

from tests.tui.stress.shadow import Frame, Shadow


def numbered(first: int, last: int) -> list[str]:
    return [f"row {number}" for number in range(first, last + 1)]


def test_final_rows_leave_the_window_once_and_in_order() -> None:
    shadow = Shadow(above=["$ tau"])
    shadow.draw(Frame(numbered(1, 3), 3, 4))
    assert (shadow.history, shadow.grid) == ([], ["$ tau", *numbered(1, 3)])
    shadow.draw(Frame(numbered(1, 9), 9, 4))
    assert (shadow.history, shadow.window) == (["$ tau", *numbered(1, 5)], numbered(6, 9))
    assert shadow.chunk == numbered(1, 5)


def test_changeable_rows_stay_out_of_the_history_even_if_hidden() -> None:
    shadow = Shadow()
    shadow.draw(Frame(numbered(1, 9), 2, 4))
    assert (shadow.history, shadow.window, shadow.window_top) == (numbered(1, 2), numbered(6, 9), 5)
    shadow.draw(Frame(numbered(1, 9), 9, 4))
    assert (shadow.history, shadow.window) == (numbered(1, 5), numbered(6, 9))


def test_window_never_shows_a_committed_row_again_when_the_frame_shrinks() -> None:
    shadow = Shadow()
    shadow.draw(Frame(numbered(1, 9), 9, 4))
    shadow.draw(Frame(numbered(1, 6), 6, 4))
    assert (shadow.history, shadow.window) == (numbered(1, 5), numbered(6, 6))


def test_overlay_holds_commits_back() -> None:
    shadow = Shadow()
    shadow.draw(Frame(numbered(1, 4), 4, 4))
    shadow.draw(Frame(numbered(1, 6), 6, 4, overlay=True))
    assert (shadow.history, shadow.window) == ([], numbered(3, 6))
    shadow.draw(Frame(numbered(1, 6), 6, 4))
    assert shadow.history == numbered(1, 2)


def test_frame_cut_into_committed_rows_is_shown_from_its_end() -> None:
    shadow = Shadow()
    shadow.draw(Frame(numbered(1, 20), 20, 4))
    shadow.draw(Frame(numbered(1, 10), 10, 4))
    assert (shadow.history, shadow.window) == (numbered(1, 16), numbered(7, 10))
    shadow.draw(Frame([*numbered(1, 10), "new"], 11, 4))
    assert (shadow.history, shadow.window) == ([*numbered(1, 16), "row 7"], [*numbered(8, 10), "new"])


def test_moved_rows_are_committed_again_but_one_changed_in_place_is_not() -> None:
    shadow = Shadow()
    shadow.draw(Frame(numbered(1, 20), 20, 4))
    edited = [*numbered(1, 14), "edited", *numbered(16, 20)]
    shadow.draw(Frame(edited, 20, 4))
    assert shadow.history == numbered(1, 16)
    moved = [*numbered(1, 9), "in between", *numbered(10, 20)]
    shadow.draw(Frame(moved, 21, 4))
    assert shadow.history == [*numbered(1, 16), "in between", *numbered(10, 16)]
    assert shadow.window == numbered(17, 20)


def test_new_session_starts_below_the_history() -> None:
    shadow = Shadow(above=["$ tau"])
    shadow.draw(Frame(numbered(1, 9), 9, 4))
    shadow.draw(Frame(numbered(11, 16), 6, 4, replaced=True))
    assert (shadow.history, shadow.window) == (
        ["$ tau", *numbered(1, 5), *numbered(11, 12)],
        numbered(13, 16),
    )


def test_resize_takes_over_the_history_and_checks_the_grid() -> None:
    shadow = Shadow()
    shadow.draw(Frame(numbered(1, 9), 9, 4))
    frame = Frame(numbered(1, 9), 9, 5)
    assert shadow.follow(frame, numbered(1, 5), numbered(5, 9), (4, 4)) == ""
    assert (shadow.window_top, len(shadow.committed)) == (4, 4)
    assert shadow.follow(frame, numbered(1, 4), numbered(5, 9), (5, 5)) == ""
    assert (shadow.above, shadow.window) == (numbered(5, 5), numbered(6, 9))
    assert shadow.follow(frame, numbered(1, 5), ["x", *numbered(5, 6), "y", "z"], (4, 4)) != ""


def test_shell_rows_make_room_and_the_shell_continues_below_the_final_rows() -> None:
    shadow = Shadow(above=["$ a", "$ b"])
    shadow.draw(Frame(numbered(1, 3), 2, 4))
    assert (shadow.history, shadow.grid) == (["$ a"], ["$ b", *numbered(1, 3)])
    shadow.leave(Frame(numbered(1, 3), 2, 4), 2)
    assert (shadow.history, shadow.grid) == (["$ a"], ["$ b", *numbered(1, 2)])
    shadow.printed(["$ c"], 4)
    shadow.draw(Frame(numbered(1, 5), 5, 4))
    assert (shadow.history, shadow.grid) == (["$ a", "$ b", "row 1", "row 2"], ["$ c", *numbered(3, 5)])
