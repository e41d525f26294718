"""The ledger in hand-worked cases and many small ones."""

from itertools import product

from tau.tui.render.ledger import Ledger, LedgerStep, advance, restart


def test_frame_that_fits_commits_nothing() -> None:
    assert advance(0, length=5, height=8, boundary=5) == LedgerStep(Ledger(0, 0, 5, 5), 0)


def test_rows_above_the_window_are_committed_up_to_the_boundary() -> None:
    assert advance(2, length=20, height=8, boundary=20) == LedgerStep(Ledger(12, 12, 20, 20), 2)
    assert advance(2, length=20, height=8, boundary=7) == LedgerStep(Ledger(7, 12, 7, 20), 2)


def test_overlay_freezes_commits_but_not_the_window() -> None:
    assert advance(2, length=20, height=8, boundary=20, frozen=True) == LedgerStep(Ledger(2, 12, 20, 20), 2)


def test_shorter_frame_never_shows_a_committed_row_again() -> None:
    assert advance(12, length=15, height=8, boundary=15) == LedgerStep(Ledger(12, 12, 15, 15), 12)


def test_frame_that_shrank_into_its_history_is_reanchored_and_writes_nothing_there() -> None:
    step = advance(12, length=10, height=8, boundary=1)
    assert step == LedgerStep(Ledger(1, 2, 1, 10), 1)
    assert step.ledger.committed - step.start == 0


def test_frame_that_ends_where_the_shell_took_over_has_an_empty_window() -> None:
    assert advance(12, length=12, height=8, boundary=12, handed_over=12).ledger == Ledger(12, 12, 12, 12)
    assert advance(12, length=12, height=8, boundary=12).ledger == Ledger(4, 4, 12, 12)


def test_full_paint_writes_the_history_from_its_first_row() -> None:
    assert restart(length=20, height=8, boundary=9) == LedgerStep(Ledger(9, 12, 9, 20), 0)


def test_taller_window_does_not_repeat_history() -> None:
    assert advance(12, length=20, height=10, boundary=20) == LedgerStep(Ledger(12, 12, 20, 20), 12)


def test_shorter_window_commits_what_no_longer_fits() -> None:
    assert advance(12, length=20, height=5, boundary=20) == LedgerStep(Ledger(15, 15, 20, 20), 12)


def test_window_is_never_above_the_history_and_a_chunk_needs_a_full_window() -> None:
    for committed, length, height, boundary, frozen in product(
        range(8), range(12), range(1, 5), range(12), (False, True)
    ):
        for step in (
            advance(committed, length=length, height=height, boundary=boundary, frozen=frozen),
            restart(length=length, height=height, boundary=boundary),
        ):
            done, top, limit, total = step.ledger
            assert 0 <= step.start <= done <= top <= max(total, done)
            assert step.ledger.committed - step.start == 0 or (total - top == height and done <= limit)
