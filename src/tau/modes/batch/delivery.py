"""Pushes the changes of a task that is done as a branch, or opens a pull request, once."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from tau.base.errors import TauError
from tau.base.run import OUTSIDE, QUIET, Limits, LocalRunner, capture, secret_environ
from tau.base.text import clean_line, shortened
from tau.modes.batch.run_folder import BatchResult, DeliveryRecord, RunFolder
from tau.modes.batch.task import BatchTask
from tau.modes.batch.workspace import GIT, Workspaces

DeliveryKind = Literal["branch", "pr"]
TIMEOUT_S = 600.0


class _PullRequest(Struct):
    url: str


class Deliveries:
    """After a crash this is done again, with the same commits and no second pull request."""

    def __init__(
        self, folder: RunFolder, kind: DeliveryKind, workspaces: Workspaces, runner: LocalRunner
    ) -> None:
        self._folder = folder
        self._kind = kind
        self._workspaces = workspaces
        self._runner = runner

    def is_due(self, task: BatchTask, result: BatchResult | None) -> bool:
        if result is None or result.status != "done" or not result.patch or not task.repo:
            return False
        last = self._folder.state.deliveries.get(result.id)
        return last is None or not last.done

    async def deliver(self, task: BatchTask, result: BatchResult) -> str:
        """Returns the branch, or the address of the pull request. Raises TauError."""
        branch = f"tau/{result.id}"
        self._folder.write(DeliveryRecord(result.id, self._kind, branch))
        mirror, source = await self._workspaces.mirror(task.repo, task.commit)
        commit = await self._commit(mirror, task, result)
        await self._run((*GIT, "push", "--quiet", source, f"{commit}:refs/heads/{branch}"), mirror)
        target = (
            branch if self._kind == "branch" else await self._open_pull_request(mirror, source, branch, task)
        )
        self._folder.write(DeliveryRecord(result.id, self._kind, target, done=True))
        return target

    async def _commit(self, mirror: Path, task: BatchTask, result: BatchResult) -> str:
        """The same result always gives the same commit."""
        index = mirror / f"index-{result.id}"
        env = {
            "GIT_INDEX_FILE": str(index),
            "GIT_AUTHOR_DATE": result.started_at,
            "GIT_COMMITTER_DATE": result.started_at,
        }
        try:
            await self._run((*GIT, "read-tree", result.base_commit), mirror, env)
            patch = str(self._folder.path / result.patch)
            await self._run(
                (*GIT, "apply", "--cached", "--binary", "--whitespace=nowarn", patch), mirror, env
            )
            tree = await self._run((*GIT, "write-tree"), mirror, env)
            message = f"{_subject(task)}\n\n{shortened(result.answer, 2_000)}\n"
            words = (*GIT, "commit-tree", tree, "-p", result.base_commit, "-m", message)
            return await self._run(words, mirror, env)
        finally:
            index.unlink(missing_ok=True)

    async def _open_pull_request(self, mirror: Path, source: str, branch: str, task: BatchTask) -> str:
        found = await self._run(
            ("gh", "pr", "list", "--repo", source, "--head", branch, "--state", "all", "--json", "url"),
            mirror,
        )
        if existing := msgspec.json.decode(found or "[]", type=list[_PullRequest]):
            return existing[0].url
        words = ("gh", "pr", "create", "--repo", source, "--head", branch, "--title", _subject(task))
        return (await self._run((*words, "--body", shortened(task.prompt, 4_000)), mirror)).split("\n")[-1]

    async def _run(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> str:
        """With the user's own login. Raises TauError."""
        full = {**secret_environ(os.environ), **QUIET, "GH_PROMPT_DISABLED": "1", **(env or {})}
        limits = Limits(timeout=TIMEOUT_S)
        try:
            started = await self._runner.start(argv, cwd=cwd, env=full, sandbox=OUTSIDE, limits=limits)
            async with started as process:
                done = await capture(process)
        except FileNotFoundError:
            raise TauError(f"{argv[0]} is not installed.") from None
        said = done.output.decode("utf-8", "replace").strip()
        if done.exit.code != 0:
            last = clean_line(said.rpartition("\n")[2])
            word = next(word for word in argv[1:] if not word.startswith("-") and "=" not in word)
            raise TauError(f"{argv[0]} {word} failed: {shortened(last, 300) or 'it was interrupted'}")
        return said


def _subject(task: BatchTask) -> str:
    return shortened(" ".join(task.prompt.split()), 72)
