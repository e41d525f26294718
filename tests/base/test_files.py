"""Atomic writes and locks, on real files, with every system call failing in turn, and under kill -9."""

import errno
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.files import mode_of, try_lock, write_atomic
from tests.base.failing import FailAt

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
def test_what_is_written_is_what_is_read(first: bytes, second: bytes) -> None:
    path = Path(os.environ["HOME"]) / "file"
    write_atomic(path, first, sync=False)
    write_atomic(path, second, sync=False)
    assert path.read_bytes() == second
    assert "file" in names_in(path.parent)
    assert not [name for name in names_in(path.parent) if name.endswith(".tmp")]


def test_new_file_honours_the_umask(tmp_path: Path) -> None:
    with umask(0o027):
        write_atomic(tmp_path / "a", b"x")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_new_program_can_be_run_by_those_who_may_read_it(tmp_path: Path) -> None:
    for closed, mode in ((0o022, 0o755), (0o077, 0o700), (0o027, 0o750)):
        path = tmp_path / f"{closed}.sh"
        with umask(closed):
            write_atomic(path, b"#!/bin/sh\n", executable=True)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_what_killed_writers_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    left = [tmp_path / f".tau-{number}.tmp" for number in range(4)]
    for path in left:
        path.write_bytes(b"half")
    write_atomic(tmp_path / "a.txt", b"new")
    assert names_in(tmp_path) == ["a.txt"]


def test_what_a_living_writer_works_on_is_left_to_it(tmp_path: Path) -> None:
    theirs = tmp_path / ".tau-0.tmp"
    with theirs.open("wb") as file:
        assert try_lock(file.fileno())
        write_atomic(tmp_path / "a.txt", b"new")
        assert names_in(tmp_path) == [".tau-0.tmp", "a.txt"]


def test_sixteen_writers_at_once_leave_room_for_one_more(tmp_path: Path) -> None:
    with ExitStack() as stack:
        for number in range(16):
            file = stack.enter_context((tmp_path / f".tau-{number}.tmp").open("wb"))
            assert try_lock(file.fileno())
        write_atomic(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert len(names_in(tmp_path)) == 17


def test_what_is_not_there_has_no_mode(tmp_path: Path) -> None:
    assert mode_of(tmp_path / "nothing") == 0
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
def test_owner_that_cannot_be_kept_does_not_fail_the_write_nor_widen_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(fd: int, uid: int, gid: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    path = tmp_path / "file"
    path.write_bytes(OLD)
    os.chown(path, 4321, 8765)
    path.chmod(0o4764)
    monkeypatch.setattr(os, "fchown", refused)
    write_atomic(path, NEW)
    assert path.read_bytes() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o744


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


def test_writable_file_in_a_folder_that_is_not_is_written_in_place(
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
from tests.base.failing import FailAt

from tau.base.files import write_atomic
os.setgid(65534); os.setuid(65534)
try:
    write_atomic(pathlib.Path(sys.argv[1]), b"changed")
except PermissionError as error:
    print(error.strerror)
"""


@as_root
def test_read_only_file_is_not_replaced_although_its_folder_would_allow_it() -> None:
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


def test_name_of_the_greatest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_atomic(path, OLD)
    os.link(path, tmp_path / "other")
    write_atomic(path, NEW)
    assert (tmp_path / "other").read_bytes() == NEW


def test_importing_files_and_logs_of_lines_stays_cheap() -> None:
    heavy = ["tempfile", "shutil", "random", "secrets", "logging", "asyncio", "subprocess"]
    code = f"import sys, tau.base.files, tau.base.jsonl; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
