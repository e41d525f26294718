"""A copy of a work tree with its own git directory: what happens in it never reaches the original's."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tau.backends.isolation import frozen
from tau.backends.isolation.git_calls import SNAPSHOT_INDEX, GitCalls, IsolationError, open_calls
from tau.backends.isolation.modes import copy_files
from tau.backends.isolation.overlay import KINDS, UPPER, OverlayMount, mount_overlay
from tau.base.files import make_private, write_atomic
from tau.base.git import safe_config
from tau.base.git_dir import git_dir, read_start
from tau.base.run import Runner
from tau.base.sizes import MIB, format_bytes

MARKER = "workspace.json"
FILES, STATE = "files", "state"
BRANCH = "work"
UNUSED_S = 24 * 3600


class WorkspaceInfo(Struct, frozen=True, rename="camel", kw_only=True):
    """What a copy is of. `owner` is the process that uses it, `base` the commit that it began with.

    `lower` are the files below an overlay.
    """

    id: str
    root: str
    session: str
    mode: str
    base: str
    owner: int
    started: str
    patch: str = ""
    lower: str = ""


class RepositoryCopy(Struct, frozen=True):
    """`folder` has the files, a private git directory for our own calls, and a description."""

    folder: Path
    info: WorkspaceInfo

    @property
    def files(self) -> Path:
        return self.folder / FILES

    def calls(self, run: Runner) -> GitCalls:
        """For the copy; objects go into its own repository."""
        return open_calls(run, self.files, self.folder / STATE, self.files / ".git" / "objects")

    def outer_calls(self, run: Runner) -> GitCalls:
        """For the original; objects go into the copy's repository."""
        return open_calls(run, Path(self.info.root), self.folder / "outer", self.files / ".git" / "objects")

    def save(self, info: WorkspaceInfo) -> "RepositoryCopy":
        write_atomic(self.folder / MARKER, msgspec.json.encode(info), mode=0o600, sync=True)
        return RepositoryCopy(self.folder, info)


def load_workspace(folder: Path) -> RepositoryCopy | None:
    try:
        return RepositoryCopy(folder, msgspec.json.decode((folder / MARKER).read_bytes(), type=WorkspaceInfo))
    except (OSError, ValueError):
        return None


async def create_workspace(
    run: Runner,
    root: Path,
    folder: Path,
    *,
    id: str,
    session: str,
    mode: str,
    started: str,
    max_bytes: int,
    carry: Sequence[str] = (),
) -> RepositoryCopy:
    """Copy `root`, as it is now, into `folder`; an overlay is not mounted yet. Raises IsolationError.

    `mode` is one that works here.
    """
    make_private(folder)
    files = folder / FILES
    outer = open_calls(run, root, folder / "outer", folder / "objects")
    info = WorkspaceInfo(
        id=id, root=str(root), session=session, mode=mode, base="", owner=os.getpid(), started=started
    )
    try:
        await _check_size(outer, root, max_bytes)
        if mode in KINDS:
            store = frozen.store_of(folder.parent, session, root)
            found = await frozen.freeze(run, root, store, carry)
            made = RepositoryCopy(folder, replace(info, lower=str(found.files)))
            return await _make_upper(made, found, root, outer)
        repository = files / ".git"
        tree = await frozen.snapshot_tree(replace_objects(outer, repository / "objects"), root)
        base = await _make_repository(replace_objects(outer, repository / "objects"), root, repository, tree)
        made = RepositoryCopy(folder, info).save(replace(info, base=base))
        if mode != "worktree":
            names = [path for path in root.iterdir() if path.name != ".git"]
            await copy_files(run, names, files, reflink="always" if mode == "reflink" else "auto")
            for name in await made.calls(run).repositories(base):
                await asyncio.to_thread(shutil.rmtree, files / name, ignore_errors=True)
                (files / name).mkdir(parents=True, exist_ok=True)
        inner = made.calls(run)
        words = ("--reset",) if mode != "worktree" else ("--reset", "-u")
        await inner.git("read-tree", *words, base)
        for source in frozen.carried_folders(root, carry) if mode == "worktree" else ():
            target = files / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            await copy_files(run, [source], target, reflink="auto")
        (repository / "index").write_bytes(inner.index.read_bytes())
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)  # nobody has worked in it
        raise
    return made


async def _make_upper(
    made: RepositoryCopy, found: frozen.FrozenFiles, root: Path, outer: GitCalls
) -> RepositoryCopy:
    """The layer of a new overlay, which begins with nothing but its own git directory."""
    repository = made.folder / UPPER / ".git"
    make_private(made.folder / UPPER)
    calls = replace_objects(outer, repository / "objects", found.objects)
    base = await _make_repository(calls, root, repository, found.tree, found.objects)
    index = found.index.read_bytes()
    (repository / "index").write_bytes(index)
    make_private(made.folder / STATE)
    (made.folder / STATE / SNAPSHOT_INDEX).write_bytes(index)
    return made.save(replace(made.info, base=base))


def replace_objects(calls: GitCalls, objects: Path, borrowed: Path | None = None) -> GitCalls:
    """The same with new objects going elsewhere, and with more objects to read."""
    make_private(objects)
    return replace(calls, objects=objects, borrowed=() if borrowed is None else (borrowed,))


async def _check_size(outer: GitCalls, root: Path, max_bytes: int) -> None:
    output = await outer.git(
        "ls-files",
        "-z",
        "-m",
        "-o",
        "--exclude-standard",
        env={"GIT_INDEX_FILE": str(outer.view.real.own / "index")},
    )
    total = 0
    for name in set(output.split(b"\0")) - {b""}:
        try:
            total += (root / os.fsdecode(name)).lstat().st_size
        except OSError:
            continue
    if max_bytes and total > max_bytes:
        raise IsolationError(
            f"Changed and untracked files have {format_bytes(total)}, more than task.isolation.maxBytes "
            f"({format_bytes(max_bytes)}); commit or ignore some."
        )


async def _make_repository(calls: GitCalls, root: Path, repository: Path, tree: str, *borrowed: Path) -> str:
    """A repository that borrows the original's objects, with one commit of its files on top of HEAD."""
    real = git_dir(root)
    for name in ("objects/info", "refs/heads", "info"):
        (repository / name).mkdir(parents=True, exist_ok=True)
    common = Path(os.path.realpath(real.common))
    alternates = "".join(f"{path}\n" for path in (common / "objects", *borrowed))
    write_atomic(repository / "objects/info/alternates", alternates.encode())
    config = safe_config(read_start(common / "config", MIB)) + "[gc]\nauto = 0\n"
    write_atomic(repository / "config", config.encode())
    write_atomic(repository / "HEAD", f"ref: refs/heads/{BRANCH}\n".encode())
    exclude = read_start(common / "info" / "exclude", MIB)
    write_atomic(repository / "info/exclude", exclude.encode("utf-8", "surrogateescape"))
    code, head = await calls.call("rev-parse", "-q", "--verify", "HEAD^{commit}")
    parents = [head.decode().strip()] if code == 0 else []
    base = await calls.commit(tree, "Files as they were when the agent began", *parents)
    write_atomic(repository / "refs/heads" / BRANCH, f"{base}\n".encode())
    return base


@asynccontextmanager
async def mounted(run: Runner, workspace: RepositoryCopy) -> AsyncIterator[None]:
    """Its files are there meanwhile. Raises IsolationError."""
    mount = await open_mount(run, workspace)
    try:
        yield
    finally:
        if mount is not None:
            await mount.end()


async def open_mount(run: Runner, workspace: RepositoryCopy) -> OverlayMount | None:
    """Mount the overlay of a copy; None for a copy that is none. Raises IsolationError."""
    info = workspace.info
    if info.mode not in KINDS:
        return None
    if not Path(info.lower).is_dir():
        raise IsolationError(f"The files below {workspace.folder.name} are gone: {info.lower}.")
    return await mount_overlay(run, info.mode, Path(info.lower), workspace.folder, workspace.files)


async def remove_workspace(workspace: RepositoryCopy) -> None:
    """Only for one whose work is safe elsewhere, or was thrown away by the user. Its overlay is unmounted."""
    await asyncio.to_thread(_remove, workspace.folder)
    if workspace.info.lower:
        others = [load_workspace(path) for path in workspace.folder.parent.iterdir()]
        used = [Path(one.info.lower) for one in others if one is not None and one.info.lower]
        store = Path(workspace.info.lower).parents[1]
        if not any(path.is_relative_to(store) for path in used):
            await asyncio.to_thread(shutil.rmtree, store, ignore_errors=True)


def unused_stores(copies: Path) -> list[Path]:
    """Snapshots that no copy has used for a day; before that, a process may be making its first copy."""
    found = [load_workspace(path) for path in copies.iterdir()] if copies.is_dir() else []
    used = [Path(one.info.lower) for one in found if one is not None and one.info.lower]
    old_s = time.time() - UNUSED_S
    return [
        store
        for store in copies.glob(f"{frozen.PREFIX}*")
        if not any(path.is_relative_to(store) for path in used) and store.stat().st_mtime < old_s
    ]


def _remove(folder: Path) -> None:
    def writable(function: object, path: str, error: object) -> None:
        found = Path(path)
        found.parent.chmod(0o700)
        if found.is_dir() and not found.is_symlink():
            found.rmdir()
        else:
            found.unlink()

    shutil.rmtree(folder, onerror=writable)
