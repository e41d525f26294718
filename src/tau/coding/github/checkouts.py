"""Work trees of pull requests: fetched, put beside the repository, and pushed back where they came from."""

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.backends.github.gh import Gh
from tau.backends.github.names import (
    GitSettings,
    RepositoryName,
    check_word,
    checkout_host,
    checkout_repository,
    parse_remote,
    parse_repository,
    parse_url,
    read_settings,
)
from tau.backends.github.searches import SHORT_SHA, flat
from tau.backends.github.threads import Actor
from tau.base.errors import TauError, ToolError
from tau.base.files import locked, make_private
from tau.base.run import Runner
from tau.base.tasks import spawn
from tau.coding.commit.repository import CommitRepository, GitError, open_repository
from tau.coding.project_memory import primary_checkout
from tau.config.paths import folder_name

MAX_PARALLEL = 8
MAX_PULL_REQUESTS = 50
MAX_SHOWN = 10
FETCH_S = 600.0
LOCK_S, LOCK_PAUSE_S = 300.0, 0.1
# core.hooksPath may lead to files that the agent, or whoever wrote the pull request, can change.
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
CHECKOUT_FIELDS = (
    *("number", "title", "url", "headRefName", "headRefOid", "headRepository", "headRepositoryOwner"),
    *("isCrossRepository", "maintainerCanModify"),
)
_KEYS = ("HeadRef", "Url", "IsCrossRepository", "MaintainerCanModify")


class _Head(Struct, frozen=True):
    name: str = ""


class _PullRequest(Struct, frozen=True, rename="camel"):
    number: int
    title: str
    url: str
    head_ref_name: str
    head_ref_oid: str
    head_repository: _Head | None = None
    head_repository_owner: Actor | None = None
    is_cross_repository: bool = False
    maintainer_can_modify: bool = False


class _CloneUrls(Struct, frozen=True, rename="camel"):
    ssh_url: str = ""
    url: str = ""


class CheckoutResult(Struct, frozen=True, rename="camel", kw_only=True):
    """The work tree of a pull request, or why there is none."""

    number: int = 0
    title: str = ""
    url: str = ""
    branch: str = ""
    worktree_path: str = ""
    remote: str = ""
    remote_branch: str = ""
    head_sha: str = ""
    reused: bool = False
    error: str = ""


class PushTarget(Struct, frozen=True, kw_only=True):
    """Where a branch goes, as pr_checkout recorded it."""

    branch: str
    remote: str
    remote_branch: str
    remote_url: str
    pr_url: str
    refusal: str = ""


def worktree_folder(root: Path, worktrees: Path) -> Path:
    """The folder of the work trees of the repository whose primary checkout is `root`."""
    return worktrees / folder_name(root)


def worktree_target(pr: str | None, cwd: Path, worktrees: Path) -> Path:
    """What a checkout writes: the work tree of a number or an address, else the folder of all."""
    folder = worktree_folder(primary_checkout(cwd), worktrees)
    url = parse_url(pr or "", "pull")
    number = str(url.number) if url is not None else (pr or "").strip().removeprefix("#")
    return folder / f"pr-{int(number)}" if number.isascii() and number.isdigit() else folder


class PullRequestCheckouts:
    """Checks pull requests out for one folder. Changes of a repository happen one after the other."""

    def __init__(self, gh: Gh, runner: Runner, cwd: Path, worktrees: Path) -> None:
        self._gh = gh
        self._runner = runner
        self._cwd = cwd
        self._worktrees = worktrees

    async def check_out(self, prs: Sequence[str | None], repo: str, *, force: bool) -> list[CheckoutResult]:
        """Each pull request fails alone. Raises ToolError outside a repository."""
        if len(prs) > MAX_PULL_REQUESTS:
            raise ToolError(f"At most {MAX_PULL_REQUESTS} pull requests at once, not {len(prs)}.")
        repository = await _open(self._cwd, self._runner)
        gate = asyncio.Semaphore(MAX_PARALLEL)

        async def find(pr: str | None) -> "_Resolved | CheckoutResult":
            async with gate:
                try:
                    return await self._resolve(pr, repo)
                except TauError as error:
                    return CheckoutResult(title=flat(pr or "the current branch"), error=str(error))

        async with asyncio.TaskGroup() as group:
            tasks = [spawn(group, find(pr)) for pr in prs]
        done: list[CheckoutResult] = []
        async with AsyncExitStack() as stack:
            await self._lock(stack)
            for task in tasks:
                found = task.result()
                if isinstance(found, CheckoutResult):
                    done.append(found)
                    continue
                try:
                    done.append(await self._add(repository, found, force))
                except (TauError, OSError) as error:
                    done.append(_failed(found.pr, str(error)))
        return done

    async def _lock(self, stack: AsyncExitStack) -> None:
        """The repository's lock, across processes; work trees share its configuration."""
        folder = worktree_folder(primary_checkout(self._cwd), self._worktrees)
        try:
            make_private(folder)
            async with asyncio.timeout(LOCK_S):
                while True:
                    try:
                        stack.enter_context(locked(folder / "repository", timeout_s=0.0))
                        return
                    except TimeoutError:
                        await asyncio.sleep(LOCK_PAUSE_S)
        except TimeoutError:
            raise ToolError(f"Another process has changed the work trees in {folder} for too long.") from None
        except OSError as error:
            raise ToolError(f"The work trees in {folder} cannot be changed: {error}") from None

    async def _resolve(self, pr: str | None, repo: str) -> "_Resolved":
        url = parse_url(pr or "", "pull")
        named = parse_repository(repo) if repo and url is None else None
        if pr is not None and url is None:
            if "://" in pr:  # gh would go where it leads, whatever the repository
                raise ToolError(f"{pr} is not the address of a pull request.")
            named = named or checkout_repository(self._cwd)
        words = ["pr", "view", *([] if pr is None else [check_word("pr", pr)])]
        words += ["--repo", named.argument] if named is not None else []
        chosen = named if url is None else url.repository
        host = checkout_host(self._cwd) if chosen is None else chosen.host
        found = await self._gh.view(_PullRequest, words, CHECKOUT_FIELDS, host=host, repo=named is not None)
        home = parse_url(found.url, "pull")
        if not found.is_cross_repository:
            return _Resolved(found, home.repository if home else None, "")
        if found.head_repository is None or found.head_repository_owner is None:
            raise ToolError(
                f"The fork of pull request #{found.number} was deleted; its branch cannot be fetched."
            )
        fork = RepositoryName(
            home.repository.host if home else "github.com",
            found.head_repository_owner.login,
            found.head_repository.name,
        )
        words = ["repo", "view", parse_repository(fork.argument).argument]
        urls = await self._gh.view(_CloneUrls, words, ("sshUrl", "url"), host=fork.host, repo=True)
        origin = read_settings(self._cwd).get("remote", "origin", "url")
        uses_ssh = origin.startswith(("git@", "ssh://"))
        return _Resolved(found, fork, urls.ssh_url if uses_ssh else f"{urls.url.removesuffix('.git')}.git")

    async def _add(self, repository: CommitRepository, found: "_Resolved", force: bool) -> CheckoutResult:
        pr, branch = found.pr, f"pr-{found.pr.number}"
        remote_branch = check_word("headRefName", pr.head_ref_name)
        remote = await self._remote(repository, found) if pr.is_cross_repository else "origin"
        tracking = f"refs/remotes/{remote}/{remote_branch}"
        fetched = (f"+refs/heads/{remote_branch}:{tracking}",)
        await repository.git(
            "fetch", "--no-tags", "--no-recurse-submodules", remote, *fetched, limit_s=FETCH_S
        )
        head = await repository.line("rev-parse", "--verify", f"{tracking}^{{commit}}")
        current = await repository.line("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
        place = await _worktree_of(repository, branch)
        if current and not await _contains(repository, current, head):
            await self._reset(repository, branch, current, head, place, force=force)
        elif not current:
            await repository.git("branch", "--no-track", branch, head)
        path = place or worktree_target(str(pr.number), self._cwd, self._worktrees)
        if place is None:
            if path.exists() or path.is_symlink():
                raise ToolError(f"{path} exists but is no work tree of {branch}; move it away first.")
            await repository.git("worktree", "add", "--quiet", str(path), branch, limit_s=FETCH_S)
        values = (remote_branch, pr.url, _flag(pr.is_cross_repository), _flag(pr.maintainer_can_modify))
        pairs = {"remote": remote, "merge": f"refs/heads/{remote_branch}", "pushRemote": remote}
        pairs |= {f"tauPr{key}": value for key, value in zip(_KEYS, values, strict=True)}
        for key, value in pairs.items():
            await repository.git("config", f"branch.{branch}.{key}", value)
        return CheckoutResult(
            number=pr.number,
            title=flat(pr.title),
            url=pr.url,
            branch=branch,
            worktree_path=str(path),
            remote=remote,
            remote_branch=remote_branch,
            head_sha=head,
            reused=place is not None,
        )

    async def _reset(
        self,
        repository: CommitRepository,
        branch: str,
        current: str,
        head: str,
        place: Path | None,
        *,
        force: bool,
    ) -> None:
        """Move the branch to the pull request's head. Raises ToolError if that would lose work."""
        if not force:
            raise ToolError(
                f"The branch {branch} is at {current[:SHORT_SHA]}, the pull request at {head[:SHORT_SHA]}; "
                "pass `force` to reset it."
            )
        lost = (await repository.line("log", "--oneline", current, "--not", head, "--remotes")).splitlines()
        changed: list[str] = []
        if place is not None:
            tree = replace(repository, root=place)
            changed = (await tree.git("status", "--porcelain")).decode("utf-8", "replace").splitlines()
        if lost or changed:
            items = [*(f"commit {flat(row)}" for row in lost), *(f"file {flat(row)}" for row in changed)]
            rest = f" and {len(items) - MAX_SHOWN} more" if len(items) > MAX_SHOWN else ""
            shown = "; ".join(items[:MAX_SHOWN])
            raise ToolError(
                f"Resetting {branch} would lose work that is nowhere else: {shown}{rest}. "
                "Commit and push it, or move it away, first."
            )
        if place is None:
            await repository.git("branch", "--force", branch, head)
        else:
            await tree.git("reset", "--quiet", "--hard", head)

    async def _remote(self, repository: CommitRepository, found: "_Resolved") -> str:
        """The remote of the fork: one with its address, else a new one."""
        settings = read_settings(self._cwd)
        assert found.fork is not None
        for name in settings.remotes:
            url = settings.get("remote", name, "url")
            if url == found.clone_url or parse_remote(url) == found.fork:
                return check_word("remote", name)
        base = f"fork-{found.fork.owner}"
        names = (base, *(f"{base}-{number}" for number in range(2, 100)))
        free = next(name for name in names if name not in settings.remotes)
        await repository.git("remote", "add", "--", free, found.clone_url)
        return free

    async def push(self, target: PushTarget, *, with_lease: bool) -> None:
        """Without hooks: they would run outside the sandbox. Raises ToolError."""
        repository = await _open(self._cwd, self._runner)
        current = await repository.line("symbolic-ref", "--quiet", "HEAD")
        source = "HEAD" if current == f"refs/heads/{target.branch}" else f"refs/heads/{target.branch}"
        words = ("push", *(("--force-with-lease",) if with_lease else ()), target.remote)
        try:
            await repository.git(*words, f"{source}:refs/heads/{target.remote_branch}", limit_s=FETCH_S)
        except GitError as error:
            raise ToolError(str(error)) from None


def _failed(pr: _PullRequest, error: str) -> CheckoutResult:
    return CheckoutResult(number=pr.number, title=flat(pr.title), url=pr.url, error=error)


class _Resolved(Struct, frozen=True):
    pr: _PullRequest
    fork: RepositoryName | None
    clone_url: str


async def _open(cwd: Path, runner: Runner) -> CommitRepository:
    try:
        return replace(await open_repository(cwd, runner), options=_NO_HOOKS)
    except TauError as error:
        raise ToolError(str(error)) from None


async def _worktree_of(repository: CommitRepository, branch: str) -> Path | None:
    """The work tree that has this branch checked out."""
    text = os.fsdecode(await repository.git("worktree", "list", "--porcelain", "-z"))
    for entry in text.split("\0\0"):
        fields = dict(line.partition(" ")[::2] for line in entry.split("\0") if line)
        if fields.get("branch") == f"refs/heads/{branch}" and Path(fields["worktree"]).is_dir():
            return Path(fields["worktree"])
    return None


async def _contains(repository: CommitRepository, commit: str, ancestor: str) -> bool:
    try:
        await repository.git("merge-base", "--is-ancestor", ancestor, commit)
    except GitError:
        return False
    return True


def _flag(value: bool) -> str:
    return "true" if value else "false"


def find_push_target(branch: str, cwd: Path, settings: GitSettings | None = None) -> PushTarget:
    """Where pr_push sends a branch. Raises ToolError."""
    settings = settings or read_settings(cwd)

    def value(key: str) -> str:
        own = settings.get("branch", branch, f"tauPr{key}")
        return own or settings.get("branch", branch, f"ompPr{key}")

    head_ref, url, is_cross, can_modify = map(value, _KEYS)
    if not head_ref:
        raise ToolError(f"The branch {flat(branch)} is not from pr_checkout: nothing says where to push it.")
    remote = settings.get("branch", branch, "pushRemote") or settings.get("branch", branch, "remote")
    remote_url = settings.get("remote", remote, "pushurl") or settings.get("remote", remote, "url")
    remote_url = re.sub(r"//[^/@]*@", "//", remote_url)  # a token in it is nobody's business
    refusal = ""
    if is_cross == "true" and can_modify == "false":
        refusal = (
            f"{url or 'The pull request'} comes from a fork whose owner does not let maintainers change it; "
            "ask its author to allow edits by maintainers, or to push."
        )
    return PushTarget(
        branch=branch,
        remote=check_word("remote", remote or "origin"),
        remote_branch=check_word("headRefName", head_ref),
        remote_url=remote_url,
        pr_url=url,
        refusal=refusal,
    )


def list_worktrees(worktrees: Path) -> list[Path]:
    """The work trees of pull requests, of all repositories."""
    return sorted(path for path in worktrees.glob("*/pr-*") if path.is_dir())
