"""Frozen snapshots of a repository's files, each shared by all agents that begin with the same files."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from tau.backends.isolation.git_calls import GitCalls, IsolationError, open_calls
from tau.backends.isolation.modes import copy_files
from tau.base.files import make_private
from tau.base.run import Runner

PREFIX = ".frozen-"
_FILES, _INDEX = "files", "index"


class FrozenFiles(Struct, frozen=True):
    """`files` must never change. `index` is git's, made with them; `objects` has what they are made of."""

    tree: str
    files: Path
    index: Path
    objects: Path


def store_of(copies: Path, session: str, root: Path) -> Path:
    """Where a session keeps the snapshots of a repository."""
    return copies / f"{PREFIX}{session[-12:]}-{sha256(os.fsencode(root)).hexdigest()[:8]}"


async def snapshot_tree(calls: GitCalls, root: Path) -> str:
    """The tree of all files that are not ignored. Raises IsolationError."""
    real = calls.view.real.own / "index"
    if real.is_file() and not calls.index.exists():
        calls.index.write_bytes(real.read_bytes())
    code, _ = await calls.call("add", "-A", "--", ".")
    if code != 0:  # an index that depends on other files: start from nothing
        calls.index.unlink(missing_ok=True)
        await calls.git("add", "-A", "--", ".")
    return await calls.text("write-tree")


async def freeze(run: Runner, root: Path, store: Path, carry: Sequence[str]) -> FrozenFiles:
    """The files as they are now, from the store if it has them. Raises IsolationError and OSError."""
    make_private(store)
    calls = open_calls(run, root, store / "outer", store / "objects")
    tree = await snapshot_tree(calls, root)
    carried = carried_folders(root, carry)
    marks = [f"{path}:{path.stat().st_mtime_ns}" for path in carried]
    place = store / sha256("\n".join([tree, *marks]).encode()).hexdigest()[:16]
    found = FrozenFiles(tree, place / _FILES, place / _INDEX, store / "objects")
    if place.is_dir():
        return found
    making = store / f".making-{os.urandom(4).hex()}"
    try:
        make_private(making / _FILES)
        elsewhere = {"GIT_WORK_TREE": str(making / _FILES), "GIT_INDEX_FILE": str(making / _INDEX)}
        words = ("-C", str(making / _FILES), "read-tree", "--reset", "-u", tree)
        await calls.git(*words, env=elsewhere)
        for path in carried:
            target = making / _FILES / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            await copy_files(run, [path], target, reflink="auto")
        if not place.is_dir():
            making.rename(place)
    finally:
        await asyncio.to_thread(shutil.rmtree, making, ignore_errors=True)
    return found


def carried_folders(root: Path, carry: Sequence[str]) -> list[Path]:
    """Those of the wanted folders that are there: below the root, and not through links."""
    found = []
    for name in carry:
        path = root / name
        parts = Path(name).parts
        if Path(name).is_absolute() or ".." in parts or not parts:
            raise IsolationError(f"task.isolation.carry: {name} is not a folder in the repository.")
        above = [root.joinpath(*parts[:count]) for count in range(1, len(parts) + 1)]
        if path.is_dir() and not any(one.is_symlink() for one in above):
            found.append(path)
    return found
