"""The local file system port."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from tau.agent.approved_effects import ApprovedEffects, BoundFileSystem
from tau.base.errors import ToolError
from tau.coding.files.local_fs import LocalFileSystem

fs = LocalFileSystem()


def test_write_makes_parents_and_returns_the_new_state(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "a" / "b" / "c.txt"
        written = await fs.write(path, b"text")
        assert await fs.stat(path) == written
        assert (written.size, written.is_dir) == (4, False)
        assert await fs.read(path) == b"text"
        assert list(await fs.list(tmp_path / "a" / "b")) == ["c.txt"]
        await fs.remove(path)
        assert await fs.stat(path) is None

    asyncio.run(main())


def test_stat_knows_folders_and_accepts_odd_paths(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")

    async def main() -> None:
        folder = await fs.stat(tmp_path)
        assert folder is not None and folder.is_dir
        assert await fs.stat(tmp_path / "file" / "below") is None
        assert await fs.stat(tmp_path / "dangling") is None

    asyncio.run(main())


def test_file_changed_since_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    async def main() -> None:
        path.write_text("old")
        before = await fs.stat(path)
        path.write_text("somebody else's")
        with pytest.raises(ToolError, match="has changed on disk"):
            await fs.write(path, b"mine", expect=before)
        assert path.read_text() == "somebody else's"
        path.unlink()
        with pytest.raises(ToolError, match="has been deleted"):
            await fs.write(path, b"mine", expect=before)
        assert not path.exists()

    asyncio.run(main())


def test_change_that_keeps_size_and_mtime_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    async def main() -> None:
        path.write_text("old")
        before = await fs.stat(path)
        assert before is not None
        other = tmp_path / "b.txt"
        other.write_text("new")
        os.utime(other, ns=(before.mtime_ns, before.mtime_ns))
        other.replace(path)
        with pytest.raises(ToolError):
            await fs.write(path, b"mine", expect=before)

    asyncio.run(main())


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    asyncio.run(BoundFileSystem(fs, ApprovedEffects()).write(tmp_path / "link.txt", b"new"))
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_new_script_is_executable_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    old = tmp_path / "old.sh"
    old.write_text("")
    old.chmod(0o640)
    previous = os.umask(0o027)
    try:
        for name in ("new.sh", "old.sh"):
            asyncio.run(fs.write(tmp_path / name, b"#!/bin/sh\n"))
        asyncio.run(fs.write(tmp_path / "plain.txt", b"text"))
    finally:
        os.umask(previous)
    assert mode(tmp_path / "new.sh") == 0o750
    assert mode(old) == 0o640
    assert mode(tmp_path / "plain.txt") == 0o640
