"""Older session files: migrated to version 3 with a backup, or read without being written."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tau.ai.wire import CompactionSummaryMessage, CustomMessage, UserMessage
from tau.base.errors import SessionError
from tau.base.files import write_atomic
from tau.coding.session.storage import migration
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.session_store import SessionStore

TIME = "2026-01-01T00:00:00.000Z"
HEADER = {"type": "session", "id": "an-id", "timestamp": TIME, "cwd": "/w"}
HOOK = {"role": "hookMessage", "customType": "x", "content": "from a hook", "display": True, "timestamp": 2}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": 1}


def entry(type: str, **fields: Any) -> dict[str, Any]:
    return {"type": type, "timestamp": TIME, **fields}


def version_1() -> list[dict[str, Any]]:
    return [
        HEADER,
        entry("message", message=user("a")),
        entry("model_change", provider="p", modelId="m"),
        entry("message", message=HOOK),
        entry("message", message=user("b")),
        entry("compaction", summary="S", firstKeptEntryIndex=3, tokensBefore=7),
        entry("hologram", anything=[1]),
        entry("message", message=user("c")),
    ]


def version_2() -> list[dict[str, Any]]:
    lines = [{**HEADER, "version": 2}]
    for number, line in enumerate(version_1()[1:], 1):
        place = {"id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None}
        lines.append({**line, **place})
    lines[5].pop("firstKeptEntryIndex")
    return [*lines[:5], {**lines[5], "firstKeptEntryId": "e3"}, *lines[6:]]


def written(folder: Path, lines: list[dict[str, Any]]) -> Path:
    path = folder / f"2026-01-01T00-00-00-000Z_{HEADER['id']}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path.chmod(0o600)
    return path


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


WANTED = [
    CompactionSummaryMessage("S", 7, 1767225600000),
    CustomMessage("x", "from a hook", True, 2),
    UserMessage("b", 1),
    UserMessage("c", 1),
]


@pytest.mark.parametrize(("version", "lines"), [(1, version_1()), (2, version_2())])
def test_older_file_becomes_version_3_with_a_backup(
    tmp_path: Path, version: int, lines: list[dict[str, Any]]
) -> None:
    path = written(tmp_path, lines)
    old = path.read_bytes()
    log = SessionLog.open(path)
    assert log.messages() == WANTED
    assert log.context().model == ("p", "m")
    [warning] = log.warnings
    backup = tmp_path / f"{path.name}.v{version}.bak"
    assert f"version {version}" in warning and backup.name in warning
    assert backup.read_bytes() == old
    new = records(path)
    assert new[0] == {**HEADER, "version": 3}
    ids = [line["id"] for line in new[1:]]
    assert [line["parentId"] for line in new[1:]] == [None, *ids[:-1]]
    assert new[6]["anything"] == [1]
    log.append_message(UserMessage("on", 9))
    log.close()
    again = SessionLog.open(path)
    assert again.messages() == [*WANTED, UserMessage("on", 9)]
    assert again.warnings == []
    again.close()


def test_backup_is_never_listed_as_a_session(tmp_path: Path) -> None:
    store = SessionStore(tmp_path, Path("/w"), flat=True)
    written(tmp_path, version_1())
    store.recent().close()
    assert len(list(tmp_path.iterdir())) == 2
    assert store.find_path("an-id").suffix == ".jsonl"


def test_existing_backup_is_not_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path, version_1())
    first = tmp_path / f"{path.name}.v1.bak"
    first.write_text("something else")
    SessionLog.open(path).close()
    assert first.read_text() == "something else"
    assert (tmp_path / f"{path.name}.v1.2.bak").exists()


def test_new_file_is_locked(tmp_path: Path) -> None:
    path = written(tmp_path, version_1())
    log = SessionLog.open(path)
    with pytest.raises(SessionError, match="open in another tau"):
        SessionLog.open(path)
    log.close()


def test_read_only_open_leaves_an_older_file_alone(tmp_path: Path) -> None:
    path = written(tmp_path, version_1())
    old = path.read_bytes()
    ids = []
    for _ in range(2):
        log = SessionLog.open(path, read_only=True)
        assert log.messages() == WANTED
        with pytest.raises(SessionError, match="read-only"):
            log.append_message(UserMessage("on", 9))
        ids.append([node.id for node in log.nodes()])
        log.close()
    assert ids[0] == ids[1]
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", [1, 2])
def test_older_file_that_cannot_be_rewritten_is_read_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: int
) -> None:
    path = written(tmp_path, version_1())
    old = path.read_bytes()
    real = write_atomic
    calls = 0

    def broken(*args: Any, **kwargs: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise OSError(number, os.strerror(number))
        real(*args, **kwargs)

    monkeypatch.setattr(migration, "write_atomic", broken)
    log = SessionLog.open(path)
    assert log.messages() == WANTED
    assert [os.strerror(number) in warning for warning in log.warnings] == [True]
    with pytest.raises(SessionError, match="version 3"):
        log.append_message(UserMessage("on", 9))
    assert log.messages() == WANTED
    log.close()
    assert path.read_bytes() == old


def test_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, [{**HEADER, "version": 4}])
    old = path.read_bytes()
    with pytest.raises(SessionError, match=r"has version 4, but this tau supports versions up to 3"):
        SessionLog.open(path)
    assert path.read_bytes() == old


@pytest.mark.parametrize("index", [0, 99, -1, None, "3"])
def test_compaction_pointing_nowhere_keeps_nothing(tmp_path: Path, index: object) -> None:
    lines = version_1()
    lines[5]["firstKeptEntryIndex"] = index
    log = SessionLog.open(written(tmp_path, lines))
    assert log.messages() == [WANTED[0], WANTED[3]]
    log.close()


def test_torn_older_file_loses_only_its_last_line(tmp_path: Path) -> None:
    path = written(tmp_path, version_1())
    path.write_bytes(path.read_bytes()[:-20])
    log = SessionLog.open(path)
    assert log.messages() == WANTED[:-1]
    assert len(log.warnings) == 2
    log.close()


def test_old_file_with_a_damaged_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"type":"session","version":2,"id":"a","timestamp":"t","cwd":"/","extra":"\xff"}\n')
    with pytest.raises(SessionError, match="damaged"):
        SessionLog.open(path)
    assert [file.name for file in tmp_path.iterdir()] == ["x.jsonl"]
