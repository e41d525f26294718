"""Which files ignore rules exclude: our walk against ripgrep's, and the rules one by one."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.coding.search import rg_command
from tau.coding.search.query import SearchScope
from tau.coding.search.walk import IgnoreRules, tree, walk
from tests.coding.search.search_trees import make, needs_rg

NAMES = [
    "a",
    "b",
    "a.o",
    "b.o",
    ".a",
    "sub/a",
    "sub/b.o",
    "sub/deep/a",
    "sub/deep/b",
    "build/a",
    "build/x/b.o",
]
LINES = [
    *(
        "a",
        "b",
        "*.o",
        "!a",
        "!*.o",
        "/a",
        "sub/",
        "build/",
        "/build",
        "sub/a",
        "!sub/a",
        "**/deep",
        "deep/*",
    ),
    *(
        "build/**",
        "!build/x",
        "sub/**/a",
        "*",
        "!*/",
        ".*",
        "[ab]",
        "a/",
        "!b.o",
        "# a",
        "",
        "\\!a",
        "sub/d*",
    ),
    *("a ", "{a,b}.o", "x/b.o", "[", "**/x/b.o"),
]
ignored = st.lists(st.sampled_from(LINES), max_size=5).map("\n".join)


def ours(root: Path, *, hidden: bool = True) -> set[str]:
    return {
        os.path.relpath(entry.path, root)
        for piece in tree(str(root), hidden=hidden)
        for entry in piece.entries
        if entry.is_file(follow_symlinks=False)
    }


def theirs(root: Path, *flags: str) -> set[str]:
    scope = SearchScope(roots=(str(root),), in_git=rg_command.is_in_git(root))
    argv = [rg_command.locate() or "", "--files", "--no-config", "--null", "--hidden", "--no-ignore-global"]
    argv += ["--glob=!.git", *rg_command.ignore_flags(scope), *flags, str(root)]
    done = subprocess.run(argv, cwd="/", capture_output=True, check=False)
    return {os.path.relpath(os.fsdecode(name), root) for name in done.stdout.split(b"\0")[:-1]}


@needs_rg
@settings(max_examples=60)
@given(
    top=ignored,
    sub=ignored,
    dot=ignored,
    exclude=ignored,
    repositories=st.sampled_from([(), (".git",), (".git", "sub/.git")]),
)
def test_the_walk_finds_what_ripgrep_finds(
    top: str,
    sub: str,
    dot: str,
    exclude: str,
    repositories: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("ignored")
    make(root, dict.fromkeys(NAMES, ""))
    make(root, {".gitignore": top, "sub/.gitignore": sub, ".ignore": dot})
    for repository in repositories:
        make(root, {f"{repository}/info/exclude": exclude, f"{repository}/HEAD": ""})
    assert ours(root) == theirs(root)
    # The rules of parent folders apply too.
    assert ours(root / "sub") == theirs(root / "sub")


def test_git_folders_are_never_entered_unless_named(tmp_path: Path) -> None:
    make(tmp_path, {".git/config": "", "a": "", "x/.git": "gitdir: nowhere"})
    assert ours(tmp_path) == {"a"}
    assert ours(tmp_path / ".git") == {"config"}


def test_hidden_files_can_be_left_out(tmp_path: Path) -> None:
    make(tmp_path, {".a/b": "", ".c": "", "d": ""})
    assert ours(tmp_path) == {".a/b", ".c", "d"}
    assert ours(tmp_path, hidden=False) == {"d"}


def test_parent_rules_apply_when_the_root_is_reached_through_a_link(tmp_path: Path) -> None:
    make(tmp_path, {"project/.gitignore": "/sub/out\n*.o", "project/sub/out": "", "project/sub/a.o": ""})
    make(tmp_path, {"project/sub/kept": ""})
    (tmp_path / "link").symlink_to("project/sub")
    assert ours(tmp_path / "link") == {"kept"}


def test_worktree_uses_the_excludes_of_its_repository(tmp_path: Path) -> None:
    make(tmp_path, {"main/.git/info/exclude": "secret", "main/.git/worktrees/w/commondir": "../.."})
    make(tmp_path, {"w/.git": f"gitdir: {tmp_path}/main/.git/worktrees/w\n", "w/secret": "", "w/a": ""})
    assert ours(tmp_path / "w") == {"a"}


def test_link_loop_terminates(tmp_path: Path) -> None:
    make(tmp_path, {"a/b": ""})
    (tmp_path / "a" / "up").symlink_to("..")
    assert ours(tmp_path) == {"a/b"}


def test_unreadable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"a/b": "", "c": ""})
    scan = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    pieces = list(tree(str(tmp_path)))
    assert [(piece.folder, piece.unreadable) for piece in pieces if piece.unreadable] == [
        (f"{tmp_path}/a", "Permission denied")
    ]


def test_large_folder_comes_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {f"{number}": "" for number in range(10)})
    monkeypatch.setattr("tau.coding.search.walk.PIECE_ENTRIES", 4)
    assert [len(piece.entries) for piece in tree(str(tmp_path))] == [4, 4, 2]


def test_last_matching_rule_decides() -> None:
    rules = IgnoreRules(["*.o", "!keep.o", "build/", r"\#x"], 0)
    assert rules.verdict("a.o", "a.o", False) is True
    assert rules.verdict("keep.o", "keep.o", False) is False
    assert rules.verdict("build", "build", True) is True
    assert rules.verdict("build", "build", False) is None
    assert rules.verdict("#x", "#x", False) is True


def test_walk_lists_files_once_sorted_and_within_limits(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "out", "b/x.py": "", "a/y.py": "", "a/z.txt": "", "out/w.py": ""})

    async def main() -> None:
        everything = await walk([tmp_path, tmp_path / "a", tmp_path / "a/z.txt"])
        assert everything == [tmp_path / name for name in (".gitignore", "a/y.py", "a/z.txt", "b/x.py")]
        assert await walk([tmp_path], globs=["**/*.py"]) == [tmp_path / "a/y.py", tmp_path / "b/x.py"]
        assert await walk([tmp_path], globs=["*.py"]) == []
        assert len(await walk([tmp_path], limit=2)) == 2
        assert tmp_path / "out/w.py" in await walk([tmp_path], gitignore=False)
        assert await walk([tmp_path / "missing"]) == []

    asyncio.run(main())
