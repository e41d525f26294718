"""Runs git for copies of repositories: without the repository's configuration, with private objects."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tau.base.errors import TauError
from tau.base.files import make_private
from tau.base.git import GitView, open_git_view
from tau.base.run import OUTSIDE, Limits, Runner, capture
from tau.base.sizes import MIB

SNAPSHOT_INDEX = "snapshot-index"
TIMEOUT_S = 300.0
MAX_LISTING = 64 * MIB
GITLINK = b"160000"
_OWN = ("user.name=tau", "user.email=tau@localhost", "commit.gpgsign=false", "gc.auto=0")
WHO = [word for setting in _OWN for word in ("-c", setting)]


class IsolationError(TauError):
    """A copy of a repository cannot be made or merged."""


class GitCalls(Struct, frozen=True):
    """Git on one work tree. New objects go to `objects`, which borrows those of the repository."""

    run: Runner
    view: GitView
    objects: Path
    index: Path
    borrowed: tuple[Path, ...] = ()
    """More objects to read."""

    async def git(
        self, *words: str, codes: tuple[int, ...] = (0,), env: Mapping[str, str] | None = None
    ) -> bytes:
        """The output. Raises IsolationError for another exit code."""
        code, output = await self.call(*words, env=env)
        if code not in codes:
            reason = output.decode("utf-8", "replace").strip().splitlines()
            raise IsolationError(f"git {words[0]} failed: {reason[-1] if reason else f'exit code {code}'}.")
        return output

    async def call(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        own = {
            **self.view.env(index=self.index),
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(
                str(path) for path in (self.view.real.common / "objects", *self.borrowed)
            ),
            **(env or {}),
        }
        process = await self.run.start(
            [self.view.program, "--no-optional-locks", "-c", "core.fsmonitor=false", *WHO, *words],
            cwd=self.view.root,
            env=own,
            sandbox=OUTSIDE,
            limits=Limits(timeout=TIMEOUT_S),
        )
        async with process:
            result = await capture(process, max_bytes=MAX_LISTING)
        if result.dropped_bytes:
            raise IsolationError(f"git {words[0]} wrote too much.")
        return (result.exit.code if result.exit.code is not None else -1), result.output

    async def text(self, *words: str, **more: Mapping[str, str]) -> str:
        return (await self.git(*words, **more)).decode("utf-8", "surrogateescape").strip()  # type: ignore[arg-type]

    async def snapshot(self) -> str:
        """The tree of all files that are not ignored: staged, changed and untracked."""
        await self.git("add", "-A", "--", ".")
        return await self.text("write-tree")

    async def commit(self, tree: str, message: str, *parents: str) -> str:
        named = [word for parent in parents for word in ("-p", parent)]
        return await self.text("commit-tree", tree, *named, "-m", message)

    async def repositories(self, tree: str) -> set[str]:
        """Submodules and other repositories in it: a tree has only their commits."""
        lines = (await self.git("ls-tree", "-r", "-z", tree)).split(b"\0")
        return {os.fsdecode(line.partition(b"\t")[2]) for line in lines if line.startswith(GITLINK)}

    async def changed(self, old: str, new: str) -> list[str]:
        output = await self.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
        return [name.decode("utf-8", "surrogateescape") for name in output.split(b"\0") if name]


def open_calls(run: Runner, root: Path, folder: Path, objects: Path) -> GitCalls:
    """`folder` is for private files. Raises IsolationError."""
    try:
        view = open_git_view(root, folder)
        make_private(objects)
    except OSError as error:
        raise IsolationError(f"Git cannot be used on {root}: {error.strerror or error}.") from None
    return GitCalls(run, view, objects, folder / SNAPSHOT_INDEX)
