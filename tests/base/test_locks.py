"""Locks between processes and threads."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tau.base.files import is_locked, locked, try_lock
from tests.base.failing_calls import FailAt

REWRITER = Path(__file__).with_name("rewriter.py")


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def count_together(path: Path, processes: int, times: int) -> None:
    path.write_bytes(b"0")
    children = [
        subprocess.Popen([sys.executable, str(REWRITER), "count", str(path), str(times)])
        for _ in range(processes)
    ]
    assert [child.wait() for child in children] == [0] * processes
    assert path.read_bytes() == str(processes * times).encode()


def test_twenty_processes_under_the_lock_lose_nothing(tmp_path: Path) -> None:
    count_together(tmp_path / "counter", 20, 10)
    assert names_in(tmp_path) == ["counter", "counter.lock"]
    assert stat.S_IMODE((tmp_path / "counter.lock").stat().st_mode) == 0o600


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_twenty_processes_with_two_hundred_writes_each_lose_nothing(tmp_path: Path) -> None:
    count_together(tmp_path / "counter", 20, 200)


def test_held_lock_times_out_and_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    with (
        locked(path),
        pytest.raises(TimeoutError, match=r"settings\.json\.lock"),
        locked(path, timeout_s=0.02),
    ):
        pytest.fail("two holders of one lock")
    with locked(path, timeout_s=0):
        assert (tmp_path / "settings.json.lock").exists()


def test_lock_passes_to_a_waiting_thread(tmp_path: Path) -> None:
    path = tmp_path / "file"
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with locked(path):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(path):
        thread.start()
        waiting.wait()
        time.sleep(0.01)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_lock_is_released_when_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "file"):
        raise KeyError
    with locked(tmp_path / "file", timeout_s=0):
        pass


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "file"
    hold = f"import pathlib, time, tau.base.files as f\nwith f.locked(pathlib.Path({str(path)!r})):\n"
    child = subprocess.Popen(
        [sys.executable, "-c", hold + "    print('held', flush=True); time.sleep(99)"],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(TimeoutError), locked(path, timeout_s=0):
            pytest.fail("two holders of one lock")
        child.kill()
        child.wait()
    with locked(path):
        assert path.with_name("file.lock").exists()


def test_lock_file_that_is_a_symlink_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "file"):
        pytest.fail("followed a planted link")
    assert not (tmp_path / "elsewhere").exists()


def test_try_lock_does_not_wait(tmp_path: Path) -> None:
    first = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    second = os.open(tmp_path / "file", os.O_RDWR)
    try:
        assert try_lock(first)
        assert not try_lock(second)
    finally:
        os.close(first)
        os.close(second)


def test_asking_whether_a_file_is_locked_never_makes_it_look_open_elsewhere(tmp_path: Path) -> None:
    owner = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    asker = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        fcntl.flock(asker, fcntl.LOCK_SH | fcntl.LOCK_NB)  # in the middle of `is_locked`
        thread = threading.Timer(0.05, lambda: fcntl.flock(asker, fcntl.LOCK_UN))
        thread.start()
        assert try_lock(owner)
        thread.join()
        assert is_locked(asker)
        fcntl.flock(owner, fcntl.LOCK_UN)
        assert not is_locked(asker)
    finally:
        os.close(owner)
        os.close(asker)


def test_file_system_without_locks_counts_as_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", FailAt(lambda *_: None, 1, errno.ENOLCK, True))
    with locked(tmp_path / "file", timeout_s=0):
        assert (tmp_path / "file.lock").exists()
