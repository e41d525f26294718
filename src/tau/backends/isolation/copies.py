"""A copy of a work tree with its own git directory: what happens in it never reaches the original's."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.backends.isolation.git_calls import GitCalls, IsolationError, open_calls
from tau.backends.isolation.modes import choose_mode, copy_files
from tau.base.files import make_private, write_atomic
from tau.base.git import safe_config
from tau.base.git_dir import git_dir, read_start
from tau.base.run import Runner
from tau.base.sizes import MIB, format_bytes

MARKER = "workspace.json"
FILES, STATE = "files", "state"
BRANCH = "work"


class WorkspaceInfo(Struct, frozen=True, rename="camel", kw_only=True):
    """What a copy is of. `owner` is the process that uses it, `base` the commit that it began with."""

    id: str
    root: str
    session: str
    mode: str
    base: str
    owner: int
    started: str
    patch: str = ""


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
) -> tuple[RepositoryCopy, str]:
    """Copy `root`, as it is now, into `folder`. Returns it and a notice. Raises IsolationError."""
    make_private(folder)
    chosen, notice = await choose_mode(mode, run, root, folder.parent)
    files = folder / FILES
    repository = files / ".git"
    outer = open_calls(run, root, folder / "outer", repository / "objects")
    try:
        await _check_size(outer, root, max_bytes)
        base = await _make_repository(outer, root, repository)
        info = WorkspaceInfo(
            id=id, root=str(root), session=session, mode=chosen, base=base, owner=os.getpid(), started=started
        )
        made = RepositoryCopy(folder, info).save(info)
        if chosen != "worktree":
            names = [path for path in root.iterdir() if path.name != ".git"]
            await copy_files(run, names, files, reflink="always" if chosen == "reflink" else "auto")
        inner = made.calls(run)
        words = ("--reset",) if chosen != "worktree" else ("--reset", "-u")
        await inner.git("read-tree", *words, base)
        for name in carry if chosen == "worktree" else ():
            source = root / name
            if source.is_dir() and not source.is_symlink() and ".." not in Path(name).parts:
                (files / name).parent.mkdir(parents=True, exist_ok=True)
                await copy_files(run, [source], files / name, reflink="auto")
        (repository / "index").write_bytes(inner.index.read_bytes())
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)  # nobody has worked in it
        raise
    return made, notice


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


async def _make_repository(outer: GitCalls, root: Path, repository: Path) -> str:
    """A repository that borrows the original's objects, with one commit of its files on top of HEAD."""
    real = git_dir(root)
    for name in ("objects/info", "refs/heads", "info"):
        (repository / name).mkdir(parents=True, exist_ok=True)
    common = Path(os.path.realpath(real.common))
    write_atomic(repository / "objects/info/alternates", f"{common / 'objects'}\n".encode())
    config = safe_config(read_start(common / "config", MIB)) + "[gc]\nauto = 0\n"
    write_atomic(repository / "config", config.encode())
    write_atomic(repository / "HEAD", f"ref: refs/heads/{BRANCH}\n".encode())
    exclude = read_start(common / "info" / "exclude", MIB)
    write_atomic(repository / "info/exclude", exclude.encode("utf-8", "surrogateescape"))
    index = real.own / "index"
    if index.is_file():
        outer.index.write_bytes(index.read_bytes())
    code, _ = await outer.call("add", "-A", "--", ".")
    if code != 0:  # an index that depends on other files: start from nothing
        outer.index.unlink(missing_ok=True)
        await outer.git("add", "-A", "--", ".")
    tree = await outer.text("write-tree")
    code, head = await outer.call("rev-parse", "-q", "--verify", "HEAD^{commit}")
    parents = [head.decode().strip()] if code == 0 else []
    base = await outer.commit(tree, "Files as they were when the agent began", *parents)
    write_atomic(repository / "refs/heads" / BRANCH, f"{base}\n".encode())
    return base


async def remove_workspace(workspace: RepositoryCopy) -> None:
    """Only for one whose work is safe elsewhere, or was thrown away by the user."""
    await asyncio.to_thread(_remove, workspace.folder)


def _remove(folder: Path) -> None:
    def writable(function: object, path: str, error: object) -> None:
        found = Path(path)
        found.parent.chmod(0o700)
        if found.is_dir() and not found.is_symlink():
            found.rmdir()
        else:
            found.unlink()

    shutil.rmtree(folder, onerror=writable)
