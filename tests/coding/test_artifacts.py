"""Full outputs on disk: numbered, private, bounded, and contained."""

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest

from tau.base.errors import ToolError
from tau.coding import artifacts as artifacts_module
from tau.coding.artifacts import FolderArtifacts, TemporaryArtifacts


def write(artifacts: FolderArtifacts, tool: str, data: bytes) -> str:
    sink = artifacts.create(tool)
    try:
        sink.write(data)
    finally:
        sink.close()
    return sink.id


def test_folder_is_created_with_the_first_artifact_and_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "artifacts"
    artifacts = FolderArtifacts(folder)
    assert not folder.exists()
    assert [write(artifacts, "bash", b"one"), write(artifacts, "read", b"two")] == ["0", "1"]
    assert sorted(path.name for path in folder.iterdir()) == ["0.bash.log", "1.read.log"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert artifacts.open("1").read_bytes() == b"two"


def test_numbers_continue_after_a_restart(tmp_path: Path) -> None:
    write(FolderArtifacts(tmp_path), "bash", b"one")
    (tmp_path / "7.bash.log").touch()
    (tmp_path / "notes.md").touch()
    assert write(FolderArtifacts(tmp_path), "bash", b"two") == "8"


def test_two_writers_of_one_folder_do_not_overwrite_each_other(tmp_path: Path) -> None:
    first, second = FolderArtifacts(tmp_path), FolderArtifacts(tmp_path)
    assert write(first, "bash", b"a") == "0"
    assert write(second, "bash", b"b") == "1"
    assert write(first, "bash", b"c") == "2"


@pytest.mark.parametrize("id", ["../x", "9", "", "0.bash", "..", "0/../../x", "*", "٣", "-1"])
def test_files_outside_cannot_be_opened(tmp_path: Path, id: str) -> None:
    (tmp_path / "x").touch()
    artifacts = FolderArtifacts(tmp_path / "a")
    write(artifacts, "bash", b"one")
    with pytest.raises(ToolError, match="no artifact"):
        artifacts.open(id)


def test_tool_name_cannot_escape_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    write(FolderArtifacts(folder), "../../mcp tool", b"x")
    assert [path.name for path in folder.iterdir()] == ["0._mcp_tool.log"]


def test_total_size_is_limited(tmp_path: Path) -> None:
    write(FolderArtifacts(tmp_path), "bash", b"x" * 60)
    again = FolderArtifacts(tmp_path, cap_bytes=100)
    with pytest.raises(OSError, match="limit"):
        write(again, "bash", b"x" * 50)


def test_run_without_a_session_leaves_nothing_behind() -> None:
    artifacts = TemporaryArtifacts()
    with pytest.raises(ToolError):
        artifacts.open("0")
    path = artifacts.open(write(artifacts, "bash", b"one"))
    assert path.read_bytes() == b"one"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    artifacts.close()
    assert not path.parent.exists()
    artifacts.close()


def test_folders_of_killed_runs_are_removed_and_those_in_use_stay(tmp_path: Path) -> None:
    abandoned, fresh, used = (tmp_path / f"{artifacts_module.PREFIX}{name}" for name in "abc")
    for folder in (abandoned, fresh, used, tmp_path / "other"):
        folder.mkdir()
        (folder / "0.bash.log").write_text("output")
        if folder != fresh:
            os.utime(folder, (0, 0))
    (tmp_path / f"{artifacts_module.PREFIX}link").symlink_to(tmp_path / "other")
    lock = os.open(used, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        artifacts_module.remove_abandoned(tmp_path)
    finally:
        os.close(lock)
    assert not abandoned.exists() and fresh.exists() and used.exists() and (tmp_path / "other").exists()


def test_a_run_locks_its_folder_until_it_ends() -> None:
    artifacts = TemporaryArtifacts()
    folder = artifacts.folder()
    other = os.open(folder, os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(other)
    artifacts.close()


def test_artifact_is_truncated_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_on_a_full_disk(fd: int, data: bytes) -> None:
        os.write(fd, data[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(artifacts_module, "write_all", write_on_a_full_disk)
    artifacts = FolderArtifacts(tmp_path / "a")
    with pytest.raises(OSError, match="No space left"):
        write(artifacts, "bash", b"x" * 5000)
    assert artifacts.open("0").stat().st_size == 500
