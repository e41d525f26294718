"""Splits what is staged into several commits, built in a temporary index."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import DecodeError, Struct

from tau.base import secrets
from tau.base.errors import TauError
from tau.base.tasks import shielded
from tau.coding.commit.repository import CommitRepository
from tau.coding.commit.staged import Staged, StagedFile, StagedHunk, apply_hunks
from tau.coding.commit.style import CommitStyle
from tau.coding.commit.writer import (
    CHARS_PER_TOKEN,
    CORRECTIONS,
    CommitModel,
    clean_message,
    decode_answer,
    fallback_message,
    kind_of,
)
from tau.config.settings import CommitSettings

MAX_CHANGES = 400
_NONE = "0" * 6


class StagedChange(Struct, frozen=True):
    """A whole file, or one of its hunks: what goes to one commit."""

    file: StagedFile
    hunk: StagedHunk | None = None

    @property
    def label(self) -> str:
        place = "" if self.hunk is None else f", lines {self.hunk.new_start} and on"
        return f"{self.file.change}{place}"


class PlannedCommit(Struct, frozen=True):
    changes: tuple[StagedChange, ...]
    message: str


class CommitPlan(Struct, frozen=True):
    """`fallback` says why no model made it."""

    commits: tuple[PlannedCommit, ...]
    fallback: str = ""


class _AnswerCommit(Struct):
    changes: list[int]
    message: str


class _Answer(Struct):
    commits: list[_AnswerCommit]


def changes_of(files: Sequence[StagedFile]) -> list[StagedChange]:
    changes: list[StagedChange] = []
    for file in files:
        if file.can_split and not file.is_hidden:
            changes += [StagedChange(file, hunk) for hunk in file.hunks]
        else:
            changes.append(StagedChange(file))
    return changes if len(changes) <= MAX_CHANGES else [StagedChange(file) for file in files]


async def plan_split(
    files: Sequence[StagedFile],
    style: CommitStyle,
    settings: CommitSettings,
    connect: Callable[[], Any],
    *,
    context: str = "",
) -> CommitPlan:
    """Every change is in exactly one commit. Without a valid plan of a model, files group by kind."""
    changes = changes_of(files)
    try:
        model: CommitModel = await connect()
        limit = max(200, model.diff_tokens * CHARS_PER_TOKEN // max(1, len(changes)))
        shown = "\n".join(
            f'<change id="{n}">\n{_show(one, limit)}\n</change>' for n, one in enumerate(changes, 1)
        )
        hint = f"<context>\n{context}\n</context>" if context else ""
        said, problem = "", ""
        for _ in range(1 + CORRECTIONS):
            again = (
                f"<previous_answer>\n{said}\n</previous_answer>\nThis was refused: {problem}"
                if problem
                else ""
            )
            timeout_s = settings.map_reduce_timeout_ms / 1000
            said = await model.ask("split", style.describe(), hint, shown, again, timeout_s=timeout_s)
            commits, problem = _read_plan(said, changes, style)
            if not problem:
                return CommitPlan(commits)
        raise TauError(f"The model's plans were not valid: {problem}")
    except TauError as error:
        return CommitPlan(_by_kind(changes, style), str(error))


def _show(change: StagedChange, limit: int) -> str:
    if change.file.is_hidden:
        return change.label
    data = change.file.patch if change.hunk is None else change.hunk.text
    return f"{change.label}\n{secrets.mask(data.decode('utf-8', 'replace'))[:limit]}"


def _read_plan(
    said: str, changes: Sequence[StagedChange], style: CommitStyle
) -> tuple[tuple[PlannedCommit, ...], str]:
    try:
        answer: _Answer = decode_answer(said, _Answer)
    except DecodeError as error:
        return (), f"It is not the JSON that was asked for: {error}."
    numbers = [number for commit in answer.commits for number in commit.changes]
    if sorted(numbers) != list(range(1, len(changes) + 1)):
        return (), f"Every change from 1 to {len(changes)} must be in exactly one commit."
    commits: list[PlannedCommit] = []
    for commit in answer.commits:
        message = secrets.mask(clean_message(commit.message))
        if problem := style.problem(message) or ("" if commit.changes else "A commit has no changes."):
            return (), problem
        commits.append(PlannedCommit(tuple(changes[number - 1] for number in commit.changes), message))
    return tuple(commits), ""


def _by_kind(changes: Sequence[StagedChange], style: CommitStyle) -> tuple[PlannedCommit, ...]:
    groups: dict[str, list[StagedChange]] = {}
    for change in changes:
        kind = kind_of([change.file])
        groups.setdefault("code" if kind in ("feat", "chore") else kind, []).append(change)
    commits: list[PlannedCommit] = []
    for members in groups.values():
        files = list({change.file.path: change.file for change in members}.values())
        commits.append(PlannedCommit(tuple(members), fallback_message(files, style)))
    return tuple(commits)


async def commit_plan(repository: CommitRepository, staged: Staged, plan: CommitPlan) -> list[str]:
    """Make the commits; the user's index stays as it is, and the last tree is what it holds.

    A failure or a cancellation moves HEAD back. Raises TauError.
    """
    before = await repository.head()
    index = repository.folder / "tau-split.index"
    env = {"GIT_INDEX_FILE": str(index)}
    made: list[str] = []
    is_done = False
    try:
        await repository.git("read-tree", *([before] if before else ["--empty"]), env=env)
        waiting = {file.path: list(_of(file, plan)) for file in staged.files}
        for number, commit in enumerate(plan.commits, 1):
            tree = staged.tree
            if number < len(plan.commits):
                await _stage(repository, commit, waiting, env)
                tree = await repository.write_tree(env)
            else:
                await repository.git("read-tree", staged.tree, env=env)
            made.append(await repository.commit(commit.message, env))
            if await repository.line("rev-parse", "HEAD^{tree}") != tree:
                raise TauError(
                    "A hook changed what was committed, so the commits were undone. Commit without --split."
                )
        is_done = True
        return made
    finally:
        index.unlink(missing_ok=True)
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
        if not is_done:
            await shielded(_move_back(repository, before))


async def _move_back(repository: CommitRepository, before: str) -> None:
    now = await repository.head()
    if now == before:
        return
    if before:
        await repository.git("update-ref", "-m", "tau commit --split: undone", "HEAD", before, now)
    else:
        await repository.git("update-ref", "-d", "HEAD", now)


def _of(file: StagedFile, plan: CommitPlan) -> list[StagedHunk]:
    """The hunks of a file that no commit has yet."""
    return [
        change.hunk
        for commit in plan.commits
        for change in commit.changes
        if change.file is file and change.hunk is not None
    ]


async def _stage(
    repository: CommitRepository,
    commit: PlannedCommit,
    waiting: dict[bytes, list[StagedHunk]],
    env: dict[str, str],
) -> None:
    """Bring the temporary index to what it is after this commit."""
    rows: list[bytes] = []
    for file in {change.file.path: change.file for change in commit.changes}.values():
        blob = file.new_blob
        own = [change.hunk for change in commit.changes if change.file is file and change.hunk is not None]
        if own:
            left = waiting[file.path] = [hunk for hunk in waiting[file.path] if hunk not in own]
            if left:
                blob = await _partial_blob(repository, file, left)
        if file.status == "R":
            rows.append(f"0 {'0' * len(blob)}\t".encode() + file.old_path + b"\0")
        mode = "0" if file.new_mode == _NONE else file.new_mode
        rows.append(f"{mode} {blob}\t".encode() + file.path + b"\0")
    await repository.git("update-index", "-z", "--index-info", stdin=b"".join(rows), env=env)


async def _partial_blob(repository: CommitRepository, file: StagedFile, left: Sequence[StagedHunk]) -> str:
    old = await repository.git("cat-file", "blob", file.old_blob)
    new = await repository.git("cat-file", "blob", file.new_blob)
    done = [hunk for hunk in file.hunks if hunk not in left]
    data = apply_hunks(old, new, done)
    return (await repository.git("hash-object", "-w", "--stdin", stdin=data)).decode().strip()
