"""Session files with a title line, a damaged header, or entries in another order."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import SessionError
from tau.coding.session.storage.header import read_header
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.session_store import SessionStore

TITLE = {"type": "title", "v": 1, "title": "The importer", "source": "auto", "pad": " " * 40}
HEADER = {"type": "session", "version": 3, "id": "abc", "timestamp": "2026-07-13T13:40:51.628Z", "cwd": "/w"}


def message(id: str, parent: str | None, text: str) -> dict[str, Any]:
    said = {"role": "user", "content": text, "timestamp": 1}
    when = "2026-07-13T13:41:00.000Z"
    return {"type": "message", "id": id, "parentId": parent, "timestamp": when, "message": said}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "2026-07-13T13-40-51-628Z_abc.jsonl"
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(text + b"\n" for text in texts))
    return path


def texts(log: SessionLog) -> list[str]:
    return [str(getattr(one, "content", "")) for one in log.messages()]


TALK = (message("1", None, "one"), message("2", "1", "two"))


def test_session_of_todays_omp_loads_and_keeps_its_title(tmp_path: Path) -> None:
    path = written(tmp_path, TITLE, HEADER, *TALK)
    before = path.read_bytes()
    log = SessionLog.open(path)
    assert (texts(log), log.name, log.header.cwd, log.warnings) == (["one", "two"], "The importer", "/w", [])
    log.close()
    assert path.read_bytes() == before
    header = read_header(path)
    assert header is not None and (header.cwd, header.title) == ("/w", "The importer")
    assert SessionStore(tmp_path, Path("/w"), flat=True).recent_path() == path


@pytest.mark.parametrize(
    ("first", "cwd"),
    (
        (json.dumps(HEADER).encode()[:-9] + b"\xff\xff}", "/w"),
        (json.dumps(HEADER).encode()[:40], ""),
        (b"\0" * 60, ""),
        (json.dumps({**HEADER, "timestamp": 5}).encode(), "/w"),
    ),
    ids=("bytes", "cut", "zeros", "type"),
)
def test_session_with_a_damaged_header_opens_again(tmp_path: Path, first: bytes, cwd: str) -> None:
    path = written(tmp_path, first, *TALK)
    log = SessionLog.open(path)
    assert (texts(log), log.header.id) == (["one", "two"], "abc")
    assert log.header.cwd == (cwd if b'"cwd": "/w' in first else "")
    assert "damaged header was rebuilt" in log.warnings[0]
    log.close()
    again = SessionLog.open(path)
    assert texts(again) == ["one", "two"] and again.warnings == []
    again.close()
    assert len(list(tmp_path.glob("*.bak"))) == 1


def test_session_that_lost_its_header_opens_again(tmp_path: Path) -> None:
    log = SessionLog.open(written(tmp_path, *TALK))
    assert texts(log) == ["one", "two"] and log.header.timestamp == TALK[0]["timestamp"]
    log.close()


def test_damaged_header_is_not_rewritten_by_a_reader(tmp_path: Path) -> None:
    path = written(tmp_path, b"{", *TALK)
    before = path.read_bytes()
    log = SessionLog.open(path, read_only=True)
    assert texts(log) == ["one", "two"]
    log.close()
    assert path.read_bytes() == before and not list(tmp_path.glob("*.bak"))


def test_file_of_other_json_lines_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"type": "event", "id": "1"}, {"type": "event", "id": "2"})
    with pytest.raises(SessionError, match="not a session"):
        SessionLog.open(path)


def test_entries_before_their_parents_are_placed_right(tmp_path: Path) -> None:
    one, two = TALK
    three, four = message("3", "2", "three"), message("4", "3", "four")
    log = SessionLog.open(written(tmp_path, HEADER, one, four, two, three))
    assert texts(log) == ["one", "two", "three", "four"] and log.warnings == []
    log.append_message(log.messages()[0])
    assert texts(log) == ["one", "two", "three", "four", "one"]
    log.close()


def test_conversation_stored_back_to_front_was_empty(tmp_path: Path) -> None:
    talk = [*TALK, message("3", "2", "three"), message("4", "3", "four")]
    for order in permutations(talk):
        log = SessionLog.open(written(tmp_path, HEADER, *order), read_only=True)
        assert (texts(log), log.warnings) == (["one", "two", "three", "four"], []), order
        log.close()


def test_long_session_stored_back_to_front_opens(tmp_path: Path) -> None:
    talk = [message(str(number), str(number - 1) if number else None, "x") for number in range(5_000)]
    log = SessionLog.open(written(tmp_path, HEADER, *reversed(talk)), read_only=True)
    assert len(log.branch()) == 5_000 and log.warnings == []
    log.close()


def test_two_cycles_keep_the_conversation_before_them(tmp_path: Path) -> None:
    into, a, b = message("i", "b", "into"), message("a", "b", "a"), message("b", "a", "b")
    c, d = message("c", "d", "c"), message("d", "c", "d")
    log = SessionLog.open(written(tmp_path, HEADER, *TALK, into, a, b, c, d), read_only=True)
    assert sorted(node.id for node in log.nodes()) == ["1", "2", "a", "b", "c", "d", "i"]
    assert texts(log)[:2] == ["one", "two"]
    assert len(log.warnings) == 1 and log.warnings[0].endswith("attached to the entry before them: 2.")
    log.close()


def test_missing_parents_and_cycles_lose_no_entry(tmp_path: Path) -> None:
    a, b = message("a", "b", "a"), message("b", "a", "b")
    log = SessionLog.open(written(tmp_path, HEADER, *TALK, message("9", "gone", "nine"), a, b))
    assert sorted(node.id for node in log.nodes()) == ["1", "2", "9", "a", "b"]
    assert texts(log) == ["one", "two", "nine", "a", "b"]
    assert log.warnings == [
        "Entries of 2026-07-13T13-40-51-628Z_abc.jsonl with a missing parent, attached to the entry before "
        "them: 2."
    ]
    log.close()


@pytest.mark.parametrize(
    "stray", (b"5", b'"text"', b"[1, 2]", b"null"), ids=("number", "text", "list", "null")
)
def test_session_whose_first_line_is_json_but_not_an_object_is_rebuilt(tmp_path: Path, stray: bytes) -> None:
    path = written(tmp_path, stray, TALK[0], stray, TALK[1])
    assert read_header(path) is None
    log = SessionLog.open(path)
    assert (texts(log), log.header.id) == (["one", "two"], "abc")
    log.close()
