"""Finding sessions, including those open in another window."""

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from tau.ai.wire import UserMessage
from tau.base.errors import SessionError, UsageError
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.session_store import ELSEWHERE, SessionStore


def log_with(store: SessionStore, text: str) -> SessionLog:
    log = store.new()
    log.append_message(UserMessage(text, 1))
    return log


def test_session_open_elsewhere_can_be_read_or_forked(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "s", tmp_path, blobs=tmp_path / "blobs")
    log = log_with(store, "hi")
    with pytest.raises(SessionLocked, match="read-only, or fork"):
        store.recent()
    assert store.recent_path() == store.find_path(log.header.id[:30]) == log.path
    seen = store.open(store.recent_path(), read_only=True)
    assert seen.messages() == log.messages()
    with pytest.raises(SessionError, match="read-only"):
        seen.append_message(UserMessage("no", 2))
    copy = store.fork(store.recent_path())
    copy.append_message(UserMessage("mine", 3))
    assert copy.path is not None and copy.path.parent == store.folder
    assert copy.header.parent_session == str(log.path)
    assert copy.blobs == log.blobs == tmp_path / "blobs"
    for one in (seen, copy, log):
        one.close()


def test_missing_file_is_reported_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no session file"):
        SessionLog.open(tmp_path / "none.jsonl")
    with pytest.raises(SessionError, match="cannot be opened"):
        SessionLog.open(tmp_path / "none.jsonl", read_only=True)
    with pytest.raises(UsageError, match="no session file"):
        SessionStore(tmp_path, tmp_path).find_path(str(tmp_path / "none.jsonl"))
    assert list(tmp_path.iterdir()) == []


def test_folders_with_colliding_names_do_not_resume_each_others_sessions(tmp_path: Path) -> None:
    one, other = (SessionStore(tmp_path, Path(cwd)) for cwd in ("/a/b", "/a-b"))
    assert one.folder == other.folder
    log_with(one, "mine").close()
    with pytest.raises(UsageError):
        other.recent()
    found = one.recent()
    assert found.messages() == [UserMessage("mine", 1)]
    found.close()


def test_session_outside_the_store_has_its_files_in_the_store(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "s", tmp_path)
    log = log_with(store, "hi")
    assert log.path is not None
    assert store.artifacts_folder(log.path) == log.path.with_suffix("")
    log.close()
    link, outside = tmp_path / "link.jsonl", tmp_path.resolve() / "repo" / "s.jsonl"
    outside.parent.mkdir()
    outside.write_bytes(log.path.read_bytes())
    link.symlink_to(outside)
    with closing(store.open(link)) as opened:
        name = hashlib.sha256(str(outside).encode()).hexdigest()[:16]
        assert opened.artifacts == tmp_path / "s" / ELSEWHERE / name


def test_side_files_are_not_sessions(tmp_path: Path) -> None:
    store = SessionStore(tmp_path, tmp_path, flat=True)
    log = log_with(store, "hi")
    log.close()
    assert log.path is not None
    for ending in (".torn", ".v1.bak", ".part"):
        (tmp_path / (log.path.name + ending)).write_bytes(log.path.read_bytes())
    assert store.find_path(log.header.id) == log.path
    assert store.recent_path() == log.path
