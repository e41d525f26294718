"""The mismatch report."""

import pytest

from tau.hashline.errors import MismatchError
from tau.hashline.parser import parse
from tau.hashline.patch import prepare
from tau.hashline.snapshots import SnapshotStore, tag_of

NOW = "".join(f"line {number}\n" for number in range(1, 21))


def report_of(store: SnapshotStore, tag: str | None, body: str, now: str = NOW) -> MismatchError:
    with pytest.raises(MismatchError) as caught:
        prepare(parse(f"¶src/f.py#{tag}\n{body}"), {"src/f.py": now}.get, store)
    return caught.value


def test_changed_file_is_reported_with_its_tag_and_context() -> None:
    store = SnapshotStore()
    tag = store.record("src/f.py", NOW.replace("line 5\n", "was 5\n"))
    error = report_of(store, tag, "replace 5..6:\n+x\ninsert after 15:\n+y\n")
    current = store.record("src/f.py", NOW)
    assert error.recognized and error.tag == tag and error.current_tag == current and error.path == "src/f.py"
    message, rows = str(error).split("\n\n")
    assert f"src/f.py has changed since #{tag} was shown" in message
    assert f"#{current}" in message
    assert "Nothing was changed" in message
    assert rows.split("\n") == [
        f"¶src/f.py#{current}",
        *(" 3:line 3", " 4:line 4", " 5:line 5", "*6:line 6", " 7:line 7", " 8:line 8"),
        "…",
        *(" 13:line 13", " 14:line 14", "*15:line 15", " 16:line 16", " 17:line 17"),
        f"[Under #{tag}: Line 5 was `was 5`, which has changed or is gone]",
    ]


def test_error_pointed_at_the_old_line_number_where_another_line_was_by_then() -> None:
    store = SnapshotStore()
    shown = NOW.replace("line 10\n", "old 10\n")
    tag = store.record("src/f.py", shown)
    now = "new\nnewer\n" + NOW.replace("line 12\n", "")
    rows = str(report_of(store, tag, "replace 9..10:\n+x\ndelete 13\n", now)).split("\n\n")[1].split("\n")[1:]
    assert rows == [
        *(" 9:line 7", " 10:line 8", "*11:line 9", " 12:line 10", " 13:line 11", "*14:line 13"),
        *(" 15:line 14", " 16:line 15"),
        f"[Under #{tag}: Line 10 was `old 10`, which has changed or is gone]",
    ]


def test_many_changed_lines_are_quoted_in_part() -> None:
    store = SnapshotStore()
    tag = store.record("src/f.py", "".join(f"old {number}\n" for number in range(1, 21)))
    report = str(report_of(store, tag, "delete 1..20\n"))
    assert report.count("which has changed or is gone") == 10
    assert "[… 10 more lines have changed or are gone]" in report
    assert "\n*" not in report


def test_unknown_tag_has_its_own_message() -> None:
    error = report_of(SnapshotStore(), "ABCD", "delete 1\n")
    assert not error.recognized
    assert "#ABCD was never issued for src/f.py" in str(error)
    assert "\n 1:line 1" in str(error)


def test_forgotten_tag_is_recognized() -> None:
    store = SnapshotStore(max_versions=1)
    tag = store.record("src/f.py", "old\n")
    store.record("src/f.py", "newer\n")
    error = report_of(store, tag, "delete 1\n")
    assert error.recognized
    assert "no longer remembered" in str(error)


def test_tag_in_the_report_is_usable() -> None:
    store = SnapshotStore()
    error = report_of(store, "ABCD", "delete 1\n")
    file = prepare(parse(f"¶src/f.py#{error.current_tag}\ndelete 1\n"), {"src/f.py": NOW}.get, store)[0]
    assert file.new_text == NOW.removeprefix("line 1\n")


def test_tag_of_the_current_text_is_accepted_even_if_another_process_showed_it() -> None:
    """Like after a restart: the model remembers a tag, this process does not."""
    tag = SnapshotStore().record("src/f.py", NOW)
    file = prepare(parse(f"¶src/f.py#{tag}\ndelete 1\n"), {"src/f.py": NOW}.get, SnapshotStore())[0]
    assert file.new_text == NOW.removeprefix("line 1\n")


def test_text_that_only_shares_the_digits_of_a_shown_one_is_not_taken_for_it() -> None:
    store = SnapshotStore(max_versions=1)
    numbered = (f"{number}\n" for number in range(1_000_000))
    other = next(text for text in numbered if tag_of(text) == tag_of(NOW))
    tag = store.record("src/f.py", other)
    store.record("src/f.py", "newer\n")
    assert tag == tag_of(NOW)
    assert report_of(store, tag, "delete 1\n").recognized


def test_anchors_past_the_end_are_reported() -> None:
    error = report_of(SnapshotStore(), "ABCD", "delete 19..30\n")
    assert str(error).endswith(" 20:line 20\n[Line 30 does not exist: the file has 20 lines]")
    assert "[Line 1 does not exist: the file has 0 lines]" in str(
        report_of(SnapshotStore(), "ABCD", "delete 1\n", now="")
    )


def test_report_is_bounded() -> None:
    now = "".join("x" * 5000 + f"{number}\n" for number in range(2000))
    body = "".join(f"delete {number}\n" for number in range(1, 2000, 4))
    error = report_of(SnapshotStore(), "ABCD", body, now=now)
    rows = [row for row in str(error).split("\n") if ":x" in row]
    assert len(rows) == 60 and max(map(len, rows)) == len(" 60:") + 300
    assert len(str(error)) < 30_000
    assert "more lines not shown" in str(error)


def test_file_too_large_for_a_tag_is_reported() -> None:
    error = report_of(SnapshotStore(max_bytes=100), "ABCD", "delete 1\n")
    assert error.current_tag is None
    assert "too large to be given a tag" in str(error)
