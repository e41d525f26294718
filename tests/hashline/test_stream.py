"""Partial patches: whatever has arrived, something sensible is shown and nothing fails."""

from hypothesis import given
from hypothesis import strategies as st

from tau.hashline.records import Hunk, LineSpan
from tau.hashline.snapshots import SnapshotStore
from tau.hashline.stream import preview_unfinished
from tests.hashline.strategies import files_and_hunks, patch_of

TEXT = "1\n2\n3\n4\n"


def shown(body: str, text: str = TEXT) -> list[tuple[str, int, int]]:
    store = SnapshotStore()
    tag = store.record("f", TEXT)
    files = preview_unfinished(f"¶f#{tag}\n{body}", {"f": text}.get, store, lambda *_: None)
    return [(file.preview, file.added, file.removed) for file in files]


def test_row_is_shown_while_it_is_being_written() -> None:
    assert shown("replace 2:\n+tw") == [(" 1:1\n-2:2\n+2:tw\n 3:3", 1, 1)]


def test_header_waits_for_its_line_end() -> None:
    assert shown("delete 1") == []
    assert shown("delete 1\n") == [("-1:1\n 1:2", 0, 1)]


def test_missing_blocks_and_lines_are_left_out() -> None:
    expected = [("-1:1\n 1:2", 0, 1)]
    assert shown("delete block 3\ndelete 1\n") == expected
    assert shown("delete 9\ndelete 1\n") == expected
    assert shown("delete 1\ndelete 1\ndelete 1..2\n") == expected


def test_missing_or_changed_file_shows_nothing() -> None:
    assert preview_unfinished("¶f#1234\ndelete 1\n", lambda _: None, SnapshotStore()) == ()
    assert [preview for preview, _, _ in shown("delete 1\n", "other\n")] == [""]


def test_file_that_cannot_be_shown_hides_no_other() -> None:
    store = SnapshotStore()
    tag, old, new = (
        store.record("good", TEXT),
        store.record("twice", TEXT),
        store.record("twice", f"{TEXT}5\n"),
    )
    files = {"twice": f"{TEXT}5\n", "good": TEXT}
    for bad in ("¶gone#1234\ndelete 1\n", f"¶twice#{old}\ndelete 1\n¶twice#{new}\ndelete 1\n"):
        patch = f"{bad}¶good#{tag}\ndelete 1\n"
        assert [file.path for file in preview_unfinished(patch, files.get, store)] == ["good"]


def test_viewing_a_partial_patch_creates_no_tag() -> None:
    store = SnapshotStore()
    preview_unfinished("¶f#1234\ndelete 1\n", {"f": TEXT}.get, store)
    assert store.versions("f") == ()


def resolver(path: str, text: str, line: int, /) -> LineSpan | None:
    return LineSpan(line, line + 1) if line % 2 else None


@given(files_and_hunks(), st.booleans())
def test_every_prefix_of_a_patch_can_be_shown(case: tuple[str, list[Hunk]], drifted: bool) -> None:
    text, hunks = case
    store = SnapshotStore()
    blocks = [Hunk("replace block", 1, 1, ("x",), 0), Hunk("delete block", 3, 3, (), 0)]
    whole = (
        "*** Begin Patch\n" + patch_of("f", store.record("f", text), [*hunks, *blocks]) + "*** End Patch\n"
    )
    now = f"somebody's line\n{text}" if drifted else text
    previews = [
        preview_unfinished(whole[:end], {"f": now}.get, store, resolver) for end in range(len(whole) + 1)
    ]
    assert previews[0] == ()
    assert all(len(files) <= 1 for files in previews)
    if not drifted:
        assert [file.path for file in previews[-1]] == ["f"]


@given(st.text("¶f#0A3B\n+- .replacedeletinsertblock123:*@", max_size=200), st.text("12\r\n ", max_size=20))
def test_no_input_makes_it_fail(typed: str, text: str) -> None:
    store = SnapshotStore()
    tag = store.record("f", text)
    files = preview_unfinished(f"¶f#{tag}\n{typed}", {"f": text}.get, store, resolver)
    assert len(files) <= 1
