"""Locks between processes: who waits, for how long, and what is locked."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tau.base.files import try_lock
from tau.coding.edits import file_locks


class Writer:
    """Another process that replaces the file again and again; there is never an unlocked one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = -1
        self.replace()

    def replace(self) -> None:
        new = self.path.with_name("new")
        new.write_text("text\n")
        fd = os.open(new, os.O_RDONLY)
        assert try_lock(fd)
        new.replace(self.path)
        self.close()
        self.fd = fd

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def lock_while(writer: Writer, steps: list[float], monkeypatch: pytest.MonkeyPatch) -> int:
    """Wait for a writer who replaces the file after each of these seconds, or only holds it if negative.

    Returns how many steps were left when the wait was over.
    """
    clock_s = 0.0
    left = list(steps)

    async def sleep(_: float) -> None:
        nonlocal clock_s
        if not left:
            writer.close()
            return
        step = left.pop(0)
        clock_s += abs(step)
        if step >= 0:
            writer.replace()

    async def main() -> int:
        async with file_locks.lock_files([writer.path]):
            return len(left)

    loop = SimpleNamespace(time=lambda: clock_s)
    patched = SimpleNamespace(sleep=sleep, get_running_loop=lambda: loop, Lock=asyncio.Lock)
    monkeypatch.setattr(file_locks, "asyncio", patched)
    return asyncio.run(main())


def test_edit_was_refused_because_many_others_came_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as one after the other is served, it is only a question of time."""
    writer = Writer(tmp_path / "a.txt")
    assert lock_while(writer, [6.0] * 20, monkeypatch) == 0
    assert writer.fd == -1


def test_someone_who_does_not_let_go_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(tmp_path / "a.txt")
    assert lock_while(writer, [6.0, -6.0, -6.0, -6.0, -6.0], monkeypatch) == 2
    assert writer.fd >= 0
    writer.close()


def test_two_links_of_one_folder_do_not_wait_for_each_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
        (tmp_path / f"{name}2").hardlink_to(tmp_path / name)

    async def main() -> None:
        async with (
            asyncio.timeout(file_locks.WAIT_S / 2),
            file_locks.lock_files([tmp_path / "a", tmp_path / "b"]),
        ):
            fd = os.open(tmp_path, os.O_RDONLY)
            assert not try_lock(fd)  # the folder: nobody may have a file open that is written in place
            os.close(fd)

    asyncio.run(main())
