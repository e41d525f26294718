"""Git directories are found and read without git."""

from pathlib import Path

from tau.base.git_dir import branch_of, git_dir


def test_work_tree_with_an_endless_pointer_file_has_no_other_git_directory(tmp_path: Path) -> None:
    for size, follows in ((4096, True), (4097, False)):
        target = "/" + "x" * (size - len("gitdir: /"))
        (tmp_path / ".git").write_text(f"gitdir: {target}")
        assert (git_dir(tmp_path).own == Path(target)) is follows


def test_branch_is_read_from_head(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/topic/one\n")
    assert branch_of(tmp_path) == "topic/one"
