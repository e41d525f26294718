"""A repository with the user's own configuration, hooks and login, through the git program."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.base.programs import find_program
from tau.base.run import OUTSIDE, QUIET, Limits, Runner, capture, secret_environ
from tau.base.sizes import MIB
from tau.config.paths import repo_root

tempfile = late("tempfile")

MAX_OUTPUT_BYTES = 32 * MIB
QUERY_S, COMMIT_S = 60.0, 1_800.0
_ERRORS_APART = ("/bin/sh", "-c", 'exec "$0" "$@" 2>"$TAU_ERRORS"')
_ALWAYS = ("-c", "core.fsmonitor=false")  # what only looks starts no program of the repository
_BUSY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}


class GitError(TauError):
    """A git command failed; its output is part of the message."""


class CommitRepository(Struct, frozen=True):
    """The work tree at `root`; `folder` is its git directory. `options` go before each command of Git."""

    root: Path
    folder: Path
    runner: Runner
    program: str
    options: tuple[str, ...] = ()

    async def git(
        self,
        *words: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        limit_s: float = QUERY_S,
    ) -> bytes:
        """Its stdout. Raises GitError."""
        start = (self.program, *self.options)
        return await _run(self.runner, start, self.root, words, stdin, env, limit_s)

    async def line(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """The output of a query as text, "" if it fails."""
        try:
            return (await self.git(*words, env=env)).decode("utf-8", "replace").strip()
        except GitError:
            return ""

    async def head(self) -> str:
        """The commit that is checked out; "" before the first."""
        return await self.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    async def base(self) -> str:
        """The tree to compare with: that of HEAD, or the empty one."""
        found = await self.head()
        return (
            found
            or (await self.git("hash-object", "-w", "-t", "tree", "--stdin", stdin=b"")).decode().strip()
        )

    async def write_tree(self, env: Mapping[str, str] | None = None) -> str:
        return (await self.git("write-tree", env=env)).decode().strip()

    def in_progress(self) -> str:
        """What is under way: "a merge", or ""."""
        return next((what for name, what in _BUSY.items() if (self.folder / name).exists()), "")

    async def commit(self, message: str, env: Mapping[str, str] | None = None) -> str:
        """Hooks and signing apply. Returns the new commit. Raises GitError with what a hook printed."""
        before = await self.head()
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="tau-commit-") as file:
            file.write(message + "\n")
            file.flush()
            said = await self.git("commit", "--quiet", "-F", file.name, env=env, limit_s=COMMIT_S)
        after = await self.head()
        if after == before:
            raise GitError(f"git commit made no commit: {said.decode('utf-8', 'replace').strip()}")
        return after


async def open_repository(cwd: Path, runner: Runner) -> CommitRepository:
    """Raises UsageError outside a work tree, TauError without git."""
    outside = f'"{cwd}" is not in the work tree of a Git repository.'
    if (place := repo_root(cwd)) is None:
        raise UsageError(outside)
    program = find_program("git", avoid=place)
    if program is None:
        raise TauError("Install Git: the git program was not found.")
    try:
        words = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir")
        found = await _run(runner, (program, *_ALWAYS), cwd, words, None, None, QUERY_S)
    except GitError as error:
        if "safe.directory" in str(error):
            raise
        raise UsageError(outside) from None
    root, folder = (Path(os.fsdecode(line)) for line in found.rstrip(b"\n").split(b"\n"))
    return CommitRepository(root, folder, runner, program, _ALWAYS)


async def _run(
    runner: Runner,
    start: tuple[str, ...],
    cwd: Path,
    words: tuple[str, ...],
    stdin: bytes | None,
    env: Mapping[str, str] | None,
    limit_s: float,
) -> bytes:
    with tempfile.NamedTemporaryFile(prefix="tau-git-") as errors:
        full = {**secret_environ(), **QUIET, "TAU_ERRORS": errors.name, "LC_ALL": "C.UTF-8", **(env or {})}
        started = await runner.start(
            (*_ERRORS_APART, *start, "--literal-pathspecs", *words),
            cwd=cwd,
            env=full,
            sandbox=OUTSIDE,
            limits=Limits(timeout=limit_s),
            stdin=stdin,
        )
        async with started as process:
            done = await capture(process, max_bytes=MAX_OUTPUT_BYTES)
        said = errors.read(64 * 1024).decode("utf-8", "replace").strip()
    if done.dropped_bytes:
        raise GitError(f"git {words[0]} printed more than {MAX_OUTPUT_BYTES // MIB} MiB; stage less at once.")
    if done.exit.timed_out:
        raise GitError(f"git {words[0]} did not finish within {limit_s:.0f} s.\n{said}".strip())
    if done.exit.code != 0:
        output = done.output[-64 * 1024 :].decode("utf-8", "replace").strip() if words[0] == "commit" else ""
        told = "\n".join(text for text in (said, output) if text)
        raise GitError(f"git {words[0]} failed: {told or 'it was interrupted'}")
    return done.output
