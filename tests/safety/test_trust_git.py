"""Looking at a repository with git runs none of the programs that the repository names."""

import asyncio
import os
import subprocess
from contextlib import aclosing
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.base.git import open_git_view
from tau.base.git_dir import branch_of, git_dir, is_git_file
from tau.base.programs import find_program
from tau.base.run import LocalRunner
from tau.coding.approval.permissions import Permissions
from tau.coding.approval.policy import Workspace, decide
from tau.coding.undo.git_repository import MAX_QUICK_CHANGES, Repository
from tau.modes.interactive.composer.file_index import FileListing
from tau.modes.interactive.status.git_branch import is_dirty
from tests.safety.hostile_repository import HostileRepository, build


@pytest.fixture
def hostile(tmp_path: Path) -> HostileRepository:
    return build(tmp_path)


def test_the_traps_work_with_plain_git(hostile: HostileRepository) -> None:
    """Without this, the tests below would show nothing."""
    subprocess.run(["git", "status"], cwd=hostile.root, capture_output=True)
    assert {"monitor.sh", "clean"} & set(hostile.signed())


def test_status_line_sees_changes_and_runs_nothing(hostile: HostileRepository) -> None:
    assert asyncio.run(is_dirty(hostile.root))
    assert branch_of(hostile.root) == "main"
    assert hostile.signed() == []


def test_unchanged_work_tree_is_clean(tmp_path: Path) -> None:
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        (tmp_path / "a.txt").write_text("a\r\n")
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "core.autocrlf=true")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["git", "config", "core.autocrlf", "true"], cwd=tmp_path, check=True)
    assert not asyncio.run(is_dirty(tmp_path))
    (tmp_path / "a.txt").write_text("b\r\n")
    assert asyncio.run(is_dirty(tmp_path))


def test_file_list_runs_nothing(hostile: HostileRepository) -> None:
    async def main() -> set[str]:
        found: set[str] = set()
        async with aclosing(FileListing(hostile.root, lambda: True).pieces()) as pieces:
            async for piece in pieces:
                found.update(piece)
        return found

    found = asyncio.run(main())
    assert {"src/app.py", "kept.txt", "Makefile", "bare/config"} <= found
    assert hostile.signed() == []


def test_undo_compares_and_reads_contents_and_runs_nothing(
    hostile: HostileRepository, tmp_path: Path
) -> None:
    # Beyond the number of files that are compared without git.
    for number in range(MAX_QUICK_CHANGES + 5):
        (hostile.root / f"many{number}.txt").write_text("x\n")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    options = ("-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat", "-c", "core.hooksPath=/dev/null")
    add = ["git", *options, "add", *(f"many{number}.txt" for number in range(MAX_QUICK_CHANGES + 5))]
    subprocess.run(add, cwd=hostile.root, check=True, env=env, capture_output=True)
    for number in range(MAX_QUICK_CHANGES + 5):
        (hostile.root / f"many{number}.txt").write_text("y\n")
    hostile.marker.unlink(missing_ok=True)

    async def main() -> None:
        runner = LocalRunner()
        repository = Repository(hostile.root, tmp_path / "history", runner)
        repository.remember()
        changed = await repository.changed()
        assert "kept.txt" in {entry.name for entry in changed}
        contents = await repository.contents(changed, 1_000_000)
        assert contents["kept.txt"] == b"old text\n"
        runner.close()

    asyncio.run(main())
    assert hostile.signed() == []


def test_missing_objects_are_not_fetched(hostile: HostileRepository, tmp_path: Path) -> None:
    view = open_git_view(hostile.root, tmp_path / "view")
    for words in (["cat-file", "-p", "a" * 40], ["diff", "HEAD"], ["log", "-p", "-1"], ["status"]):
        subprocess.run(
            view.command(*words), cwd=hostile.root, env={**os.environ, **view.env()}, capture_output=True
        )
    assert hostile.signed() == []


def test_programs_of_the_folder_are_not_found(
    hostile: HostileRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = ("node_modules/.bin", ".", "", str(hostile.root / ".venv" / "bin"))
    monkeypatch.setenv("PATH", os.pathsep.join((*planted, os.environ["PATH"])))
    monkeypatch.chdir(hostile.root)
    found = find_program("git", avoid=hostile.root)
    assert found is not None and not found.startswith(str(hostile.root))
    assert asyncio.run(is_dirty(hostile.root))
    assert hostile.signed() == []


def test_git_directory_elsewhere_is_read_and_recognized(tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    separate = tmp_path / "data"
    subprocess.run(
        ["git", "init", "-q", "-b", "dev", f"--separate-git-dir={separate}"], cwd=place, check=True
    )
    assert branch_of(place) == "dev"
    assert git_dir(place).own == separate
    assert is_git_file(separate / "config") and is_git_file(separate / "hooks" / "pre-commit")
    assert not is_git_file(place / "config")


def test_pipes_in_place_of_git_files_do_not_block(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("HEAD", "config", "index", "commondir", "packed-refs"):
        os.mkfifo(tmp_path / ".git" / name)
    assert branch_of(tmp_path) == ""
    assert not asyncio.run(is_dirty(tmp_path))


def test_writing_to_a_git_directory_elsewhere_asks(tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    subprocess.run(
        ["git", "init", "-q", f"--separate-git-dir={tmp_path / 'work' / 'data'}"], cwd=place, check=True
    )
    workspace = Workspace.of((place,))
    for name in ("data/hooks/pre-commit", "data/config", "data/info/attributes"):
        verdict = decide(
            Effects(writes=(place / name,)), Permissions(), workspace, demo=False, contained=True
        )
        assert verdict.verdict == "ask" and "git's own files" in verdict.reason
    assert (
        decide(
            Effects(writes=(place / "a.py",)), Permissions(), workspace, demo=False, contained=True
        ).verdict
        == "allow"
    )
