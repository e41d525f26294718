"""The fast implementation against the slow one, and the promise about bytes outside the hunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.hashline.errors import MismatchError, NoChangeError
from tau.hashline.lines import NumberedLines, split_lines
from tau.hashline.parser import parse
from tau.hashline.patch import prepare, record_written
from tau.hashline.records import Hunk
from tau.hashline.snapshots import SnapshotStore
from tests.hashline.model import apply_model, read_lines
from tests.hashline.strategies import files_and_hunks, patch_of, texts


def edited(text: str, hunks: list[Hunk]) -> str:
    store = SnapshotStore()
    patch = parse(patch_of("f", store.record("f", text), hunks))
    assert not patch.warnings
    return prepare(patch, {"f": text}.get, store)[0].new_text


@given(files_and_hunks())
def test_both_implementations_agree(case: tuple[str, list[Hunk]]) -> None:
    text, hunks = case
    expected = apply_model(text, hunks)
    if expected == text:
        with pytest.raises(NoChangeError):
            edited(text, hunks)
    else:
        assert edited(text, hunks) == expected


@given(files_and_hunks())
def test_every_byte_outside_the_hunks_is_kept(case: tuple[str, list[Hunk]]) -> None:
    text, hunks = case
    try:
        result = edited(text, hunks)
    except NoChangeError:
        return
    ranges = [hunk for hunk in hunks if hunk.kind in ("replace", "delete")]
    gone = {number for hunk in ranges for number in range(hunk.first, hunk.last + 1)}
    position = 0
    lines = read_lines(text)
    # A text without a final line end stays without one.
    loses_end = bool(lines) and not lines[-1].end and len(lines) in gone
    last = max({*range(1, len(lines) + 1)} - gone, default=0)
    for number, line in enumerate(lines, 1):
        if number not in gone:
            kept = line.text + ("" if loses_end and number == last else line.end)
            found = result.find(kept, position)
            assert found >= 0, (number, kept)
            position = found + len(kept)


@given(texts(), st.data())
def test_bytes_before_and_after_one_hunk_are_identical(text: str, data: st.DataObject) -> None:
    lines = read_lines(text)
    if not lines:
        return
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    result = edited(text, [Hunk("replace", first, last, ("new row of text",), 1)])
    head = "".join(line.text + line.end for line in lines[: first - 1])
    tail = "".join(line.text + line.end for line in lines[last:])
    assert result.startswith(head)
    assert result.endswith(tail)
    assert result == head + "new row of text" + lines[last - 1].end + tail


@given(texts())
def test_line_lookup_by_offset_matches_reading(text: str) -> None:
    expected = read_lines(text)
    lines = NumberedLines(text)
    assert lines.count == len(expected)
    assert split_lines(text) == [line.text for line in expected]
    assert lines.rows(1, lines.count) == [line.text for line in expected]
    for number, line in enumerate(expected, 1):
        assert (lines.row(number), lines.end_of(number)) == (line.text, line.end)
        assert lines.has(number)
    assert not lines.has(len(expected) + 1)
    assert not lines.has(0)


@given(files_and_hunks())
def test_patch_sent_twice_is_applied_once(case: tuple[str, list[Hunk]]) -> None:
    text, hunks = case
    store = SnapshotStore()
    patch = parse(patch_of("f", store.record("f", text), hunks))
    try:
        file = prepare(patch, {"f": text}.get, store)[0]
    except NoChangeError:
        return
    record_written(store, file)
    with pytest.raises((MismatchError, NoChangeError)):
        prepare(patch, {"f": file.new_text}.get, store)
