"""Deleted sessions can be restored."""

from pathlib import Path

import pytest

from tau.base.clock import now_ms
from tau.base.errors import SessionError
from tau.coding.session.storage import trash as trashes
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.trash import Trash
from tests.coding.session_index.session_files import user, write


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = write(tmp_path / "sessions", user("1", "hi"))
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "0.bash.log").write_text("output")
    path.with_name(f"{path.name}.torn").write_text("torn")
    write(tmp_path / "sessions", user("1", "another"))
    return path


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_session_is_deleted_with_its_artifacts_and_restored(tmp_path: Path, session: Path) -> None:
    trash = Trash(tmp_path / "trash")
    before = tree(tmp_path / "sessions")
    put = trash.put(session, "Title")
    assert len(tree(tmp_path / "sessions")) == 1
    (found,) = trash.content()
    assert found == put and (found.id, found.title) == (session.stem.rpartition("_")[2], "Title")
    assert found.days_left == trashes.KEPT_DAYS
    assert (tmp_path / "trash").stat().st_mode & 0o77 == 0
    assert trash.restore(found) == session
    assert tree(tmp_path / "sessions") == before
    assert trash.content() == [] and not list((tmp_path / "trash").iterdir())


def test_session_open_in_another_tau_is_not_deleted(tmp_path: Path, session: Path) -> None:
    log = SessionLog.open(session)
    trash = Trash(tmp_path / "trash")
    before = tree(tmp_path / "sessions")
    with pytest.raises(SessionLocked, match="open in another tau"):
        trash.put(session)
    assert tree(tmp_path / "sessions") == before and trash.content() == []
    log.close()


def test_sessions_of_one_name_are_kept_side_by_side(tmp_path: Path, session: Path) -> None:
    trash = Trash(tmp_path / "trash")
    for text in ("one", "two", "three"):
        session.write_text(text)
        trash.put(session)
    stem = session.stem
    kept = {path.name: (path / session.name).read_text() for path in (tmp_path / "trash").iterdir()}
    assert kept == {stem: "one", f"{stem}.2": "two", f"{stem}.3": "three"}


def test_restoring_overwrites_nothing(tmp_path: Path, session: Path) -> None:
    trash = Trash(tmp_path / "trash")
    put = trash.put(session)
    session.write_text("new")
    with pytest.raises(SessionError, match="already exists"):
        trash.restore(put)
    assert session.read_text() == "new" and len(trash.content()) == 1
    again = trash.put(session)
    assert [one.folder for one in trash.content()] == [again.folder, put.folder]


def test_expired_sessions_are_removed_with_the_next_deletion(
    tmp_path: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = now_ms()
    month_ms = 30 * 24 * 3600 * 1000
    trash = Trash(tmp_path / "trash")
    for later_ms, count in ((0, 1), (month_ms - 1, 2), (month_ms, 2)):
        monkeypatch.setattr(trashes, "now_ms", lambda later_ms=later_ms: now + later_ms)
        put = trash.put(session)
        assert len(trash.content()) == count and put in trash.content()
        session.write_text("another")


def test_trash_works_across_file_systems(
    tmp_path: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, target: Path) -> Path:
        raise OSError(trashes.EXDEV, "Invalid cross-device link")

    before = tree(tmp_path / "sessions")
    monkeypatch.setattr(Path, "rename", refused)
    trash = Trash(tmp_path / "trash")
    put = trash.put(session)
    assert not session.exists()
    trash.restore(put)
    assert tree(tmp_path / "sessions") == before


def test_failed_move_is_rolled_back(tmp_path: Path, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def half(self: Path, target: Path) -> Path:
        if self == session.with_suffix(""):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    before = tree(tmp_path / "sessions")
    monkeypatch.setattr(Path, "rename", half)
    trash = Trash(tmp_path / "trash")
    with pytest.raises(SessionError, match="No space left"):
        trash.put(session)
    assert tree(tmp_path / "sessions") == before and not list((tmp_path / "trash").iterdir())


def test_move_that_fails_both_ways_reports_the_first_error_and_keeps_every_byte(
    tmp_path: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def broken(self: Path, target: Path) -> Path:
        if self == session.with_suffix(""):
            raise OSError(28, "No space left on device")
        if self.is_relative_to(tmp_path / "trash"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    before = sorted(tree(tmp_path / "sessions").values())
    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(SessionError, match="No space left"):
        Trash(tmp_path / "trash").put(session)
    assert sorted(tree(tmp_path).values()) == before


def test_missing_session_cannot_be_deleted(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be deleted"):
        Trash(tmp_path / "trash").put(tmp_path / "none.jsonl")
