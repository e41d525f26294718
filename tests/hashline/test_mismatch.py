"""What the report of a mismatch tells."""

import pytest

from tau.hashline import MismatchError, SnapshotStore, parse, prepare
from tau.hashline.mismatch import MAX_ROWS

NOW = "".join(f"line {number}\n" for number in range(1, 21))


def report_of(store: SnapshotStore, tag: str | None, body: str, now: str = NOW) -> MismatchError:
    with pytest.raises(MismatchError) as caught:
        prepare(parse(f"¶src/f.py#{tag}\n{body}"), {"src/f.py": now}.get, store)
    return caught.value


def test_a_drifted_file_is_told_with_its_tag_and_context() -> None:
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
        *(" 3:line 3", " 4:line 4", "*5:line 5", "*6:line 6", " 7:line 7", " 8:line 8"),
        "…",
        *(" 13:line 13", " 14:line 14", "*15:line 15", " 16:line 16", " 17:line 17"),
    ]


def test_a_tag_that_was_never_given_out_is_told_apart() -> None:
    error = report_of(SnapshotStore(), "ABCD", "delete 1\n")
    assert not error.recognized
    assert "#ABCD was never issued for src/f.py" in str(error)
    assert "*1:line 1" in str(error)


def test_a_tag_whose_text_is_forgotten_is_recognised() -> None:
    store = SnapshotStore(max_versions=1)
    tag = store.record("src/f.py", "old\n")
    store.record("src/f.py", "newer\n")
    error = report_of(store, tag, "delete 1\n")
    assert error.recognized
    assert "no longer remembered" in str(error)


def test_the_tag_in_the_report_works_at_once() -> None:
    store = SnapshotStore()
    error = report_of(store, "ABCD", "delete 1\n")
    file = prepare(parse(f"¶src/f.py#{error.current_tag}\ndelete 1\n"), {"src/f.py": NOW}.get, store).files[0]
    assert file.new_text == NOW.removeprefix("line 1\n")


def test_even_the_right_digits_are_not_trusted_if_nothing_was_shown() -> None:
    """As after a restart: the model remembers a tag, this session does not."""
    other = SnapshotStore().record("src/f.py", NOW)
    error = report_of(SnapshotStore(), other, "delete 1\n")
    assert error.current_tag == other
    assert not error.recognized


def test_anchors_beyond_the_end_are_told() -> None:
    error = report_of(SnapshotStore(), "ABCD", "delete 19..30\n")
    assert str(error).endswith(" 20:line 20\n[Line 30 does not exist: the file has 20 lines]")
    assert "[Line 1 does not exist: the file has 0 lines]" in str(
        report_of(SnapshotStore(), "ABCD", "delete 1\n", now="")
    )


def test_the_report_is_bounded() -> None:
    now = "".join("x" * 5000 + f"{number}\n" for number in range(2000))
    body = "".join(f"delete {number}\n" for number in range(1, 2000, 4))
    error = report_of(SnapshotStore(), "ABCD", body, now=now)
    assert len(str(error).split("\n")) < MAX_ROWS + 40
    assert len(str(error)) < 30_000
    assert "more lines not shown" in str(error)


def test_a_file_too_large_for_a_tag_is_told() -> None:
    error = report_of(SnapshotStore(max_bytes=100), "ABCD", "delete 1\n")
    assert error.current_tag is None
    assert "too large to be given a tag" in str(error)
