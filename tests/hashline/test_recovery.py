"""A stale tag: the edit follows its lines or is refused; it never lands anywhere else."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.hashline.errors import HashlineError, MismatchError, NoChangeError
from tau.hashline.parser import parse
from tau.hashline.patch import prepare, record_written
from tau.hashline.records import Hunk
from tau.hashline.snapshots import SnapshotStore
from tests.hashline.model import apply_model
from tests.hashline.strategies import hunk_lists, patch_of
from tests.hashline.test_align import best_alignments

TEXT = "".join(f"line {number}\n" for number in range(1, 11))


def recovered(old: str, now: str, body: str) -> tuple[str, tuple[str, ...]]:
    store = SnapshotStore()
    patch = parse(f"¶f#{store.record('f', old)}\n{body}")
    file = prepare(patch, {"f": now}.get, store)[0]
    return file.new_text, file.warnings


def test_change_elsewhere_is_merged_and_reported() -> None:
    now = "new top\n" + TEXT.replace("line 9\n", "")
    text, warnings = recovered(TEXT, now, "replace 5:\n+five\ninsert after 6:\n+x\n")
    assert text == now.replace("line 5\n", "five\n").replace("line 6\n", "line 6\nx\n")
    assert len(warnings) == 1
    assert "outside this session" in warnings[0]
    assert text.startswith("new top\n")


@pytest.mark.parametrize(
    ("now", "body"),
    [
        (TEXT.replace("line 5\n", "changed\n"), "replace 5:\n+five\n"),
        (TEXT.replace("line 5\n", "changed\n"), "replace 4:\n+four\n"),
        (TEXT.replace("line 5\n", "changed\n"), "delete 3..6\n"),
        (TEXT.replace("line 5\n", "line 5\nnew\n"), "insert after 5:\n+x\n"),
        (TEXT.replace("line 5\n", "line 5\nnew\n"), "insert before 6:\n+x\n"),
        (TEXT.replace("line 5\n", ""), "insert after 5:\n+x\n"),
        ("new\n" + TEXT, "insert head:\n+x\n"),
        (TEXT + "new\n", "insert tail:\n+x\n"),
        ("", "delete 5\n"),
        ("all\nelse\n", "delete 5\n"),
    ],
)
def test_change_at_the_edited_lines_is_a_mismatch(now: str, body: str) -> None:
    with pytest.raises(MismatchError) as caught:
        recovered(TEXT, now, body)
    assert caught.value.recognized
    assert "has changed since" in str(caught.value)


def test_position_among_equal_lines_is_uncertain() -> None:
    with pytest.raises(MismatchError):
        recovered("a\nx\nx\nx\nb\n", "a\nx\nx\nb\n", "replace 3:\n+y\n")


def test_trailing_whitespace_is_not_a_change() -> None:
    text, warnings = recovered("a \nb\t\nc\n", "a\nb\nc\n", "replace 2:\n+x\n")
    assert (text, warnings) == ("a\nx\nc\n", ())
    text, warnings = recovered("a\nb\nc\n", "a\r\nb\r\nc\r\n", "replace 2:\n+x\n")
    assert (text, warnings) == ("a\r\nx\r\nc\r\n", ())


def test_last_line_of_only_whitespace_is_a_line() -> None:
    """Without it the file has one line less, whatever the trimmed texts look like."""
    for old, now in (("a\n  ", "a\n"), ("  ", "")):
        with pytest.raises(MismatchError):
            recovered(old, now, f"delete {old.count(chr(10)) + 1}\n")


def test_newest_text_may_equal_an_older_one() -> None:
    store = SnapshotStore()
    tag = store.record("f", TEXT)
    store.record("f", "something else\n")
    file = prepare(parse(f"¶f#{tag}\ndelete 1\n"), {"f": TEXT}.get, store)[0]
    assert file.warnings == ()


def test_line_numbers_are_carried_through_an_own_edit() -> None:
    store = SnapshotStore()
    tag = store.record("f", TEXT)
    first = prepare(parse(f"¶f#{tag}\nreplace 5:\n+five\n+and more\n"), {"f": TEXT}.get, store)[0]
    record_written(store, first)
    second = prepare(parse(f"¶f#{tag}\nreplace 6:\n+six\n"), {"f": first.new_text}.get, store)[0]
    assert second.new_text == TEXT.replace("line 5\n", "five\nand more\n").replace("line 6\n", "six\n")
    assert len(second.warnings) == 1
    assert "your own earlier edit" in second.warnings[0]


def test_line_numbers_are_carried_through_two_own_edits_and_an_outside_change() -> None:
    store = SnapshotStore()
    tag = store.record("f", TEXT)
    text = TEXT
    for body in ("insert head:\n+top\n", "delete 2\n"):
        latest = store.latest("f")
        assert latest is not None
        file = prepare(parse(f"¶f#{latest.tag}\n{body}"), {"f": text}.get, store)[0]
        record_written(store, file)
        text = file.new_text
    now = text + "appended\n"
    file = prepare(parse(f"¶f#{tag}\nreplace 2:\n+two\n"), {"f": now}.get, store)[0]
    assert file.new_text == now.replace("line 2\n", "two\n")
    assert "outside this session" in file.warnings[0]


def test_edit_is_replayed_and_merged_after_an_own_rewrite() -> None:
    store = SnapshotStore()
    tag = store.record("f", TEXT)
    now = "rewritten top\n" + TEXT
    store.record("f", now, own=True)
    file = prepare(parse(f"¶f#{tag}\nreplace 5:\n+five\n"), {"f": now}.get, store)[0]
    assert file.new_text == now.replace("line 5\n", "five\n")
    assert "rewritten in this session" in file.warnings[0]


def test_outside_change_stays_outside_after_it_was_seen() -> None:
    store = SnapshotStore()
    tag = store.record("f", TEXT)
    now = "theirs\n" + TEXT
    store.record("f", now)
    file = prepare(parse(f"¶f#{tag}\nreplace 5:\n+five\n"), {"f": now}.get, store)[0]
    assert "outside this session" in file.warnings[0]


def test_manually_undone_edit_can_be_applied_again() -> None:
    store = SnapshotStore()
    patch = parse(f"¶f#{store.record('f', TEXT)}\ndelete 5\n")
    first = prepare(patch, {"f": TEXT}.get, store)[0]
    record_written(store, first)
    assert prepare(patch, {"f": TEXT}.get, store)[0].new_text == first.new_text


@dataclass
class Case:
    old: list[str]
    now: list[str]
    origin: list[int | None]  # for each line of `now`, the number of the old line that it is
    hunks: list[Hunk]


@st.composite
def outside_edits(draw: st.DrawFn) -> Case:
    """A file of distinct lines, someone's edits of it, and our hunks for the original."""
    old = [f"line {number}" for number in range(1, draw(st.integers(1, 12)) + 1)]
    now: list[str] = []
    origin: list[int | None] = []
    for number in range(1, len(old) + 2):
        for fresh in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
            now.append(f"theirs {number}.{fresh}")
            origin.append(None)
        if number <= len(old) and draw(st.sampled_from([True, True, True, False])):
            now.append(old[number - 1])
            origin.append(number)
    rows = st.sampled_from(["ours 1", "ours 2"])
    return Case(old, now, origin, draw(hunk_lists(len(old), rows=rows)))


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def expected_places(case: Case) -> list[Hunk] | None:
    """Our hunks with current line numbers; None if a line they need, or one beside it, is gone."""
    count = len(case.old)
    place = {number: index for index, number in enumerate(case.origin, 1) if number is not None}
    place |= {0: 0, count + 1: len(case.now) + 1}
    moved = []
    for hunk in case.hunks:
        first, last = hunk.first - 1, hunk.last + 1
        if hunk.kind in ("insert head", "insert before"):
            first, last = max(hunk.first - 1, 0), max(hunk.first, 1)
        elif hunk.kind == "insert after":
            first, last = hunk.first, hunk.first + 1
        elif hunk.kind == "insert tail":
            first, last = count, count + 1
        places = [place.get(number) for number in range(first, last + 1)]
        if None in places or any(two != one + 1 for one, two in pairwise(places)):
            return None
        shift = places[0] - first
        at = (hunk.first + shift, hunk.last + shift) if hunk.first else (0, 0)
        moved.append(Hunk(hunk.kind, *at, hunk.rows, hunk.line))
    return moved


@given(outside_edits())
def test_outside_change_is_merged_correctly_or_refused(case: Case) -> None:
    store = SnapshotStore()
    old, now = joined(case.old), joined(case.now)
    patch = parse(patch_of("f", store.record("f", old), case.hunks))
    places = expected_places(case)
    if old == now:
        return
    if places is None:
        with pytest.raises(MismatchError):
            prepare(patch, {"f": now}.get, store)
        return
    expected = apply_model(now, places)
    if expected == now:
        with pytest.raises(NoChangeError):
            prepare(patch, {"f": now}.get, store)
    else:
        assert prepare(patch, {"f": now}.get, store)[0].new_text == expected


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=6),
    st.lists(st.sampled_from("abc"), max_size=6),
    st.data(),
)
def test_with_equal_lines_only_unambiguous_edits_are_applied(
    old: list[str], now: list[str], data: st.DataObject
) -> None:
    number = data.draw(st.integers(1, len(old)))
    if old == now:
        return
    try:
        text, _ = recovered(joined(old), joined(now), f"replace {number}:\n+NEW\n")
    except MismatchError:
        return
    for way in best_alignments(tuple(old), tuple(now)):
        place = dict(way)[number - 1]
        assert text == joined([*now[:place], "NEW", *now[place + 1 :]])


@given(st.data())
def test_chain_of_own_edits_maps_to_the_same_lines_or_is_refused(data: st.DataObject) -> None:
    """Lines carry a number in their text, so that the right position is recognizable at the end."""
    store = SnapshotStore()
    text = TEXT
    tag = store.record("f", text)
    for _ in range(data.draw(st.integers(1, 3))):
        latest = store.latest("f")
        assert latest is not None
        hunks = data.draw(hunk_lists(text.count("\n"), rows=st.just("own row")))
        try:
            file = prepare(parse(patch_of("f", latest.tag, hunks)), {"f": text}.get, store)[0]
        except NoChangeError:
            continue
        record_written(store, file)
        text = file.new_text
    number = data.draw(st.integers(1, 10))
    try:
        file = prepare(parse(f"¶f#{tag}\nreplace {number}:\n+NEW\n"), {"f": text}.get, store)[0]
    except HashlineError as error:
        assert isinstance(error, MismatchError)
        assert f"line {number}\n" not in text
        return
    assert file.new_text == text.replace(f"line {number}\n", "NEW\n")
