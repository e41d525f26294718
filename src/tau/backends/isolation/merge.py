"""Merges what an agent changed in its copy into the original: three-way, all or nothing."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.agent.ports import ABSENT, FileSystem, Stat
from tau.backends.isolation.copies import RepositoryCopy
from tau.backends.isolation.git_calls import GITLINK, GitCalls, IsolationError, open_calls
from tau.base.errors import ToolError
from tau.base.files import unlock
from tau.base.run import Runner
from tau.base.tasks import take_lock

MergeState = Literal["unchanged", "applied", "already", "conflict"]
_WHOLE = ("--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames")
LOCK_S = 60.0
LINK, EXECUTABLE = b"120000", b"100755"


class AgentChanges(Struct, frozen=True, kw_only=True):
    """What an agent left behind. `repositories` are inside its copy: no patch can have their content."""

    base: str
    end: str
    files: list[str]
    repositories: list[str]


class MergeOutcome(Struct, frozen=True):
    state: MergeState
    files: list[str]
    reason: str = ""


@asynccontextmanager
async def merge_lock(copies: Path) -> AsyncIterator[None]:
    """One merge at a time, those of other processes included, without holding up the event loop."""
    fd = os.open(copies / ".merge.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            await take_lock(fd, LOCK_S)
        except TimeoutError:
            raise IsolationError(f"Another tau has been merging for {LOCK_S:g} s; try again later.") from None
        try:
            yield
        finally:
            unlock(fd)
    finally:
        os.close(fd)


async def find_changes(run: Runner, workspace: RepositoryCopy) -> AgentChanges:
    """Commits and uncommitted files alike, against the files that the agent began with."""
    _require_no_links(workspace.files / ".git")
    calls = workspace.calls(run)
    base = workspace.info.base
    await calls.git("read-tree", "--reset", base)
    tree = await calls.snapshot()
    end = await calls.commit(tree, f"Changes of the agent {workspace.info.id}", base)
    files = await calls.changed(base, end)
    inner = sorted(await calls.repositories(tree) - await calls.repositories(base))
    return AgentChanges(base=base, end=end, files=files, repositories=inner)


def _require_no_links(repository: Path) -> None:
    """Git works outside the sandbox, and the agent could lead it elsewhere. Raises IsolationError."""
    objects = repository / "objects"
    for folder in (repository, objects, objects / "info", objects / "pack"):
        inner = folder.iterdir() if folder.is_dir() else ()
        if link := next((path for path in (folder, *inner) if path.is_symlink()), None):
            raise IsolationError(f"{link} is a link, so the changes cannot be read.")


async def save_patch(run: Runner, workspace: RepositoryCopy, changes: AgentChanges, path: Path) -> bool:
    """Write the patch and check that it reads back. Raises IsolationError."""
    calls = workspace.calls(run)
    await calls.git("diff-tree", "-r", "-p", *_WHOLE, f"--output={path}", changes.base, changes.end)
    if not changes.files:
        return True
    check = workspace.folder / "check-index"
    env = {"GIT_INDEX_FILE": str(check)}
    await calls.git("read-tree", changes.base, env=env)
    code, _ = await calls.call("apply", "--cached", "--whitespace=nowarn", str(path), env=env)
    tree = await calls.text("write-tree", env=env) if code == 0 else ""
    check.unlink(missing_ok=True)
    return tree == await calls.text("rev-parse", f"{changes.end}^{{tree}}")


async def save_inner_patches(
    run: Runner, workspace: RepositoryCopy, changes: AgentChanges, folder: Path, id: str
) -> list[str]:
    """For each repository that the agent made inside its copy, a patch with all its files."""
    saved = []
    for at, name in enumerate(changes.repositories, 1):
        inner = workspace.files / name
        _require_no_links(inner / ".git")
        private = workspace.folder / "inner" / str(at)
        calls = open_calls(run, inner, private, private / "objects")
        tree = await calls.snapshot()
        empty = await calls.text("hash-object", "-t", "tree", "-w", "/dev/null")
        path = folder / f"{id}.{at}.patch"
        await calls.git("diff-tree", "-r", "-p", *_WHOLE, f"--output={path}", empty, tree)
        saved.append(str(path))
    return saved


async def diff_text(run: Runner, workspace: RepositoryCopy, changes: AgentChanges) -> str:
    calls = workspace.calls(run)
    output = await calls.git(
        "diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", changes.base, changes.end
    )
    return output.decode("utf-8", "replace")


async def merge_files(
    run: Runner, workspace: RepositoryCopy, changes: AgentChanges, fs: FileSystem
) -> MergeOutcome:
    """Apply the changes to the files of the original, through `fs`, which records them for undo."""
    if not changes.files:
        return MergeOutcome("unchanged", [])
    root = Path(workspace.info.root)
    stats: dict[str, Stat | None] = {name: await fs.stat(root / name) for name in changes.files}
    outer = workspace.outer_calls(run)
    now = await outer.commit(await outer.snapshot(), "The files now", changes.base)
    code, output = await outer.call("merge-tree", "--write-tree", "--name-only", "-z", now, changes.end)
    first, _, rest = output.partition(b"\0")
    if code == 1:
        names = rest.partition(b"\0\0")[0].split(b"\0")
        files = sorted({os.fsdecode(name) for name in names if name})
        return MergeOutcome("conflict", files, f"Both sides changed {', '.join(files[:10])}")
    if code != 0:
        raise IsolationError(
            f"The changes could not be merged: {output.decode('utf-8', 'replace').strip()[:300]}"
        )
    merged = first.decode().strip()
    files = await outer.changed(now, merged)
    if not files:
        return MergeOutcome("already", [])
    if led_out := [name for name in files if not _is_below((root / name).parent, root)]:
        return MergeOutcome(
            "conflict", led_out, f"Links lead out of the repository: {', '.join(led_out[:10])}"
        )
    if beyond := [name for name in files if name not in stats]:
        return MergeOutcome("conflict", beyond, f"The merge would change {', '.join(beyond[:10])} too")
    await _write_all(outer, root, merged, files, stats, fs, workspace.folder / "merged")
    return MergeOutcome("applied", files)


def _is_below(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


async def _write_all(
    outer: GitCalls,
    root: Path,
    merged: str,
    files: list[str],
    stats: dict[str, Stat | None],
    fs: FileSystem,
    scratch: Path,
) -> None:
    """Write each file, or none: what was written is undone if one fails."""
    env = {"GIT_INDEX_FILE": str(scratch.with_suffix(".index")), "GIT_WORK_TREE": str(root)}
    await outer.git("read-tree", merged, env=env)
    modes = {}
    for line in (await outer.git("ls-files", "-s", "-z", env=env)).split(b"\0"):
        modes[os.fsdecode(line.partition(b"\t")[2])] = line[:6]
    there = [name for name in files if name in modes and modes[name] != GITLINK]
    scratch.mkdir(mode=0o700, exist_ok=True)
    for start in range(0, len(there), 500):
        names = there[start : start + 500]
        await outer.git("checkout-index", "-f", f"--prefix={scratch}/", "--", *names, env=env)
    undo: list[tuple[Path, bytes | None, str | None, int]] = []
    try:
        for name in files:
            path, found = root / name, stats[name]
            undo.append((path, *_content(path)))
            if name not in modes:
                await _remove(fs, path, found)
            elif modes[name] == LINK:
                if path.is_symlink() or path.exists():
                    path.unlink()
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to((scratch / name).readlink())
            elif modes[name] != GITLINK:
                if path.is_symlink():
                    path.unlink()
                    found = None
                await fs.write(path, (scratch / name).read_bytes(), expect=found or ABSENT)
                mode = path.stat().st_mode
                is_program = modes[name] == EXECUTABLE
                path.chmod(mode | (mode & 0o444) >> 2 if is_program else mode & ~0o111)
    except (OSError, ToolError) as error:
        for path, data, link, mode in reversed(undo):
            _put_back(path, data, link, mode)
        raise IsolationError(f"Nothing was merged: {error}") from None


def _content(path: Path) -> tuple[bytes | None, str | None, int]:
    if path.is_symlink():
        return None, str(path.readlink()), 0
    return (path.read_bytes(), None, path.stat().st_mode) if path.is_file() else (None, None, 0)


async def _remove(fs: FileSystem, path: Path, found: Stat | None) -> None:
    if path.is_symlink():
        path.unlink()
    elif found is not None:
        await fs.remove(path, expect=found)


def _put_back(path: Path, data: bytes | None, link: str | None, mode: int) -> None:
    if path.is_symlink() or path.exists():
        path.unlink()
    if link is not None:
        path.symlink_to(link)
    elif data is not None:
        path.write_bytes(data)
        path.chmod(mode & 0o7777)


async def make_branch(
    run: Runner, workspace: RepositoryCopy, changes: AgentChanges, message: str
) -> tuple[str, str]:
    """Commit the changes on top of the original's HEAD as `tau/task/ID`. Returns its name and commit."""
    outer = workspace.outer_calls(run)
    head = await outer.text("rev-parse", "HEAD^{commit}")
    on_base = await outer.commit(await outer.text("rev-parse", "HEAD^{tree}"), "HEAD", changes.base)
    code, output = await outer.call("merge-tree", "--write-tree", "--name-only", "-z", on_base, changes.end)
    if code != 0:
        raise IsolationError(
            "The changes depend on files that are not committed, so they cannot be a branch."
        )
    tree = output.partition(b"\0")[0].decode().strip()
    commit = await outer.commit(tree, message, head)
    name = f"tau/task/{workspace.info.id}"
    real = {
        "GIT_OBJECT_DIRECTORY": str(outer.view.real.common / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    }
    source = workspace.folder / "result"  # not in the copy, where the agent could lead the write elsewhere
    shutil.rmtree(source, ignore_errors=True)
    for folder in ("refs/heads", "objects/info"):
        (source / folder).mkdir(parents=True)
    (source / "HEAD").write_text("ref: refs/heads/result\n")
    (source / "refs/heads/result").write_text(f"{commit}\n")
    objects = workspace.files / ".git" / "objects", outer.view.real.common / "objects"
    (source / "objects/info/alternates").write_text("".join(f"{path}\n" for path in objects))
    fetch = ("fetch", "-q", "--no-tags", "--no-write-fetch-head", str(source))
    await outer.git(
        *fetch, f"+refs/heads/result:refs/heads/{name}", env={**real, "GIT_ALLOW_PROTOCOL": "file"}
    )
    shutil.rmtree(source, ignore_errors=True)
    return name, commit
