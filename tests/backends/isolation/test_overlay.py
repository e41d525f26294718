"""Overlays: a frozen snapshot for all agents that begin with it, and a layer for each."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tau.backends.isolation import copies, frozen_files
from tau.backends.isolation.copies import RepositoryCopy, create_workspace, mounted, remove_workspace
from tau.backends.isolation.git_calls import IsolationError
from tau.backends.isolation.merge import find_changes, merge_files
from tau.backends.isolation.modes import choose_mode
from tau.backends.isolation.overlay import is_mounted, try_overlay
from tau.base.run import LocalRunner
from tau.coding.files.local_fs import LocalFileSystem
from tests.support.idle import until
from tests.support.limits import HANG_S

KINDS = ("overlay", "fuse-overlay")


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "sub").mkdir(parents=True)
    git(root, "init", "-q")
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (root / name).write_text(f"{name}\n")
    (root / ".gitignore").write_text("node_modules\n")
    (root / "node_modules" / "left-pad").mkdir(parents=True)
    (root / "node_modules" / "left-pad" / "index.js").write_text("pad\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def run(work: Callable[[LocalRunner], Awaitable[None]], kind: str = "", folder: Path | None = None) -> None:
    async def main() -> None:
        runner = LocalRunner()
        try:
            if kind and folder is not None and (problem := await try_overlay(runner, kind, folder)):
                pytest.skip(f"{kind} does not work here: {problem}")
            await work(runner)
        finally:
            runner.close()

    asyncio.run(main())


async def make(runner: LocalRunner, root: Path, name: str, kind: str, *carry: str) -> RepositoryCopy:
    more = {"session": "0123456789abcdef", "started": "", "max_bytes": 0, "carry": carry}
    folder = root.parent / "copies" / name
    return await create_workspace(runner, root, folder, id=name, mode=kind, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_agents_share_one_snapshot_that_never_changes(root: Path, tmp_path: Path, kind: str) -> None:
    async def work(runner: LocalRunner) -> None:
        one = await make(runner, root, "one", kind)
        two = await make(runner, root, "two", kind)
        assert one.info.lower == two.info.lower
        async with mounted(runner, one), mounted(runner, two):
            (root / "new").write_text("changed in the original")
            (root / "new").rename(root / "a.txt")  # an overlay over the original would keep the old file
            (root / "b.txt").unlink()
            (root / "later.txt").write_text("later")
            (one.files / "a.txt").write_text("one\n")
            assert (two.files / "a.txt").read_text() == "a.txt\n"
            assert (two.files / "b.txt").read_text() == "b.txt\n"
            assert not (two.files / "later.txt").exists()
            assert git(two.files, "status", "--short") == ""
            assert (await find_changes(runner, one)).files == ["a.txt"]
            assert (await find_changes(runner, two)).files == []
        three = await make(runner, root, "three", kind)  # begins with the files as they are now
        assert three.info.lower != one.info.lower
        async with mounted(runner, three):
            assert (three.files / "later.txt").exists() and not (three.files / "b.txt").exists()
        store = Path(one.info.lower).parents[1]
        for copy in (one, two, three):
            assert store.exists()
            await remove_workspace(copy)
        assert not store.exists()

    run(work, kind, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_outlive_the_mount_and_are_merged(root: Path, tmp_path: Path, kind: str) -> None:
    async def work(runner: LocalRunner) -> None:
        copy = await make(runner, root, "one", kind)
        async with mounted(runner, copy):
            if kind == "overlay":
                git(copy.files, "mv", "sub", "moved")
            else:  # fuse-overlayfs 1.10 renames only files from below, so mv copies the folder
                shutil.copytree(copy.files / "sub", copy.files / "moved")
                shutil.rmtree(copy.files / "sub")
                git(copy.files, "add", "-A")
            (copy.files / "a.txt").unlink()
            (copy.files / "b.txt").write_text("agent\n")
            git(copy.files, "commit", "-qam", "by the agent")
        assert not is_mounted(copy.files) and not list(copy.files.iterdir())
        async with mounted(runner, copy):
            changes = await find_changes(runner, copy)
            outcome = await merge_files(runner, copy, changes, LocalFileSystem())
        assert outcome.state == "applied"
        assert (root / "moved" / "c.txt").exists() and not (root / "sub" / "c.txt").exists()
        assert not (root / "a.txt").exists() and (root / "b.txt").read_text() == "agent\n"
        assert git(root, "log", "--format=%s") == "first\n"

    run(work, kind, tmp_path)


def test_carried_folders_are_copied_and_nothing_outside_is(root: Path, tmp_path: Path) -> None:
    async def work(runner: LocalRunner) -> None:
        copy = await make(runner, root, "one", "overlay", "node_modules")
        async with mounted(runner, copy):
            assert (copy.files / "node_modules" / "left-pad" / "index.js").read_text() == "pad\n"
            assert not (copy.files / "node_modules").is_symlink()
            (copy.files / "node_modules" / "left-pad" / "index.js").write_text("mine\n")
        assert (root / "node_modules" / "left-pad" / "index.js").read_text() == "pad\n"
        for name in ("/etc", "..", "sub/../.."):
            with pytest.raises(IsolationError, match=r"task\.isolation\.carry"):
                await make(runner, root, "two", "worktree", name)
        (root / "linked").symlink_to("/etc")
        assert frozen_files.carried_folders(root, ["linked", "absent"]) == []

    run(work, "overlay", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_killed_process_leaves_no_mount_and_no_program(root: Path, tmp_path: Path, kind: str) -> None:
    async def probe(runner: LocalRunner) -> None:
        """Only to skip."""

    run(probe, kind, tmp_path)
    script = f"""
import asyncio, pathlib, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tau.base.run import LocalRunner
from tau.backends.isolation.copies import open_mount
from tests.backends.isolation.test_overlay import make
async def main():
    runner = LocalRunner()
    copy = await make(runner, pathlib.Path({str(root)!r}), "one", {kind!r})
    mount = await open_mount(runner, copy)
    (copy.files / "a.txt").write_text("unsaved work")
    print("mounted", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "mounted\n"
        os.kill(process.pid, signal.SIGKILL)
    files = tmp_path / "copies" / "one" / "files"

    async def work(runner: LocalRunner) -> None:
        await until(lambda: not is_mounted(files), HANG_S, lambda: "it is still mounted")
        copy = copies.load_workspace(files.parent)
        assert copy is not None
        async with mounted(runner, copy):
            assert (copy.files / "a.txt").read_text() == "unsaved work"

    run(work)


def test_first_mode_that_works_is_used_and_others_are_explained(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(runner: LocalRunner) -> None:
        mode, notice = await choose_mode("auto", runner, root, tmp_path)
        assert mode == "overlay" and notice == ""
        empty = tmp_path / "bin"
        empty.mkdir()
        (empty / "cp").symlink_to("/bin/cp")
        monkeypatch.setenv("PATH", str(empty))
        mode, notice = await choose_mode("overlay", runner, root, tmp_path)
        assert mode in ("reflink", "worktree") and "mount is not installed" in notice
        mode, notice = await choose_mode("projfs", runner, root, tmp_path)
        assert "The isolation mode projfs is not available here" in notice

    run(work, "overlay", tmp_path)
