"""Atomic writes with every system call failing in turn, and under kill -9."""

import errno
import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tau.base.files import remove, write_atomic
from tests.base.failing_calls import FailAt

REWRITER = Path(__file__).with_name("rewriter.py")
OLD = b"old content\n" * 50
NEW = b"new content, longer than the old one\n" * 50


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def short_write(fd: int, data: Any, real: Callable[[int, Any], int] = os.write) -> int:
    """A system that writes 700 bytes at a time, so that there are several calls to fail."""
    return real(fd, bytes(data)[:700])


@pytest.mark.parametrize("onwards", [False, True])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", ["write", "fsync", "replace", "fchmod", "open"])
def test_failure_of_any_call_leaves_the_old_content_and_no_temporary_file(
    tmp_path: Path, name: str, number: int, onwards: bool
) -> None:
    failures = 0
    for k in range(1, 12):
        path = tmp_path / f"{k}" / "file"
        path.parent.mkdir()
        path.write_bytes(OLD)
        path.chmod(0o640)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", short_write)
            failing = FailAt(getattr(os, name), k, number, onwards)
            patch.setattr(os, name, failing)
            try:
                write_atomic(path, NEW)
                failed = False
            except OSError as error:
                failed = True
                assert error.errno == number
                assert error.filename == str(path)
        failures += failed
        assert path.read_bytes() == (OLD if failed else NEW)
        assert names_in(path.parent) == ["file"]
        if failing.calls < k:
            break
    else:
        pytest.fail("more calls than expected")
    assert failures


@pytest.mark.parametrize("name", ["write", "fsync", "ftruncate", "lseek", "open"])
def test_failure_while_rewriting_a_linked_file_restores_the_old_content(tmp_path: Path, name: str) -> None:
    failures = 0
    for k in range(1, 20):
        path = tmp_path / f"{k}" / "file"
        path.parent.mkdir()
        path.write_bytes(OLD)
        os.link(path, path.with_name("other"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", short_write)
            failing = FailAt(getattr(os, name), k, errno.EIO, False)
            patch.setattr(os, name, failing)
            try:
                write_atomic(path, NEW)
                failed = False
            except OSError:
                failed = True
        failures += failed
        assert path.with_name("other").read_bytes() == (OLD if failed else NEW)
        assert names_in(path.parent) == ["file", "other"]
        if failing.calls < k:
            break
    assert failures


def test_linked_file_on_a_dying_disk_names_the_copy_of_its_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    os.link(path, tmp_path / "other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", FailAt(os.write, 2, errno.EIO, True))
        with pytest.raises(OSError, match="its old content is in") as caught:
            write_atomic(path, NEW)
    backup = next(tmp_path.glob("file.tau-backup-*"))
    assert str(backup) in str(caught.value)
    assert backup.read_bytes() == OLD
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_interruption_by_the_user_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(fd: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "file"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, NEW)
    assert path.read_bytes() == OLD
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_file_system_without_fsync_is_tolerated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "fsync", FailAt(os.fsync, 1, number, True))
    write_atomic(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_bytes() == NEW


def version_in(data: bytes) -> int:
    """The number of a content made by the rewriter; fails unless it is one complete version."""
    number = int(data[:8])
    assert data == data[:9] * (len(data) // 9)
    assert len(data) == 20_000 // 9 * 9
    return number


def kill_while_rewriting(path: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    highest = 0
    for _ in range(kills):
        before = path.stat().st_ino if path.exists() else None
        child = subprocess.Popen(
            [sys.executable, str(REWRITER), "rewrite", str(path)], stderr=subprocess.PIPE
        )
        try:
            while not path.exists() or path.stat().st_ino == before:
                assert child.poll() is None
                time.sleep(0.001)
            for _ in range(20):  # readers beside the writer see complete versions too
                version_in(path.read_bytes())
            time.sleep(chance.uniform(0, 0.008))
        finally:
            child.kill()
            _, errors = child.communicate()
        assert errors == b""
        highest = max(highest, version_in(path.read_bytes()))
    assert highest > 1


def test_kill_9_at_random_moments_always_leaves_one_complete_version(tmp_path: Path) -> None:
    kill_while_rewriting(tmp_path / "file", 30, seed=1)
    left = [name for name in names_in(tmp_path) if name != "file"]
    assert all(name.startswith(".tau-") and name.endswith(".tmp") for name in left)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_kill_9_five_hundred_times(tmp_path: Path) -> None:
    kill_while_rewriting(tmp_path / "file", 500, seed=2)


def test_failed_removal_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("kept")

    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(source))

    monkeypatch.setattr(Path, "rename", refuse)
    descriptors = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(PermissionError):
        remove(path, unchanged=lambda info: True)
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert len(list(Path("/dev/fd").iterdir())) == descriptors
