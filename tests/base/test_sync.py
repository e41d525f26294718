"""What reaches the disk, and in which order: content before its name, a copy before the original changes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tau.base.files import write_atomic
from tau.base.jsonl import JsonlFile


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that matter after a power cut, with the kind of their target."""
    reported: list[str] = []

    def watch(owner: Any, name: str, describe: Callable[..., str]) -> None:
        real = getattr(owner, name)

        def call(*args: Any) -> Any:
            reported.append(describe(*args))
            return real(*args)

        monkeypatch.setattr(owner, name, call)

    def named(fd: int) -> str:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        return "folder" if path.is_dir() else "copy" if "backup" in path.name else path.suffix or path.name

    watch(os, "fsync", lambda fd: f"sync {named(fd)}")
    watch(os, "fdatasync", lambda fd: f"sync {named(fd)}")
    watch(os, "ftruncate", lambda fd, size: f"write {named(fd)}")
    watch(Path, "replace", lambda path, target: "rename")
    watch(Path, "unlink", lambda path, *_: f"remove {'copy' if 'backup' in path.name else path.suffix}")
    return reported


pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to list open files")


def test_new_content_is_synced_before_the_rename(tmp_path: Path, calls: list[str]) -> None:
    write_atomic(tmp_path / "a.txt", b"new")
    assert calls == ["sync .tmp", "rename", "sync folder"]


def test_sync_is_optional(tmp_path: Path, calls: list[str]) -> None:
    write_atomic(tmp_path / "a.txt", b"new", sync=False)
    assert calls == ["rename"]


def test_hard_linked_file_is_overwritten_only_after_its_copy_is_synced(
    tmp_path: Path, calls: list[str]
) -> None:
    (tmp_path / "a.txt").write_bytes(b"old")
    (tmp_path / "b.txt").hardlink_to(tmp_path / "a.txt")
    write_atomic(tmp_path / "a.txt", b"new")
    assert calls == ["sync copy", "sync folder", "write .txt", "sync .txt", "remove copy"]
    calls.clear()
    write_atomic(tmp_path / "a.txt", b"newer", sync=False)
    assert calls == ["sync copy", "sync folder", "write .txt", "remove copy"]


def test_first_line_of_a_log_syncs_its_folder_too(tmp_path: Path, calls: list[str]) -> None:
    with JsonlFile(tmp_path / "log.jsonl") as log:
        log.append(b"{}")
        log.append(b"{}")
        log.append(b"{}", sync=False)
    assert calls == ["sync .jsonl", "sync folder", "sync .jsonl"]


def test_torn_line_is_synced_aside_before_it_is_cut_off(tmp_path: Path, calls: list[str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{}\n{"half')
    with JsonlFile(path) as log:
        log.append(b"{}", sync=False)
    assert calls == ["sync .torn", "write .jsonl", "sync .jsonl"]
