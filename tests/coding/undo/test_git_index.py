"""Git's index, read without git: the same files count as changed."""

import asyncio
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tau.base.run import LocalRunner
from tau.coding.undo import git_repository
from tau.coding.undo.git_repository import Repository, tracked_in


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=b")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def work_tree(folder: Path, *, version: int = 2) -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(20):
        path = folder / f"d{number % 3}" / f"naïve {number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("run.sh")
    git(folder, "add", "-A")
    git(folder, "update-index", "--index-version", str(version))
    git(folder, "commit", "-qm", "x")
    time.sleep(0.02)
    git(folder, "update-index", "--refresh", "-q")
    return folder


def changed(tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, quick: bool) -> set[str]:
    monkeypatch.setattr(git_repository, "MAX_QUICK_FILES", 1_000 if quick else 0)
    looked_at = Repository(tree, folder, LocalRunner())
    looked_at.remember()
    return {entry.name for entry in asyncio.run(looked_at.changed())}


@pytest.mark.parametrize("version", (2, 4))
def test_changes_are_found_like_git_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    tree = work_tree(tmp_path / "tree", version=version)
    assert changed(tree, tmp_path / "q", monkeypatch, quick=True) == set()
    chance = random.Random(version)
    files = [path for path in tree.rglob("*.txt") if ".git" not in path.parts]
    for path in chance.sample(files, 8):
        match chance.randrange(4):
            case 0:
                path.write_text("changed\n")
            case 1:
                path.unlink()
            case 2:
                path.chmod(0o755)
            case 3:
                path.unlink()
                path.symlink_to("elsewhere")
    (tree / "link").unlink()
    (tree / "link").symlink_to("nowhere")
    by_git = changed(tree, tmp_path / "g", monkeypatch, quick=False)
    by_us = changed(tree, tmp_path / "q", monkeypatch, quick=True)
    assert len(by_git) == 9
    assert by_git == by_us


def test_change_that_keeps_size_and_mtime_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = work_tree(tmp_path / "tree")
    path = tree / "run.sh"
    info = path.stat()
    path.write_text("#!/bin/ps\n")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert changed(tree, tmp_path / "q", monkeypatch, quick=True) == {"run.sh"}


def test_unsupported_index_is_left_to_git(tmp_path: Path) -> None:
    tree = work_tree(tmp_path / "tree")
    index = tree / ".git" / "index"
    assert len(tracked_in(index.read_bytes()) or ()) == 22
    (tree / "new.txt").write_text("x")
    git(tree, "add", "--intent-to-add", "new.txt")
    assert tracked_in(index.read_bytes()) is None
    git(tree, "reset", "-q", "new.txt")
    git(tree, "update-index", "--split-index")
    assert tracked_in(index.read_bytes()) is None
    assert tracked_in(b"") is None
    assert tracked_in(index.read_bytes()[:60]) is None
