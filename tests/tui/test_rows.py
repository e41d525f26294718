"""Rows in shared parts, and logs of rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.rows import LoggedRows, RowLog, Rows

parts = st.lists(st.lists(st.text("abc", max_size=2), max_size=5), max_size=6)
bounds = st.none() | st.integers(-25, 25)
steps = st.none() | st.integers(-4, 4).filter(bool)


def flat(of: list[list[str]]) -> list[str]:
    return [row for part in of for row in part]


@given(parts)
def test_parts_read_as_one_sequence(of: list[list[str]]) -> None:
    rows, expected = Rows(of), flat(of)
    assert len(rows) == len(expected)
    assert list(rows) == expected
    assert [rows[at] for at in range(-len(expected), len(expected))] == expected + expected
    assert rows == expected
    assert all(part for part in rows.parts)


@given(parts, bounds, bounds, steps)
def test_slice_equals_that_of_a_list(
    of: list[list[str]], start: int | None, stop: int | None, step: int | None
) -> None:
    assert Rows(of)[start:stop:step] == flat(of)[start:stop:step]


@given(parts, parts)
def test_rows_are_equal_when_their_text_is(one: list[list[str]], other: list[list[str]]) -> None:
    assert (Rows(one) == Rows(other)) == (flat(one) == flat(other))
    assert Rows(one).same_parts(Rows(one))


def test_parts_are_compared_by_identity() -> None:
    part = ["a"]
    assert Rows([part]).same_parts(Rows([[], part]))
    assert not Rows([part]).same_parts(Rows([["a"]]))
    assert not Rows([part]).same_parts(Rows([part, part]))


@pytest.mark.parametrize("index", [-3, 2, 99])
def test_index_out_of_range(index: int) -> None:
    log = RowLog()
    log.extend(["a", "b"])
    for rows in (Rows([["a"], ["b"]]), log.snapshot()):
        with pytest.raises(IndexError):
            rows[index]


def test_nested_rows_are_flattened() -> None:
    inner = Rows([["a"], ["b", "c"]])
    outer = Rows([["x"], inner, ["y"]])
    assert list(outer) == ["x", "a", "b", "c", "y"]
    assert outer[1:4] == ["a", "b", "c"]
    assert outer[::-1] == ["y", "c", "b", "a", "x"]


def test_snapshot_does_not_see_later_rows() -> None:
    log = RowLog()
    log.extend(["a", "b"])
    before = log.snapshot()
    log.extend(["c"])
    assert (list(before), list(log.snapshot()), len(log)) == (["a", "b"], ["a", "b", "c"], 3)
    assert Rows([before])[-1] == "b"


@given(st.lists(st.text("ab", max_size=1), max_size=8), st.integers(0, 8), bounds, bounds, steps)
def test_slice_of_a_snapshot_equals_that_of_a_list(
    rows: list[str], length: int, start: int | None, stop: int | None, step: int | None
) -> None:
    length = min(length, len(rows))
    log = RowLog()
    log.extend(rows[:length])
    snapshot: LoggedRows = log.snapshot()
    log.extend(rows[length:])
    assert snapshot[start:stop:step] == rows[:length][start:stop:step]
    assert list(snapshot) == rows[:length]
