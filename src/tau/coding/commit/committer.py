"""One commit from start to end, for `tau commit` and `/commit`."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.base import log
from tau.base.errors import TauError, UsageError
from tau.base.run import Runner
from tau.coding.commit.changelog import ChangelogUpdate, plan_changelogs, stage_changelogs
from tau.coding.commit.repository import COMMIT_S, CommitRepository, open_repository
from tau.coding.commit.splitting import CommitPlan, PlannedCommit, StagedChange, commit_plan, plan_split
from tau.coding.commit.staged import Staged, find_secrets, read_blobs, read_staged
from tau.coding.commit.style import read_style
from tau.coding.commit.writer import CommitModel, write_message
from tau.config.settings import CommitSettings

MAX_SECRETS = 10


class CommitOptions(Struct, frozen=True, kw_only=True):
    split: bool = False
    all: bool = False
    push: bool = False
    dry_run: bool = False
    changelog: bool = True
    one_call: bool = False
    context: str = ""


class Proposal(Struct, frozen=True):
    """What would be committed. `fallback` says why no model wrote the messages."""

    staged: Staged
    plan: CommitPlan
    changelogs: tuple[ChangelogUpdate, ...] = ()

    def describe(self) -> str:
        """The messages and their files, for people."""
        blocks: list[str] = []
        many = len(self.plan.commits) > 1
        for number, commit in enumerate(self.plan.commits, 1):
            names = "\n".join(f"  {change.label}" for change in commit.changes)
            head = f"Commit {number} of {len(self.plan.commits)}\n" if many else ""
            blocks.append(f"{head}{commit.message}\n\n{names}".rstrip())
        for update in self.changelogs:
            lines = [f"  {section}: {text}" for section, texts in update.entries.items() for text in texts]
            blocks.append("\n".join([update.path, *lines]))
        if self.plan.fallback:
            blocks.append(f"Written without a model: {self.plan.fallback}")
        return "\n\n".join(blocks)


class CommitResult(Struct, frozen=True, rename="camel"):
    """What `--json` prints."""

    messages: tuple[str, ...]
    commits: tuple[str, ...] = ()
    files: tuple[tuple[str, ...], ...] = ()
    changelogs: tuple[str, ...] = ()
    fallback: str = ""
    pushed: bool = False
    dry_run: bool = False


class Committer:
    """`connect` gives the model when one is needed; `approve` may refuse the proposal."""

    def __init__(
        self,
        cwd: Path,
        runner: Runner,
        settings: CommitSettings,
        connect: Callable[[], Awaitable[CommitModel]],
        approve: Callable[[Proposal], Awaitable[bool]],
    ) -> None:
        self._cwd = cwd
        self._runner = runner
        self._settings = settings
        self._connect = connect
        self._approve = approve

    async def commit(self, options: CommitOptions) -> CommitResult | None:
        """None if it was not approved. Raises TauError."""
        repository = await open_repository(self._cwd, self._runner)
        if options.split and (what := repository.in_progress()):
            raise UsageError(
                f"{what.capitalize()} is in progress, which is one commit; commit without --split."
            )
        proposal = await self._propose(repository, options)
        plan = proposal.plan
        result = CommitResult(
            tuple(commit.message for commit in plan.commits),
            files=tuple(tuple(dict.fromkeys(one.file.name for one in c.changes)) for c in plan.commits),
            changelogs=tuple(update.path for update in proposal.changelogs),
            fallback=plan.fallback,
            dry_run=options.dry_run,
        )
        if not await self._approve(proposal):
            return result if options.dry_run else None
        if options.dry_run:
            return result
        made = await self._make(repository, proposal, options)
        if options.push:
            await repository.git("push", limit_s=COMMIT_S)
        return replace(result, commits=tuple(made), pushed=options.push)

    async def _propose(self, repository: CommitRepository, options: CommitOptions) -> Proposal:
        staged = await self._read(repository, options)
        blobs = await read_blobs(repository, staged.files)
        if found := await asyncio.to_thread(find_secrets, staged.files, blobs):
            places = ", ".join(found[:MAX_SECRETS]) + (" and more" if len(found) > MAX_SECRETS else "")
            raise TauError(
                f"What is staged looks like it holds secrets: {places}. Unstage them, or commit with git."
            )
        style = await read_style(repository)
        if options.split and len(staged.files):
            known = (staged.files, style, self._settings, self._connect)
            return Proposal(staged, await plan_split(*known, context=options.context))
        if not staged.files and (text := _merge_message(repository)):
            return Proposal(staged, CommitPlan((PlannedCommit((), text),)))
        written = await write_message(
            staged.files,
            style,
            self._settings,
            self._connect,
            context=options.context,
            one_call=options.one_call,
        )
        changes = tuple(StagedChange(file) for file in staged.files)
        plan = CommitPlan((PlannedCommit(changes, written.text),), written.fallback)
        wants = options.changelog and not (options.all or written.fallback or written.automatic)
        updates: tuple[ChangelogUpdate, ...] = ()
        if wants and not repository.in_progress():
            try:
                model = await self._connect()
                updates = tuple(await plan_changelogs(repository, staged.files, self._settings, model))
            except TauError as error:
                log.warning("The changelog was not updated.", error)
        return Proposal(staged, plan, updates)

    async def _read(self, repository: CommitRepository, options: CommitOptions) -> Staged:
        """With `all`, what `git commit --all` would stage, without staging it yet."""
        if not options.all:
            return await read_staged(repository)
        copy = repository.folder / "tau-all.index"
        env = {"GIT_INDEX_FILE": str(copy)}
        try:
            if (index := await _index(repository)).exists():
                shutil.copy2(index, copy)  # git compares its time with those of files
            await repository.git("add", "--update", "--", ".", env=env)
            return await read_staged(repository, env)
        finally:
            copy.unlink(missing_ok=True)

    async def _make(
        self, repository: CommitRepository, proposal: Proposal, options: CommitOptions
    ) -> list[str]:
        """Raises TauError; then the index is what it was."""
        index = await _index(repository)
        saved = index.with_name("tau-saved.index")
        if index.exists():
            shutil.copy2(index, saved)
        files: dict[str, bytes] = {}
        is_done = False
        try:
            if options.all:
                await repository.git("add", "--update", "--", ".")
            if await repository.write_tree() != proposal.staged.tree:
                raise TauError("The staged changes are no longer the same; run it again.")
            if options.split and len(proposal.plan.commits) > 1:
                made = await commit_plan(repository, proposal.staged, proposal.plan)
            else:
                files = await stage_changelogs(repository, proposal.changelogs)
                made = [await repository.commit(proposal.plan.commits[0].message)]
            is_done = True
            return made
        finally:
            if not is_done and (options.all or proposal.changelogs):
                _restore(repository, index, saved, files)
            saved.unlink(missing_ok=True)


def _restore(repository: CommitRepository, index: Path, saved: Path, files: dict[str, bytes]) -> None:
    if saved.exists():
        saved.replace(index)
    for name, data in files.items():
        (repository.root / name).write_bytes(data)


async def _index(repository: CommitRepository) -> Path:
    return repository.root / await repository.line("rev-parse", "--git-path", "index")


def _merge_message(repository: CommitRepository) -> str:
    """What git prepared for a merge that changes nothing."""
    try:
        text = (repository.folder / "MERGE_MSG").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()
