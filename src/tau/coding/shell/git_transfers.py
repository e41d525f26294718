"""Runs Git transfers outside the session's sandbox, after one question per remote and session."""

import asyncio
import errno
import os
import re
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tau.backends.sandbox.git_transfer_sandbox import make_transfer_sandbox
from tau.backends.sandbox.mounts import Mount
from tau.backends.sandbox.policy import is_within
from tau.base import programs
from tau.base.files import make_private
from tau.base.run import Limits, LocalRunner, Runner, capture
from tau.coding.shell.git_clone_commands import GitClone, checkout_text, clone_argv, read_clone
from tau.coding.shell.git_transfer_commands import (
    GitTransfer,
    find_problem,
    merge_text,
    read_transfer,
    shown_url,
    transfer_argv,
    transfer_env,
)

if TYPE_CHECKING:
    from tau.coding.shell.contained_commands import ContainedCommands

QUERY_S = 10.0
MAX_ANSWER_BYTES = 256 * 1024
GUARDED = ("config", "config.worktree", "hooks", "info/attributes", "commondir", "gitdir")


_TRANSFER = r"\bgit\b[^;&|\n]*\s(?:push|fetch|pull|clone)\b"


class TransferPlan(Struct, frozen=True, kw_only=True):
    """`argv` runs outside; then, of a pull or clone, `then` runs inside. Without `argv`, `note` says why not.

    `handed` is where a clone, which arrives in `folder`, is handed to the sandbox.
    """

    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    folder: Path = Path()
    writable: tuple[Path, ...] = ()
    then: str = ""
    note: str = ""
    handed: Path | None = None


class TransferRepository(Struct, frozen=True, kw_only=True):
    """Its real Git folders, so that Git need not look for them again."""

    program: str
    own: Path
    common: Path

    @property
    def env(self) -> dict[str, str]:
        return {"GIT_DIR": str(self.own), "GIT_COMMON_DIR": str(self.common)}


class GitTransfers:
    """One per session. `outside` runs programs beside the session's sandbox.

    Commands can move what they see: a folder above a workspace in /tmp, for example. So Git's own questions
    about a repository run outside, where they read the files that the transfer will read.
    """

    def __init__(self, contained: "ContainedCommands", outside: LocalRunner) -> None:
        self._contained = contained
        self._outside = outside

    async def plan(self, text: str, cwd: Path) -> TransferPlan | None:
        """How to run a command that is a transfer; None if it is none, or needs no special way."""
        session = self._contained.session
        program = programs.find_program("git")
        if program is None or session.policy is None or session.policy.network == "off":
            return None
        if (clone := read_clone(text, cwd)) is not None:
            return await self._plan_clone(clone, program)
        transfer = read_transfer(text, cwd)
        if transfer is None:
            return None
        found = await self._answer([program, "-C", str(transfer.folder), *_PLACES], {})
        places = [Path(os.path.realpath(transfer.folder / place)) for place in found.split("\n")[:2]]
        if len(places) < 2:
            return None  # Git says best that there is no repository
        repository = TransferRepository(program=program, own=places[0], common=places[1])
        remote = transfer.remote or await self._own_remote(transfer, repository)
        push = ("--push",) if transfer.verb == "push" else ()
        url = await self._git(repository, "remote", "get-url", "--all", *push, remote)
        if not url:
            return None
        problem = self._find_problem(repository, await self._git(repository, *_SETTINGS), url, remote)
        if problem:
            return TransferPlan(note=f"Sandbox: this transfer stayed inside, because {problem}")
        title = f"git {transfer.verb} needs the network and your keys: {remote}, {shown_url(url)}"
        allow = "Allow transfers with this remote for this session, without hooks"
        if not await self._contained.grants.ask_session(("git", url), title, allow):
            return TransferPlan(note=f"Sandbox: blocked git {transfer.verb} with {remote}")
        return TransferPlan(
            argv=tuple(transfer_argv(transfer, remote, program)),
            env={**transfer_env(), **repository.env},
            folder=repository.common,
            writable=tuple(dict.fromkeys(places)),
            then=await self._rest(transfer, repository, remote),
        )

    def hint(self, text: str) -> str:
        """What helps a failed command that has a transfer among others."""
        policy = self._contained.session.policy
        if policy is None or policy.network == "off" or re.search(_TRANSFER, text) is None:
            return ""
        return (
            "Sandbox: a Git transfer gets the network and the user's keys only as a plain, separate command"
        )

    async def _plan_clone(self, clone: GitClone, program: str) -> TransferPlan | None:
        if os.path.lexists(clone.folder) and (not clone.folder.is_dir() or any(clone.folder.iterdir())):
            return None  # Git says best why it does not clone there
        title = f"git clone needs the network and your keys: {shown_url(clone.url)}"
        allow = f"Allow clones from {clone.host} for this session, without hooks and submodules"
        if not await self._contained.grants.ask_session(("git clone", clone.host), title, allow):
            return TransferPlan(
                note=f"Sandbox: this clone stayed inside, because {clone.host} was not allowed"
            )
        session = self._contained.session
        name = f"clone-{os.urandom(8).hex()}"
        folder = session.options.caches / name  # commands cannot write there
        make_private(folder)
        self._outside.remove_at_exit(folder)
        handed = session.temporary_folder() / name
        return TransferPlan(
            argv=tuple(clone_argv(clone, program, folder / name)),
            env=transfer_env(),
            folder=folder,
            writable=(folder,),
            then=checkout_text(clone, handed),
            handed=handed,
        )

    @asynccontextmanager
    async def runner(self, plan: TransferPlan) -> AsyncIterator[Runner]:
        """A runner for `plan.argv`, with the network and the user's keys."""
        guarded = [folder / name for folder in plan.writable for name in GUARDED]
        engine = self._contained.session.engine
        async with make_transfer_sandbox(plan.writable, guarded, engine, self._outside) as sandbox:
            runner = LocalRunner(sandbox=sandbox)
            try:
                yield runner
            finally:
                runner.close()
                if plan.handed is not None:
                    await asyncio.to_thread(self._hand_over, plan.folder, plan.handed)

    def _hand_over(self, folder: Path, handed: Path) -> None:
        """Give the sandbox what a clone brought, at once: a command could put links in the way of a copy."""
        with suppress(OSError):  # the checkout says what is missing
            self._rename(folder / handed.name, handed)
        shutil.rmtree(folder, ignore_errors=True)
        self._outside.forget_folder(folder)

    def _rename(self, arrived: Path, handed: Path) -> None:
        try:
            arrived.rename(handed)
        except OSError as error:
            policy = self._contained.session.policy
            staged = handed.parent.parent / f"tau-{handed.name}"  # beside the folder that commands can write
            if (
                error.errno != errno.EXDEV
                or policy is None
                or is_within(staged, (*policy.roots, *policy.write))
            ):
                raise
            self._outside.remove_at_exit(staged)
            make_private(staged)
            shutil.copytree(arrived, staged / handed.name, symlinks=True)
            (staged / handed.name).rename(handed)
            shutil.rmtree(staged, ignore_errors=True)
            self._outside.forget_folder(staged)

    def stay_inside(self, note: str) -> TransferPlan:
        return TransferPlan(note=note)

    def _find_problem(self, repository: "TransferRepository", settings: str, url: str, remote: str) -> str:
        """Settings that a command could change at any moment are no settings to rely on."""
        mounts = self._contained.session.mounts
        fixed = {mount.target for mount in mounts if mount.kind == "read"}
        if self._contained.session.engine == "landlock" or repository.common / "config" not in fixed:
            return "the sandbox does not protect the repository's settings"
        if not _is_fixed(repository.common, mounts):
            return "commands can replace the repository; add its folder with /add-dir"
        if f"remote.{remote}.url".lower() not in settings.lower().split("\0"):
            return "its remote is not in its settings"
        return find_problem(settings, url)

    async def _own_remote(self, transfer: GitTransfer, repository: "TransferRepository") -> str:
        """The remote that Git would use."""
        branch = await self._git(repository, "symbolic-ref", "--short", "-q", "HEAD")
        keys = [f"branch.{branch}.remote"] if branch else []
        if transfer.verb == "push":
            keys = [f"branch.{branch}.pushRemote", "remote.pushDefault", *keys] if branch else []
        for key in keys:
            if value := await self._git(repository, "config", key):
                return value
        return "origin"

    async def _rest(self, transfer: GitTransfer, repository: "TransferRepository", remote: str) -> str:
        """The merge of a pull: with the branch that was named, or the upstream."""
        if transfer.verb != "pull":
            return ""
        if transfer.refs:
            return merge_text(transfer, f"refs/remotes/{remote}/{transfer.refs[0]}")
        upstream = await self._git(repository, "rev-parse", "--symbolic-full-name", "@{upstream}")
        return merge_text(transfer, upstream) if upstream else "git pull"

    async def _git(self, repository: "TransferRepository", *words: str) -> str:
        """What a question to Git answers about this repository, wherever its folder leads by now."""
        return await self._answer([repository.program, *words], repository.env)

    async def _answer(self, argv: Sequence[str], env: Mapping[str, str]) -> str:
        """What Git prints about the real repository; nothing if it fails. It starts no program for that."""
        async with await self._outside.start(
            argv, cwd=Path("/"), env={**transfer_env(), **env}, limits=Limits(timeout=QUERY_S)
        ) as process:
            done = await capture(process, max_bytes=MAX_ANSWER_BYTES)
        return done.output.decode("utf-8", "replace").rstrip("\n") if done.exit.code == 0 else ""


def _is_fixed(folder: Path, mounts: Sequence[Mount]) -> bool:
    """Whether no command can replace this folder, or one above it.

    A folder that is mounted itself cannot be moved, but one that contains it can.
    """
    targets = {mount.target for mount in mounts}
    writable = [mount.target for mount in mounts if mount.kind == "write"]
    return folder in targets and all(
        each in targets or not is_within(each, writable) for each in folder.parents
    )


_PLACES = ("rev-parse", "--absolute-git-dir", "--git-common-dir")
_SETTINGS = ("config", "--local", "--name-only", "-z", "--list")
