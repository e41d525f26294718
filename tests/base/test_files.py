"""Atomic writes and locks, on real files, with every system call failing in turn, and under kill -9."""

import errno
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.files import FileChangedError, anonymous_file, mode_of, try_lock, write_atomic
from tests.base.failing_calls import FailAt

REWRITER = Path(__file__).with_name("rewriter.py")
OLD = b"old content\n" * 50
NEW = b"new content, longer than the old one\n" * 50
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files to other users")
as_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_write_and_read_round_trip(first: bytes, second: bytes) -> None:
    path = Path(os.environ["HOME"]) / "file"
    write_atomic(path, first, sync=False)
    write_atomic(path, second, sync=False)
    assert path.read_bytes() == second
    assert "file" in names_in(path.parent)
    assert not [name for name in names_in(path.parent) if name.endswith(".tmp")]


def test_new_file_honors_the_umask(tmp_path: Path) -> None:
    with umask(0o027):
        write_atomic(tmp_path / "a", b"x")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_new_program_is_executable_by_those_who_may_read_it(tmp_path: Path) -> None:
    for closed, mode in ((0o022, 0o755), (0o077, 0o700), (0o027, 0o750)):
        path = tmp_path / f"{closed}.sh"
        with umask(closed):
            write_atomic(path, b"#!/bin/sh\n", executable=True)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_leftovers_of_killed_writers_are_removed_by_the_next_one(tmp_path: Path) -> None:
    left = [tmp_path / f".tau-{number}.tmp" for number in range(4)]
    for path in left:
        path.write_bytes(b"half")
    write_atomic(tmp_path / "a.txt", b"new")
    assert names_in(tmp_path) == ["a.txt"]


def test_temporary_file_of_a_live_writer_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / ".tau-0.tmp"
    with theirs.open("wb") as file:
        assert try_lock(file.fileno())
        write_atomic(tmp_path / "a.txt", b"new")
        assert names_in(tmp_path) == [".tau-0.tmp", "a.txt"]


def test_sixteen_concurrent_writers_leave_room_for_one_more(tmp_path: Path) -> None:
    with ExitStack() as stack:
        for number in range(16):
            file = stack.enter_context((tmp_path / f".tau-{number}.tmp").open("wb"))
            assert try_lock(file.fileno())
        write_atomic(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert len(names_in(tmp_path)) == 17


def test_new_content_does_not_inherit_the_right_to_run_as_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(b"old")
    path.chmod(0o6755)
    write_atomic(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_missing_file_has_no_mode(tmp_path: Path) -> None:
    assert mode_of(tmp_path / "nothing") == 0
    assert mode_of(tmp_path / "zero\0byte") == 0
    assert stat.S_ISDIR(mode_of(tmp_path))


def test_given_mode_wins_for_new_and_old_files(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    with umask(0o000):
        write_atomic(path, b"x", mode=0o600)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        write_atomic(path, b"y", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o666, 0o700])
def test_mode_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "script"
    path.write_bytes(OLD)
    path.chmod(mode)
    write_atomic(path, NEW)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == NEW


def test_new_content_is_never_readable_by_more_people_than_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(OLD)
    path.chmod(0o600)
    seen: list[int] = []
    real = os.write

    def note(fd: int, data: Any) -> int:
        seen.append(stat.S_IMODE(os.fstat(fd).st_mode))
        return real(fd, data)

    monkeypatch.setattr(os, "write", note)
    with umask(0):
        write_atomic(path, NEW)
    assert seen == [0o600]


@as_root
def test_owner_and_group_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    path.chmod(0o640)
    os.chown(path, 4321, 8765)
    write_atomic(path, NEW)
    info = path.stat()
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (4321, 8765, 0o640)


@as_root
def test_file_of_another_user_became_ours_by_an_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root may give files away: others write into the file instead of replacing it."""
    monkeypatch.chdir(tmp_path)  # others may not search the folders above
    path = Path("file")
    path.write_bytes(OLD)
    os.chown(path, 4321, 8765)
    path.chmod(0o666)
    tmp_path.chmod(0o777)
    inode = path.stat().st_ino
    os.setegid(1234)
    os.seteuid(1234)
    try:
        write_atomic(path, NEW)
    finally:
        os.seteuid(0)
        os.setegid(0)
    now = path.stat()
    assert path.read_bytes() == NEW
    assert (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == (4321, 8765, 0o666)
    assert now.st_ino == inode
    assert names_in(tmp_path) == ["file"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system's Python has no extended attributes")
def test_extended_attributes_of_the_user_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    try:
        os.setxattr(path, "user.origin", b"here")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    write_atomic(path, NEW)
    assert os.getxattr(path, "user.origin") == b"here"


def test_symlink_chain_is_kept_and_its_target_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    target = tmp_path / "real" / "file"
    target.write_bytes(OLD)
    (tmp_path / "links" / "one").symlink_to("../real/file")
    (tmp_path / "two").symlink_to(tmp_path / "links" / "one")
    write_atomic(tmp_path / "two", NEW)
    assert (tmp_path / "two").is_symlink()
    assert (tmp_path / "links" / "one").is_symlink()
    assert target.read_bytes() == NEW
    assert names_in(tmp_path / "real") == ["file"]


def test_dangling_symlink_gets_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("missing")
    write_atomic(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "missing").read_bytes() == NEW


def test_symlink_loop_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as caught:
        write_atomic(tmp_path / "a", NEW)
    assert caught.value.errno == errno.ELOOP


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has leases")
def test_line_that_another_program_appended_at_the_last_moment_to_a_linked_file_was_lost(
    tmp_path: Path,
) -> None:
    path, done = tmp_path / "a.txt", tmp_path / "done"
    path.write_bytes(b"one\ntwo\n")
    (tmp_path / "b.txt").hardlink_to(path)
    others: list[subprocess.Popen[bytes]] = []

    def unchanged(info: os.stat_result | None) -> bool:
        """The check right before the write: from now on, others must wait."""
        others.append(subprocess.Popen(["sh", "-c", "echo other >> a.txt; : > done"], cwd=tmp_path))
        end = time.monotonic() + 0.2
        while not done.exists() and time.monotonic() < end:
            time.sleep(0.01)
        return True

    write_atomic(path, b"ONE\n", unchanged=unchanged)
    assert [other.wait() for other in others] == [0]
    assert path.read_bytes() == b"ONE\nother\n"


def test_linked_file_that_another_program_is_writing_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    (tmp_path / "b.txt").hardlink_to(path)
    with path.open("ab") as file, pytest.raises(FileChangedError):
        write_atomic(path, b"ONE\n", unchanged=lambda info: True)
    assert file.closed and path.read_bytes() == b"one\n"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_linked_file_that_another_program_reads_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    (tmp_path / "b.txt").hardlink_to(path)
    with path.open("rb"):
        write_atomic(path, b"ONE\n", unchanged=lambda info: True)
    assert path.read_bytes() == b"ONE\n"


def test_hard_links_stay_one_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(NEW)
    first.chmod(0o640)
    os.link(first, second)
    write_atomic(first, OLD)
    assert second.read_bytes() == OLD
    assert first.samefile(second)
    assert stat.S_IMODE(second.stat().st_mode) == 0o640
    write_atomic(first, NEW, mode=0o600)
    assert second.read_bytes() == NEW
    assert stat.S_IMODE(second.stat().st_mode) == 0o600
    assert names_in(tmp_path) == ["first", "second"]


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="folder"):
        write_atomic(tmp_path, NEW)


def test_devices_pipes_and_sockets_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tmp_path)
        server.bind("socket")
        for path in (pipe, tmp_path / "socket", Path("/dev/null")):
            with pytest.raises(OSError, match="not a regular file"):
                write_atomic(path, NEW)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_atomic(tmp_path / "none" / "file", NEW)
    assert caught.value.filename == str(tmp_path / "none" / "file")


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EXDEV, errno.EPERM])
def test_file_that_cannot_be_renamed_over_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "mounted"
    path.write_bytes(OLD)
    inode = path.stat().st_ino
    monkeypatch.setattr(os, "replace", FailAt(os.replace, 1, number, True))
    write_atomic(path, NEW)
    assert (path.read_bytes(), path.stat().st_ino) == (NEW, inode)
    assert names_in(tmp_path) == ["mounted"]


def test_writable_file_in_an_unwritable_folder_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, spare = tmp_path / "folder", tmp_path / "spare"
    folder.mkdir()
    spare.mkdir()
    path = folder / "file"
    path.write_bytes(OLD)
    made: list[Path] = []
    real = os.open

    def guarded(name: Any, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            made.append(Path(name))
            if Path(name).parent == folder:
                raise PermissionError(errno.EACCES, "Permission denied", str(name))
        return real(name, flags, mode)

    monkeypatch.setenv("TMPDIR", str(spare))
    monkeypatch.setattr(os, "open", guarded)
    write_atomic(path, NEW)
    assert path.read_bytes() == NEW
    assert made[-1].parent == spare
    assert names_in(folder) == ["file"]
    assert names_in(spare) == []
    with pytest.raises(PermissionError) as caught:
        write_atomic(folder / "fresh", NEW)
    assert caught.value.filename == str(folder / "fresh")


READ_ONLY = """
import os, pathlib, sys
from tests.base.failing_calls import FailAt

from tau.base.files import write_atomic
os.setgid(65534); os.setuid(65534)
try:
    write_atomic(pathlib.Path(sys.argv[1]), b"changed")
except PermissionError as error:
    print(error.strerror)
"""


@as_root
def test_read_only_file_is_not_replaced_even_if_its_folder_is_writable() -> None:
    # pytest's own folders are closed to other users
    folder = Path("/tmp") / f"tau-test-{os.urandom(4).hex()}"
    folder.mkdir()
    try:
        os.chown(folder, 65534, 65534)
        path = folder / "file"
        path.write_bytes(OLD)
        os.chown(path, 65534, 65534)
        path.chmod(0o444)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout == "The file is read-only\n"
        assert path.read_bytes() == OLD
        assert names_in(folder) == ["file"]
        path.chmod(0o644)
        subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], check=True)
        assert path.read_bytes() == b"changed"
    finally:
        for entry in folder.iterdir():
            entry.unlink()
        folder.rmdir()


@as_user
def test_read_only_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_atomic(path, NEW)
    assert path.read_bytes() == OLD


def test_name_of_maximum_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_atomic(path, OLD)
    os.link(path, tmp_path / "other")
    write_atomic(path, NEW)
    assert (tmp_path / "other").read_bytes() == NEW


def test_importing_files_and_jsonl_stays_cheap() -> None:
    heavy = ["tempfile", "shutil", "random", "secrets", "logging", "asyncio", "subprocess"]
    code = f"import sys, tau.base.files, tau.base.jsonl; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("has_memfd", (True, False))
def test_anonymous_file_is_read_from_its_start_and_leaves_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_memfd: bool
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    if not has_memfd:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    fd = anonymous_file(b"content")
    try:
        assert os.read(fd, 100) == b"content"
        assert not list(tmp_path.iterdir())
    finally:
        os.close(fd)
