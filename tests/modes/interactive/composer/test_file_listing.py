"""The files below a folder, by git, by ripgrep and by walking."""

import asyncio
import subprocess
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from tau.coding.search import rg_command
from tau.modes.interactive.composer import file_index as listing_module
from tau.modes.interactive.composer.file_index import FileListing, ListingCancelled


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def files_of(folder: Path, wanted: Callable[[], bool] = lambda: True) -> tuple[set[str], set[str]]:
    async def main() -> tuple[set[str], set[str]]:
        listing = FileListing(folder, wanted)
        found: set[str] = set()
        async with aclosing(listing.pieces()) as pieces:
            async for piece in pieces:
                found.update(piece)
        return found, listing.gone

    return asyncio.run(main())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("kept.py", "src/deep/a b.py", "src/ä.py", "build/out.o", "noise.log", ".github/ci.yml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    return tmp_path


WANTED = {"kept.py", "src/deep/a b.py", "src/ä.py", ".github/ci.yml", ".gitignore"}


def test_git_lists_tracked_and_new_files_without_deleted_ones(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")
    (folder / "new.py").touch()
    (folder / "kept.py").unlink()
    found, gone = files_of(folder)
    assert found - gone == (WANTED | {"new.py"}) - {"kept.py"}
    assert gone == {"kept.py"}


def test_folder_inside_a_repository_lists_what_is_below_it(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    assert files_of(folder / "src")[0] == {"deep/a b.py", "ä.py"}


def test_repository_without_commits_is_listed(folder: Path) -> None:
    git(folder, "init", "-q")
    assert files_of(folder)[0] == WANTED


def test_repository_config_cannot_run_programs(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    hook = folder / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {folder}/it-ran\n")
    hook.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(hook))
    assert "kept.py" in files_of(folder)[0]
    assert not (folder / "it-ran").exists()


@pytest.mark.skipif(rg_command.locate() is None, reason="ripgrep is not installed")
def test_outside_a_repository_ripgrep_lists(folder: Path) -> None:
    (folder / ".ignore").write_text("build/\n*.log\n")
    assert files_of(folder)[0] == WANTED | {".ignore"}


def test_without_git_and_ripgrep_the_folder_is_walked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rg_command, "locate", lambda: None)
    (folder / ".ignore").write_text("build/\n*.log\n")
    assert files_of(folder)[0] == WANTED | {".ignore"}


def test_cancelled_listing_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_module, "CHECK_S", 0.01)
    silent = folder / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    monkeypatch.setattr(rg_command, "locate", lambda: str(silent))
    with pytest.raises(ListingCancelled):
        files_of(folder, wanted=lambda: False)


def test_cancelled_walk_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rg_command, "locate", lambda: None)
    assert files_of(folder, wanted=lambda: False) == (set(), set())
