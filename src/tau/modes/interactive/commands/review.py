"""/review: asks the agent to review uncommitted changes, a branch or a commit."""

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tau.base import git_dir
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.base.text import clean_line
from tau.config.paths import repo_root
from tau.modes.interactive.command_context import CommandContext

git = late("tau.base.git")
tempfile = late("tempfile")

LONGEST_S = 5.0
MAX_BRANCHES = 100
MAX_COMMITS = 20
_WITHOUT_STDERR = ("/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null')
_BRANCHES = (
    *("for-each-ref", f"--count={MAX_BRANCHES}", "--sort=-committerdate"),
    *("--format=%(refname:short)%09%(contents:subject)", "refs/heads", "refs/remotes"),
)
_COMMITS = ("log", f"--max-count={MAX_COMMITS}", "--format=%h%x09%s")
_COMMIT = ("rev-parse", "--verify", "--quiet", "--end-of-options")
_DEFAULTS = ("main", "master", "trunk", "develop", "origin/main", "origin/master")


class ReviewTarget(NamedTuple):
    """What to review, and how the agent finds it."""

    subject: str
    how: str


_UNCOMMITTED = ReviewTarget(
    "the uncommitted changes in this repository",
    "Start with `git status --short` and `git diff HEAD`; new files are not in the diff, so read them.",
)


async def review(context: CommandContext, rest: str) -> None:
    """Send the prompt. Text that names no branch or commit says what to look at. Raises TauError."""
    if repo_root(context.cwd) is None:
        raise TauError("/review needs a Git repository; this folder is not in one.")
    name, _, after = rest.partition(" ")
    target = await _find_target(context.cwd, name) if name else None
    focus = rest if target is None else after.strip()
    prompt = Path(__file__).with_name("review.md").read_text(encoding="utf-8").strip()
    text = prompt.format_map((target or _UNCOMMITTED)._asdict())
    context.actions.send(f"{text}\n\nAbove all, look at this: {focus}" if focus else text)


async def list_targets(cwd: Path) -> Sequence[tuple[str, str]]:
    """Branches, latest first, and recent commits, each with its subject."""
    rows = [*await _git(cwd, *_BRANCHES), *await _git(cwd, *_COMMITS)]
    return [(name, subject) for name, _, subject in (row.partition("\t") for row in rows)]


async def _find_target(cwd: Path, name: str) -> ReviewTarget | None:
    branches = [row.partition("\t")[0] for row in await _git(cwd, *_BRANCHES)]
    if name in branches:
        return _branch(name, branches, cwd)
    found = await _git(cwd, *_COMMIT, f"{name}^{{commit}}")
    if not found:
        return None
    return ReviewTarget(f"the commit `{name}`", f"Start with `git show {found[0]}`.")


def _branch(name: str, branches: Sequence[str], cwd: Path) -> ReviewTarget:
    """What a branch adds to the default branch; if it is that branch, what the checked-out one adds."""
    root = repo_root(cwd)
    here = "" if root is None else git_dir.branch_of(root)
    base = next((branch for branch in _DEFAULTS if branch in branches), here)
    if name == base:
        name = here
    if name == base:
        recent = f"Start with `git log -n 10 {shlex.quote(name)}` and `git show` for each."
        return ReviewTarget(f"the last commits on `{name}`", recent)
    log, diff = shlex.quote(f"{base}..{name}"), shlex.quote(f"{base}...{name}")
    return ReviewTarget(
        f"what the branch `{name}` adds to `{base}`",
        f"Start with `git log --oneline {log}` and `git diff {diff}`.",
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
