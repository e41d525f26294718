"""Git directories are found and read without git."""

import subprocess
from pathlib import Path

import pytest

from tau.base.git_dir import branch_of, git_dir, shared_git_dir


def test_work_tree_with_an_endless_pointer_file_has_no_other_git_directory(tmp_path: Path) -> None:
    for size, follows in ((4096, True), (4097, False)):
        target = "/" + "x" * (size - len("gitdir: /"))
        (tmp_path / ".git").write_text(f"gitdir: {target}")
        assert (git_dir(tmp_path).own == Path(target)) is follows


def test_branch_is_read_from_head(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/topic/one\n")
    assert branch_of(tmp_path) == "topic/one"


@pytest.mark.parametrize("way", ["file", "worktree", "link", "commondir", "forged worktree"])
def test_a_folder_cannot_pose_as_a_work_tree_of_another_repository(way: str, tmp_path: Path) -> None:
    mine, theirs, tree = tmp_path / "mine", tmp_path / "theirs", tmp_path / "tree"
    theirs.mkdir()
    identity = ("-c", "user.name=A", "-c", "user.email=a@b")
    for words in (
        ("init", "-q", str(mine)),
        ("-C", str(mine), *identity, "commit", "-q", "--allow-empty", "-m", "x"),
        ("-C", str(mine), "worktree", "add", "-q", str(tree)),
    ):
        subprocess.run(["git", *words], check=True)
    assert shared_git_dir(mine) == shared_git_dir(tree) == mine / ".git"
    claimed = theirs / ".git"
    match way:
        case "file":
            claimed.write_text(f"gitdir: {mine}/.git\n")
        case "worktree":
            claimed.write_text(f"gitdir: {mine}/.git/worktrees/tree\n")
        case "link":
            claimed.symlink_to(mine / ".git")
        case "commondir":
            claimed.mkdir()
            (claimed / "commondir").write_text(f"{mine}/.git\n")
        case "forged worktree":
            own = theirs / "own" / "worktrees" / "x"
            own.mkdir(parents=True)
            (own / "gitdir").write_text(f"{claimed}\n")
            (own / "commondir").write_text(f"{mine}/.git\n")
            claimed.write_text(f"gitdir: {own}\n")
    assert git_dir(theirs).common.resolve() == mine / ".git"
    assert shared_git_dir(theirs) is None
