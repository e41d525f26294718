"""What a review can look at: uncommitted changes, a branch, a commit."""

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tau.base import git_dir
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.base.text import clean_line
from tau.coding.task.code_review import ReviewedFile
from tau.config.paths import repo_root

git = late("tau.base.git")
tempfile = late("tempfile")

LONGEST_S = 5.0
MAX_BRANCHES = 100
MAX_COMMITS = 20
NEW_FILE_LINES = 100
"""What a file that git does not know counts for."""
_WITHOUT_STDERR = ("/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null')
_BRANCHES = (
    *("for-each-ref", f"--count={MAX_BRANCHES}", "--sort=-committerdate"),
    *("--format=%(refname:short)%09%(contents:subject)", "refs/heads", "refs/remotes"),
)
_COMMITS = ("log", f"--max-count={MAX_COMMITS}", "--format=%h%x09%s")
_COMMIT = ("rev-parse", "--verify", "--quiet", "--end-of-options")
_DEFAULTS = ("main", "master", "trunk", "develop", "origin/main", "origin/master")
_STAT = ("--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")


class ReviewTarget(NamedTuple):
    """What to review, how an agent finds it, and the words for git that list its files."""

    subject: str
    how: str
    listing: tuple[str, ...]


UNCOMMITTED = ReviewTarget(
    "the uncommitted changes in this repository",
    "Start with `git status --short` and `git diff HEAD`; new files are not in the diff, so read them.",
    ("diff", *_STAT, "HEAD"),
)


async def list_targets(cwd: Path) -> Sequence[tuple[str, str]]:
    """Branches, latest first, and recent commits, each with its subject."""
    rows = [*await _git(cwd, *_BRANCHES), *await _git(cwd, *_COMMITS)]
    return [(name, subject) for name, _, subject in (row.partition("\t") for row in rows)]


async def find_target(cwd: Path, name: str) -> ReviewTarget | None:
    """A branch or a commit; None if there is none of this name."""
    branches = [row.partition("\t")[0] for row in await _git(cwd, *_BRANCHES)]
    if name in branches:
        return await _branch(name, branches, cwd)
    found = await _git(cwd, *_COMMIT, f"{name}^{{commit}}")
    if not found:
        return None
    listing = ("show", *_STAT, "--format=", found[0])
    return ReviewTarget(f"the commit `{name}`", f"Start with `git show {found[0]}`.", listing)


async def since(cwd: Path, base: str) -> ReviewTarget:
    """What this branch and the work tree add to `base`. Raises UsageError."""
    found = await _git(cwd, *_COMMIT, f"{base}^{{commit}}")
    start = await _git(cwd, "merge-base", found[0], "HEAD") if found else []
    if not start:
        raise UsageError(f'There is no commit "{base}" that this branch begins with.')
    how = (
        f"Start with `git log --oneline {start[0]}..HEAD`, `git status --short` and `git diff {start[0]}`; "
        "new files are not in the diff, so read them."
    )
    return ReviewTarget(f"what this branch adds to `{base}`", how, ("diff", *_STAT, start[0]))


async def changed_files(cwd: Path, target: ReviewTarget) -> list[ReviewedFile]:
    """The files of a target, untracked ones too where the work tree is part of it."""
    found: list[ReviewedFile] = []
    for row in await _git(cwd, *target.listing):
        added, removed, path = [*row.split("\t", 2), "", ""][:3]
        lines = sum(int(number) if number.isdigit() else 1 for number in (added, removed))
        if path:
            found.append(ReviewedFile(path, lines))
    if target.listing[0] == "diff" and not any(".." in word for word in target.listing[1:]):
        new = await _git(cwd, "ls-files", "--others", "--exclude-standard")
        found += [ReviewedFile(path, NEW_FILE_LINES) for path in new]
    return found


async def _branch(name: str, branches: Sequence[str], cwd: Path) -> ReviewTarget:
    """What a branch adds to the default branch; if it is that branch, what the checked-out one adds."""
    root = repo_root(cwd)
    here = "" if root is None else git_dir.branch_of(root)
    base = next((branch for branch in _DEFAULTS if branch in branches), here)
    if name == base:
        name = here
    if name == base:
        recent = f"Start with `git log -n 10 {shlex.quote(name)}` and `git show` for each."
        start = (await _git(cwd, "rev-list", "--max-count=11", name))[-1:]
        return ReviewTarget(
            f"the last commits on `{name}`", recent, ("diff", *_STAT, f"{''.join(start)}..{name}")
        )
    log, diff = shlex.quote(f"{base}..{name}"), shlex.quote(f"{base}...{name}")
    return ReviewTarget(
        f"what the branch `{name}` adds to `{base}`",
        f"Start with `git log --oneline {log}` and `git diff {diff}`.",
        ("diff", *_STAT, f"{base}...{name}"),
    )


async def _git(cwd: Path, *words: str) -> list[str]:
    """The lines of the output; none if git fails or does not answer in time."""
    root = repo_root(cwd)
    if root is None:
        return []
    runner = LocalRunner()
    try:
        with tempfile.TemporaryDirectory(prefix="tau-git-") as folder:
            view = git.open_git_view(root, Path(folder))
            async with asyncio.timeout(LONGEST_S):
                argv = (*_WITHOUT_STDERR, *view.command(*words))
                process = await runner.start(argv, cwd=view.root, env=view.env())
                async with process:
                    output = b"".join([chunk async for chunk in process.output()])
                    ended = await process.wait()
    except (OSError, TimeoutError):
        return []
    finally:
        runner.close()
    lines = output.decode(errors="replace").splitlines() if ended.code == 0 else []
    return ["\t".join(map(clean_line, line.split("\t"))) for line in lines]
