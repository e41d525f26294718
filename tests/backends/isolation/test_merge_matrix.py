"""What the original and an agent both do to files: merged, or kept on both sides; no byte is lost."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tau.backends.isolation import merge
from tau.backends.isolation.copies import RepositoryCopy, create_workspace, mounted
from tau.backends.isolation.git_calls import IsolationError
from tau.backends.isolation.merge import (
    find_changes,
    make_branch,
    merge_files,
    merge_lock,
    save_inner_patches,
    save_patch,
)
from tau.backends.isolation.overlay import KINDS, try_overlay
from tau.base.files import try_lock, unlock
from tau.base.run import LocalRunner
from tau.base.sizes import MIB
from tau.coding.files.local_fs import LocalFileSystem
from tests.backends.isolation.test_overlay import git
from tests.support.soak import is_soaking

BASE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
Act = Callable[[Path], object]


def put(name: str, text: str | bytes) -> Act:
    data = text.encode() if isinstance(text, str) else text

    def act(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)

    return act


def both(*acts: Act) -> Act:
    return lambda root: [act(root) for act in acts]


def link(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to("b.txt")


def nested(root: Path) -> None:
    (root / "inner").mkdir()
    git(root / "inner", "init", "-q")
    put("inner/file", "inner\n")(root)
    git(root / "inner", "add", "-A")
    git(root / "inner", "commit", "-qm", "inner")


def nothing(root: Path) -> None:
    """No change."""


class Case(NamedTuple):
    """What each side does; how it ends; what the original has then. None: there is no such file."""

    agent: Act
    original: Act
    state: str
    files: dict[str, str | bytes | None]


MINE, THEIRS = BASE.replace("seven", "SEVEN"), BASE.replace("one", "ONE")
MERGED = MINE.replace("one", "ONE")
BINARY, OTHER_BINARY = bytes(range(256)), bytes(reversed(range(256)))
CASES = {
    "clean": Case(put("a.txt", THEIRS), nothing, "applied", {"a.txt": THEIRS}),
    "other hunk": Case(put("a.txt", THEIRS), put("a.txt", MINE), "applied", {"a.txt": MERGED}),
    "same hunk": Case(
        both(put("a.txt", THEIRS), put("new", "agent\n")),
        put("a.txt", BASE.replace("one", "mine")),
        "conflict",
        {"a.txt": BASE.replace("one", "mine"), "new": None},
    ),
    "staged": Case(
        put("a.txt", THEIRS),
        lambda root: (put("a.txt", MINE)(root), git(root, "add", "-A")),
        "applied",
        {"a.txt": MERGED},
    ),
    "untracked": Case(put("new", "agent\n"), put("new", "mine\n"), "conflict", {"new": "mine\n"}),
    "rename": Case(
        lambda root: git(root, "mv", "a.txt", "moved.txt"),
        put("b.txt", "mine\n"),
        "applied",
        {"a.txt": None, "moved.txt": BASE, "b.txt": "mine\n"},
    ),
    "rename and change": Case(
        lambda root: git(root, "mv", "a.txt", "moved.txt"),
        put("a.txt", MINE),
        "applied",
        {"a.txt": None, "moved.txt": MINE},
    ),
    "delete": Case(lambda root: (root / "a.txt").unlink(), nothing, "applied", {"a.txt": None}),
    "delete and change": Case(
        lambda root: (root / "a.txt").unlink(), put("a.txt", MINE), "conflict", {"a.txt": MINE}
    ),
    "mode": Case(lambda root: (root / "a.txt").chmod(0o755), put("a.txt", MINE), "applied", {"a.txt": MINE}),
    "link": Case(link, nothing, "applied", {"a.txt": "b\n"}),
    "link and change": Case(link, put("a.txt", MINE), "conflict", {"a.txt": MINE}),
    "binary": Case(put("bin", BINARY), nothing, "applied", {"bin": BINARY}),
    "binary twice": Case(put("bin", BINARY), put("bin", OTHER_BINARY), "conflict", {"bin": OTHER_BINARY}),
    "crlf": Case(
        put("a.txt", THEIRS.replace("\n", "\r\n")),
        nothing,
        "applied",
        {"a.txt": THEIRS.replace("\n", "\r\n")},
    ),
    "nested": Case(both(nested, put("b.txt", "agent\n")), nothing, "applied", {"b.txt": "agent\n"}),
    "submodule": Case(put("b.txt", "agent\n"), nothing, "applied", {"b.txt": "agent\n", "module/m": "m\n"}),
    "repository inside": Case(
        put("b.txt", "agent\n"), nothing, "applied", {"b.txt": "agent\n", "module/m": "m\n"}
    ),
    "no change": Case(nothing, put("a.txt", MINE), "unchanged", {"a.txt": MINE}),
    "already applied": Case(put("a.txt", THEIRS), put("a.txt", THEIRS), "already", {"a.txt": THEIRS}),
    "committed": Case(
        lambda root: (put("a.txt", THEIRS)(root), git(root, "commit", "-qam", "by the agent")),
        put("a.txt", MINE),
        "applied",
        {"a.txt": MERGED},
    ),
}
MODES = ("worktree", "copy", *KINDS, "reflink")
QUICK = [(name, MODES[at % len(MODES)], at % 3 == 0) for at, name in enumerate(CASES)]
ALL = [(name, mode, branch) for name in CASES for mode in MODES for branch in (False, True)]


def repository(tmp_path: Path, case: str) -> Path:
    module, root = tmp_path / "module", tmp_path / "repo"
    for folder, files in ((module, {"m": "m\n"}), (root, {"a.txt": BASE, "b.txt": "b\n"})):
        folder.mkdir()
        git(folder, "init", "-q")
        for path, text in files.items():
            put(path, text)(folder)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
    if case == "submodule":
        git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "module"))
        git(root, "commit", "-qm", "module")
    if case == "repository inside":
        git(root, "clone", "-q", str(tmp_path / "module"), "module")
    return root


def content(root: Path) -> dict[str, object]:
    """Every file of the original, its mode and its bytes, without git's own."""
    found: dict[str, object] = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if ".git" not in path.relative_to(root).parts:
                found[str(path.relative_to(root))] = (
                    str(path.readlink()) if path.is_symlink() else (path.stat().st_mode, path.read_bytes())
                )
    return found


@pytest.fixture(scope="module")
def xfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on a file system that can share blocks."""
    maker = shutil.which("mkfs.xfs", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if maker is None:
        pytest.skip("mkfs.xfs is not installed")
    image, folder = tmp_path_factory.mktemp("xfs") / "image", tmp_path_factory.mktemp("mounted")
    with image.open("wb") as file:
        file.truncate(320 * MIB)
    subprocess.run([maker, "-q", image], check=True, capture_output=True)
    tried = subprocess.run(["mount", "-o", "loop", image, folder], check=False, capture_output=True)
    if tried.returncode:
        pytest.skip(f"this system mounts no XFS image: {tried.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, mode: str) -> Path:
    if mode != "reflink":
        return tmp_path
    folder: Path = request.getfixturevalue("xfs") / tmp_path.name
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("name", "mode", "branch"), ALL if is_soaking() else QUICK)
def test_no_byte_of_either_side_is_lost(place: Path, name: str, mode: str, branch: bool) -> None:
    case, root = CASES[name], repository(place, name)

    async def main() -> None:
        runner = LocalRunner()
        try:
            if mode in KINDS and (problem := await try_overlay(runner, mode, place)):
                pytest.skip(f"{mode} does not work here: {problem}")
            folder = place / "copies" / "one"
            more = {"id": "one", "session": "0123456789abcdef", "started": "", "max_bytes": 0}
            copy = await create_workspace(runner, root, folder, mode=mode, **more)  # type: ignore[arg-type]
            async with mounted(runner, copy):
                if name in ("submodule", "repository inside"):
                    assert not any((copy.files / "module").iterdir())
                case.agent(copy.files)
                agent_files = content(copy.files)
                case.original(root)
                await merge(runner, copy, agent_files)
        finally:
            runner.close()

    async def merge(runner: LocalRunner, copy: RepositoryCopy, agent_files: dict[str, object]) -> None:
        before = content(root)
        head, index = git(root, "rev-parse", "HEAD"), git(root, "ls-files", "-s")
        changes = await find_changes(runner, copy)
        assert await save_patch(runner, copy, changes, place / "one.patch")
        if branch and changes.files:
            await check_branch(runner, copy)
        outcome = await merge_files(runner, copy, changes, LocalFileSystem())
        assert outcome.state == case.state, outcome
        for path, text in case.files.items():
            data = text.encode() if isinstance(text, str) else text
            assert (None if not (root / path).exists() else (root / path).read_bytes()) == data
        touched = set(outcome.files) if outcome.state == "applied" else set()
        assert {k: v for k, v in before.items() if k not in touched}.items() <= content(root).items()
        assert (git(root, "rev-parse", "HEAD"), git(root, "ls-files", "-s")) == (head, index)
        assert content(copy.files) == agent_files  # the copy keeps what the agent wrote
        inner = await save_inner_patches(runner, copy, changes, place, "one")
        assert bool(inner) == bool(changes.repositories) == (name == "nested")
        assert all("+inner" in Path(path).read_text() for path in inner)
        if name == "mode":
            assert (root / "a.txt").stat().st_mode & 0o111

    async def check_branch(runner: LocalRunner, copy: RepositoryCopy) -> None:
        changes = await find_changes(runner, copy)
        try:
            made, _ = await make_branch(runner, copy, changes, "By the agent")
        except IsolationError as error:
            assert "not committed" in str(error)
            return
        assert made == "tau/task/one"
        shown = git(root, "diff", "--name-only", "HEAD", made).split()
        assert set(shown) <= set(changes.files)

    asyncio.run(main())


def test_waiting_for_the_merge_of_another_process_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    fd = os.open(tmp_path / ".merge.lock", os.O_RDWR | os.O_CREAT)  # as another process would hold it
    assert try_lock(fd)

    async def main() -> list[str]:
        done = []

        async def merge() -> None:
            async with merge_lock(tmp_path):
                done.append("merged")

        async with asyncio.TaskGroup() as group:
            group.create_task(merge())
            await asyncio.sleep(0.05)
            done.append("the loop runs")
            unlock(fd)
        return done

    try:
        assert asyncio.run(main()) == ["the loop runs", "merged"]
    finally:
        os.close(fd)


def test_merge_that_never_ends_elsewhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "LOCK_S", 0.05)
    fd = os.open(tmp_path / ".merge.lock", os.O_RDWR | os.O_CREAT)
    assert try_lock(fd)

    async def main() -> None:
        async with merge_lock(tmp_path):
            raise AssertionError("the lock was free")

    try:
        with pytest.raises(IsolationError, match="Another tau has been merging"):
            asyncio.run(main())
    finally:
        os.close(fd)
