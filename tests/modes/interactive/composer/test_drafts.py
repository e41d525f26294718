"""Drafts survive a crash, and windows do not mix."""

import asyncio
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tau.modes.interactive.composer import drafts as drafts_module
from tau.modes.interactive.composer.drafts import KEPT_S, DraftStore, StoredAttachment


def ended() -> int:
    """The pid of a dead process."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    return child.pid


def drafts(folder: Path, **who: Any) -> DraftStore:
    return DraftStore(folder, Path("/project"), **{"terminal": "tty1-7", "leader": os.getppid(), **who})


def draft(text: str) -> dict[str, Any]:
    return {"parts": [text], "cursor": len(text)}


def write(kept: DraftStore, text: str, pictures: list[StoredAttachment] | None = None) -> None:
    data = kept.encode(draft(text), pictures or [])
    assert data is not None
    kept.save_now(data)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_draft_of_a_dead_tau_is_found_at_the_same_terminal(tmp_path: Path) -> None:
    write(
        drafts(tmp_path / "d", pid=ended()), "half a thou", [StoredAttachment("[Image #1: a.png]", "/a.png")]
    )
    found = drafts(tmp_path / "d").take_over()
    assert found is not None
    assert found.draft == draft("half a thou")
    assert found.pictures == [StoredAttachment("[Image #1: a.png]", "/a.png")]
    assert abs(found.time_ms / 1000 - time.time()) < 60


def test_there_is_one_private_file(tmp_path: Path) -> None:
    kept = drafts(tmp_path / "d")
    write(kept, "one")
    write(kept, "one two")
    [name] = files(tmp_path / "d")
    assert stat.S_IMODE((tmp_path / "d" / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o700
    kept.remove()
    assert files(tmp_path / "d") == []


def test_other_folders_and_live_terminals_keep_their_drafts(tmp_path: Path) -> None:
    dead = ended()
    write(drafts(tmp_path, pid=dead), "mine")
    assert DraftStore(tmp_path, Path("/other"), terminal="tty1-7", leader=1).take_over() is None
    assert drafts(tmp_path, terminal="tty2-9").take_over() is None
    assert drafts(tmp_path).take_over() is not None


def test_draft_of_a_closed_window_returns_in_the_next_one(tmp_path: Path) -> None:
    write(drafts(tmp_path, pid=ended(), leader=ended()), "typed before the window was closed")
    other = drafts(tmp_path, terminal="tty5-1")
    found = other.take_over()
    assert found is not None
    assert found.draft == draft("typed before the window was closed")
    assert len(files(tmp_path)) == 1
    other.remove()
    assert files(tmp_path) == []


def test_two_instances_in_one_terminal_do_not_mix(tmp_path: Path) -> None:
    first = drafts(tmp_path, pid=os.getppid())
    write(first, "of the first")
    second = drafts(tmp_path)
    assert second.take_over() is None
    write(second, "of the second")
    assert len(files(tmp_path)) == 2
    second.remove()
    assert len(files(tmp_path)) == 1
    kept = drafts(tmp_path, pid=os.getppid()).take_over()
    assert kept is not None
    assert kept.draft == draft("of the first")


def test_file_taken_by_another_tau_is_not_overwritten(tmp_path: Path) -> None:
    early, late = drafts(tmp_path), drafts(tmp_path, pid=os.getppid())
    write(early, "first")
    early.remove()
    write(late, "of the other")
    write(early, "again")
    assert len(files(tmp_path)) == 2
    early.remove()
    late.remove()
    assert files(tmp_path) == []


def test_damaged_file_counts_as_missing(tmp_path: Path) -> None:
    write(drafts(tmp_path, pid=ended()), "x")
    [name] = files(tmp_path)
    (tmp_path / name).write_bytes(b'{"cwd": "/pro')
    kept = drafts(tmp_path)
    assert kept.take_over() is None
    write(kept, "new")
    assert files(tmp_path) == [name]


def test_overlong_text_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts_module, "MAX_BYTES", 1000)
    assert drafts(tmp_path).encode(draft("x" * 2000)) is None
    assert drafts(tmp_path).encode(draft("x" * 200)) is not None


def test_unclaimed_drafts_expire_after_a_month(tmp_path: Path) -> None:
    write(drafts(tmp_path, pid=ended()), "old")
    write(drafts(tmp_path, terminal="tty8-8", pid=ended()), "new")
    old = next(path for path in tmp_path.iterdir() if "tty1" in path.name)
    os.utime(old, (time.time() - KEPT_S - 10,) * 2)
    drafts(tmp_path).clean()
    assert [name for name in files(tmp_path) if "tty1" in name] == []
    assert len(files(tmp_path)) == 1


def test_last_write_wins_and_removal_beats_it(tmp_path: Path) -> None:
    async def main() -> None:
        kept = drafts(tmp_path)
        texts = [kept.encode(draft(text)) or b"" for text in ("a", "ab", "abc")]
        async with asyncio.TaskGroup() as tasks:
            for data in texts:
                tasks.create_task(kept.save(data))
        found = drafts(tmp_path, pid=kept_pid(kept)).take_over()
        assert found is not None
        assert found.draft == draft("abc")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(kept.save(texts[0]))
            await asyncio.sleep(0)
            kept.remove()
        assert files(tmp_path) == []

    asyncio.run(main())


def kept_pid(kept: DraftStore) -> int:
    return kept._pid


def test_failing_disk_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("a file is in the way")
    write(drafts(tmp_path / "d"), "x")
    assert (tmp_path / "d").read_text() == "a file is in the way"
