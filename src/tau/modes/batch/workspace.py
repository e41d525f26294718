"""The folder an attempt works in: a clone of a mirrored repository, a given folder, or an empty one."""

import asyncio
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tau.base import git
from tau.base.errors import TauError
from tau.base.files import make_private
from tau.base.run import OUTSIDE, Limits, LocalRunner, capture
from tau.base.sizes import MIB, format_bytes
from tau.base.text import clean_line, shortened

MAX_PATCH_BYTES = 256 * MIB
MAX_COLLECTED_BYTES = 64 * MIB
MAX_COLLECTED_FILES = 1_000
_GIT_TIMEOUT_S = 1_800.0
GIT = (
    "git",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "gc.auto=0",
    "-c",
    "advice.detachedHead=false",
)


class SetupError(TauError):
    """The attempt cannot begin."""


class TaskWorkspace(Struct, frozen=True):
    """`base` is the commit it started from."""

    path: Path
    base: str = ""
    own: bool = True  # made for this attempt, and removed with it


class Workspaces:
    """Makes and removes workspaces below `folder`, with one mirror for each repository."""

    def __init__(self, folder: Path, runner: LocalRunner) -> None:
        self._folder = folder
        self._runner = runner
        self._locks: dict[str, asyncio.Lock] = {}

    async def open(self, name: str, *, repo: str, commit: str, folder: str) -> TaskWorkspace:
        """Raises SetupError."""
        if folder:
            path = Path(folder).expanduser()
            if not path.is_dir():
                raise SetupError(f'dir: the folder "{folder}" does not exist.')
            return TaskWorkspace(path.resolve(), await self._head(path), own=False)
        path = self._folder / "work" / name
        await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
        if not repo:
            make_private(path)
            return TaskWorkspace(path)
        mirror, source = await self.mirror(repo, commit)
        async with self._lock(str(mirror)):
            base = await self._git(
                mirror, "rev-parse", "--verify", "--quiet", f"{commit or 'HEAD'}^{{commit}}"
            )
            if not base:
                raise SetupError(f'commit: "{commit or "HEAD"}" is not in {repo}.')
            # Not a worktree: that one could move the branches that other tasks begin with.
            clone = ("clone", "--quiet", "--shared", "--no-checkout", "--", str(mirror), str(path))
            await self._git(mirror.parent, *clone, check=True)
        await self._git(path, "remote", "set-url", "origin", source, check=True)
        await self._git(path, "checkout", "--quiet", "--detach", base, check=True)
        return TaskWorkspace(path, base)

    async def write_patch(self, workspace: TaskWorkspace, target: Path) -> None:
        """Write all changes since the base, with untracked and binary files, if there are any.

        The repository's own configuration, which the agent may have changed, does not count.
        """
        if not workspace.base:
            return
        private = target.with_suffix(".git")
        try:
            view = await asyncio.to_thread(git.open_git_view, workspace.path, private)
            index = private / "patch-index"
            env = {**view.env(index=index, user_config=False), "GIT_OBJECT_DIRECTORY": str(private / "own")}
            (private / "own").mkdir(exist_ok=True)
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(view.real.common / "objects")
            for words in (("read-tree", workspace.base), ("add", "--all", "--", ".")):
                await self._run(view.command(*words), workspace.path, env)
            tree = (await self._run(view.command("write-tree"), workspace.path, env)).decode().strip()
            options = ("--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv")
            diff = view.command("diff-tree", "-p", *options, workspace.base, tree)
            patch = await self._run(diff, workspace.path, env, MAX_PATCH_BYTES)
        except OSError as error:
            raise TauError(f"The changes cannot be read: {error}.") from None
        finally:
            await asyncio.to_thread(shutil.rmtree, private, ignore_errors=True)
        if patch:
            await asyncio.to_thread(target.write_bytes, patch)

    async def collect(self, workspace: TaskWorkspace, patterns: Sequence[str], target: Path) -> list[str]:
        """Copy the files that match; links and what leads out of the workspace are left out."""
        return await asyncio.to_thread(_collect, workspace.path, patterns, target)

    async def remove(self, workspace: TaskWorkspace) -> None:
        if not workspace.own:
            return
        await asyncio.to_thread(shutil.rmtree, workspace.path, ignore_errors=True)

    async def mirror(self, repo: str, commit: str) -> tuple[Path, str]:
        """The bare copy of a repository, with this commit if it has it, and where it comes from."""
        source = _source(repo)
        name = hashlib.sha256(source.encode()).hexdigest()[:16]
        mirror = self._folder / "mirrors" / f"{name}.git"
        async with self._lock(str(mirror)):
            if not (mirror / "HEAD").exists():
                make_private(mirror.parent)
                part = mirror.with_suffix(f".part-{os.getpid()}")  # on a cluster, others may clone it too
                await asyncio.to_thread(shutil.rmtree, part, ignore_errors=True)
                words = ("clone", "--quiet", "--bare", "--no-hardlinks", "--", source, str(part))
                await self._git(mirror.parent, *words, check=True)
                try:
                    part.rename(mirror)
                except OSError:  # another process was faster
                    await asyncio.to_thread(shutil.rmtree, part, ignore_errors=True)
            elif commit and not await self._git(mirror, "cat-file", "-t", f"{commit}^{{commit}}"):
                fetch = ("fetch", "--quiet", "--no-auto-gc", "--", source, "+refs/*:refs/*")
                await self._git(mirror, *fetch, check=True)
        return mirror, source

    async def _head(self, path: Path) -> str:
        try:
            return await self._git(path, "rev-parse", "--verify", "--quiet", "HEAD")
        except SetupError:
            return ""

    async def _git(self, cwd: Path, *words: str, check: bool = False) -> str:
        """What git prints; "" if it fails, unless `check`: then SetupError."""
        limits = Limits(timeout=_GIT_TIMEOUT_S)
        try:
            started = await self._runner.start((*GIT, *words), cwd=cwd, sandbox=OUTSIDE, limits=limits)
            async with started as process:
                done = await capture(process)
        except FileNotFoundError:
            raise SetupError("git is not installed.") from None
        if done.exit.code == 0:
            return done.output.decode("utf-8", "replace").strip()
        if check:
            said = clean_line(done.output.decode("utf-8", "replace").strip().rpartition("\n")[2])
            raise SetupError(f"git {words[0]} failed: {shortened(said, 300) or 'it was interrupted'}")
        return ""

    async def _run(self, argv: Sequence[str], cwd: Path, env: dict[str, str], max_bytes: int = MIB) -> bytes:
        # stderr apart: warnings about line ends are no part of a patch
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            started = await self._runner.start(argv, cwd=cwd, env=env, sandbox=OUTSIDE, stderr=nowhere)
            async with started as process:
                done = await capture(process, max_bytes=max_bytes)
        finally:
            os.close(nowhere)
        if done.dropped_bytes:
            raise TauError(f"The changes are larger than {format_bytes(max_bytes)}.")
        if done.exit.code != 0:
            raise TauError(f"The changes in {cwd} cannot be read: git failed.")
        return done.output

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())


def _source(repo: str) -> str:
    """An address as it is, a path absolute and resolved."""
    if "://" in repo or re.match(r"[^/]+@[^/:]+:", repo):
        return repo
    path = Path(repo).expanduser()
    if not path.exists():
        raise SetupError(f'repo: there is no repository at "{repo}".')
    return str(path.resolve())


def _collect(root: Path, patterns: Sequence[str], target: Path) -> list[str]:
    real = root.resolve()
    taken: list[str] = []
    room = MAX_COLLECTED_BYTES
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            name = str(path.relative_to(root))
            if name in taken or len(taken) >= MAX_COLLECTED_FILES:
                continue
            with suppress(OSError):
                if not path.resolve().is_relative_to(real) or ".git" in Path(name).parts:
                    continue
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                with os.fdopen(fd, "rb") as file:
                    info = os.fstat(fd)
                    if not stat.S_ISREG(info.st_mode) or info.st_size > room:
                        continue
                    copy = target / name
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    with copy.open("wb") as out:
                        shutil.copyfileobj(file, out)
                room -= info.st_size
                taken.append(name)
    return taken
