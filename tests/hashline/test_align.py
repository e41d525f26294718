"""Certain pairs of lines: checked against all best alignments, found by brute force."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from tau.hashline.recovery import MAX_CELLS, UNPAIRED, certain_pairs

LINES = st.lists(st.sampled_from("abc"), max_size=7)


def best_alignments(old: tuple[str, ...], new: tuple[str, ...]) -> set[frozenset[tuple[int, int]]]:
    """Every largest set of pairs that is ordered in both texts."""

    @cache
    def ways(i: int, j: int) -> frozenset[frozenset[tuple[int, int]]]:
        if i == len(old) or j == len(new):
            return frozenset({frozenset()})
        result = set(ways(i + 1, j)) | set(ways(i, j + 1))
        if old[i] == new[j]:
            result |= {way | {(i, j)} for way in ways(i + 1, j + 1)}
        longest = max(len(way) for way in result)
        return frozenset(way for way in result if len(way) == longest)

    return set(ways(0, 0))


@given(LINES, LINES)
def test_pair_is_certain_exactly_if_every_best_alignment_has_it(old: list[str], new: list[str]) -> None:
    shared = frozenset.intersection(*best_alignments(tuple(old), tuple(new)))
    pairs = certain_pairs(old, new)
    assert pairs is not None
    assert {(i, j) for i, j in enumerate(pairs) if j != UNPAIRED} == shared


def test_deleted_duplicate_leaves_no_certainty() -> None:
    assert certain_pairs(["x", "x", "x"], ["x", "x"]) == [UNPAIRED] * 3
    assert certain_pairs(["a", "x", "x", "b"], ["a", "x", "b"]) == [0, UNPAIRED, UNPAIRED, 2]


def test_unique_lines_are_certain_around_a_change() -> None:
    assert certain_pairs(list("abcdef"), list("abXYef")) == [0, 1, UNPAIRED, UNPAIRED, 4, 5]


def test_long_texts_with_one_difference_are_cheap() -> None:
    old = [f"line {number}" for number in range(100_000)]
    new = [*old[:50_000], "new", *old[50_001:]]
    pairs = certain_pairs(old, new)
    assert pairs is not None
    assert pairs[49_999:50_002] == [49_999, UNPAIRED, 50_001]


def test_long_texts_that_differ_everywhere_are_not_compared() -> None:
    size = int(MAX_CELLS**0.5) + 1
    assert certain_pairs([f"a{n}" for n in range(size)], [f"b{n}" for n in range(size)]) is None
