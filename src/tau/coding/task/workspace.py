"""The copy of the repository that an isolated agent works in, kept until its work is safe."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.backends.isolation.copies import (
    RepositoryCopy,
    create_workspace,
    load_workspace,
    open_mount,
    remove_workspace,
)
from tau.backends.isolation.git_calls import IsolationError
from tau.backends.isolation.merge import (
    AgentChanges,
    diff_text,
    find_changes,
    make_branch,
    merge_files,
    merge_lock,
    save_inner_patches,
    save_patch,
)
from tau.backends.isolation.modes import choose_mode
from tau.backends.isolation.overlay import OverlayMount
from tau.base.clock import iso, now_ms
from tau.base.errors import TauError, ToolError
from tau.base.files import make_private
from tau.base.run import Runner
from tau.base.text import reveal, shortened
from tau.coding.approval.policy import Workspace, decide
from tau.config.paths import repo_root

if TYPE_CHECKING:
    from tau.coding.task.results import AgentOutcome
    from tau.coding.task.subagent import Subagent
    from tau.coding.task.team import Team

MAX_SHOWN_CHARS = 12_000


async def require_repository(cwd: Path) -> None:
    """Raises ToolError."""
    if repo_root(cwd) is None:
        raise ToolError(
            "Isolated task execution requires a git repository. Run git init, or start it without."
        )


class AgentWorkspace:
    """`usable`: the copy is still there. Nothing is made before `open`."""

    wrap_runner: Callable[[Runner], Runner] | None = None

    def __init__(self, team: "Team", agent: "Subagent") -> None:
        self._team = team
        self._agent = agent
        self.folder = team.copies / f"{team.session.log.header.id[-12:]}-{agent.id}"
        self._workspace = load_workspace(self.folder)
        self._mount: OverlayMount | None = None
        self._root = Path(agent.record.cwd)

    @property
    def usable(self) -> bool:
        return self._workspace is not None

    @property
    def cwd(self) -> Path:
        """The folder in the copy that is like the caller's."""
        found = self._require()
        inner = self._root.relative_to(found.info.root) if self._root != Path(found.info.root) else Path()
        return found.files / inner

    @property
    def files(self) -> Path:
        return self._require().files

    @property
    def folders(self) -> tuple[Path, Path]:
        """The original and the copy."""
        return self.original, Path(os.path.realpath(self.files))

    @property
    def original(self) -> Path:
        return Path(self._require().info.root)

    def _require(self) -> RepositoryCopy:
        if self._workspace is None:
            raise TauError(f"The copy of {self._agent.id} has been merged and removed.")
        return self._workspace

    async def open(self) -> None:
        """Copy the repository as it is now. Raises TauError."""
        if (found := self._workspace) is not None:
            if found.info.owner != os.getpid():  # it was left by an earlier process
                self._workspace = found.save(replace(found.info, owner=os.getpid()))
            await self._mount_files()
            return
        root = repo_root(self._root)
        if root is None:
            raise IsolationError("Isolated task execution requires a git repository.")
        settings, team = self._team.settings.isolation, self._team
        async with team.copying:
            root = Path(os.path.realpath(root))
            make_private(team.copies)
            if root not in team.isolation_modes:
                wanted = settings.mode if settings.mode != "none" else "auto"
                team.isolation_modes[root] = await choose_mode(wanted, team.outside, root, team.copies)
            mode, notice = team.isolation_modes[root]
            self._workspace = await create_workspace(
                team.outside,
                root,
                self.folder,
                id=self._agent.id,
                session=team.session.log.header.id,
                mode=mode,
                started=iso(now_ms()),
                max_bytes=settings.max_bytes,
                carry=settings.carry,
            )
        if notice:
            self._agent.notes.append(notice)
        await self._mount_files()

    async def _mount_files(self) -> RepositoryCopy:
        """The copy, with its overlay mounted. Raises TauError."""
        workspace = self._require()
        if self._mount is None:
            self._mount = await open_mount(self._team.outside, workspace)
        return workspace

    async def close(self) -> None:
        """Unmount its overlay; what the agent wrote stays."""
        mount, self._mount = self._mount, None
        if mount is not None:
            await mount.end()

    async def finish(self, outcome: "AgentOutcome") -> dict[str, Any]:
        """Save what it changed and merge it; the fields of its result. Never raises."""
        if self._workspace is None:
            return {}
        try:
            changes = await find_changes(self._team.outside, await self._mount_files())
            return await self._merge(
                changes, apply=outcome == "completed" and self._team.settings.isolation.apply
            )
        except (TauError, OSError) as error:
            return {"workspace": str(self.folder), "notes": [f"{error} The copy stays in {self.files}."]}

    async def _objection(self, changes: AgentChanges) -> str:
        """Why its changes may not reach the original: the permissions judge them like any other write."""
        team, root = self._team, self.original
        effects = Effects(writes=tuple(root / name for name in changes.files))
        workspace = Workspace.of((root, *team.add_dirs))
        current = team.session.permissions.current
        verdict = await asyncio.to_thread(  # there may be thousands of files
            decide, effects, current, workspace, demo=False, contained=True, tool="task"
        )
        if verdict.verdict == "ask" and team.ui is not None:
            text = "\n".join(reveal(item.reason) for item in verdict.questions)
            if len(text) > MAX_SHOWN_CHARS:
                return f"it would change {len(verdict.questions):,} files, too many to show in a question"
            if await team.ui.confirm(f"Merge the changes of the agent {self._agent.id}?", text):
                return ""
            return "the user declined"
        return "" if verdict.verdict == "allow" else shortened(f"it would {verdict.reason}", 500)

    async def _merge(self, changes: AgentChanges, *, apply: bool, is_asked: bool = False) -> dict[str, Any]:
        team, workspace = self._team, self._require()
        run = team.outside
        if not changes.files and not changes.repositories:
            await self._remove()
            return {"merged": True, "notes": ["It changed no files."]}
        patch = team.roster.folder / f"{self._agent.id}.patch"
        is_saved = await save_patch(run, workspace, changes, patch)
        self._workspace = workspace.save(replace(workspace.info, patch=str(patch)))
        fields: dict[str, Any] = {"patch_path": str(patch)}
        kept = f"Its copy stays in {self.files}; see tau worktree."
        if not is_saved:
            return {
                **fields,
                "workspace": str(self.folder),
                "notes": [f"The patch does not read back. {kept}"],
            }
        inner = ", ".join(changes.repositories)
        if changes.repositories:
            fields["nested_patches"] = await save_inner_patches(
                run, workspace, changes, team.roster.folder, self._agent.id
            )
            kept = f"It made repositories inside its copy ({inner}), each with a separate patch. {kept}"
        if not apply:
            if changes.repositories:
                return {**fields, "merged": False, "workspace": str(self.folder), "notes": [kept]}
            note = (
                f"Its changes are in {patch}, not merged; tau worktree apply {self.folder.name} merges them."
            )
            return {**fields, "merged": False, "workspace": str(self.folder), "notes": [note]}
        if not is_asked and (problem := await self._objection(changes)):
            note = f"Not merged: {problem}. {kept} The user can merge it: /agents apply {self._agent.id}"
            return {**fields, "merged": False, "workspace": str(self.folder), "notes": [note]}
        async with team.merging:
            outcome, branch = await self._apply(changes)
        if branch:
            fields["branch_name"] = branch
        if outcome.state == "conflict":
            note = f"Not merged: {outcome.reason}. {kept} Message {self._agent.id} to resolve it."
            return {**fields, "merged": False, "workspace": str(self.folder), "notes": [note]}
        if changes.repositories:
            return {**fields, "merged": True, "workspace": str(self.folder), "notes": [kept]}
        await self._remove()
        words = "Merged" if outcome.state == "applied" else "Already there"
        return {**fields, "merged": True, "notes": [f"{words}: {', '.join(changes.files[:20])}"]}

    async def _apply(self, changes: AgentChanges) -> "tuple[Any, str]":
        workspace, run = self._require(), self._team.outside
        branch = ""
        async with merge_lock(self._team.copies):
            if self._team.settings.isolation.merge == "branch":
                branch, _ = await make_branch(run, workspace, changes, await self._message(changes))
            return await merge_files(run, workspace, changes, self._team.fs), branch

    async def _message(self, changes: AgentChanges) -> str:
        record = self._agent.record
        return f"{record.description or record.assignment.splitlines()[0][:72]}\n\nBy the agent {record.id}."

    async def _remove(self) -> None:
        workspace = self._require()
        await self.close()
        self._workspace = None
        with suppress(OSError):
            await remove_workspace(workspace)

    async def apply(self) -> str:
        """Merge it now. Raises TauError."""
        changes = await find_changes(self._team.outside, await self._mount_files())
        fields = await self._merge(changes, apply=True, is_asked=True)
        self._update_result(fields)
        return " ".join(fields["notes"])

    async def discard(self) -> str:
        """Throw the copy away; the patch stays. Raises TauError."""
        workspace = await self._mount_files()
        changes = await find_changes(self._team.outside, workspace)
        patch = self._team.roster.folder / f"{self._agent.id}.patch"
        if changes.files and not await save_patch(self._team.outside, workspace, changes, patch):
            raise TauError(f"The patch does not read back, so the copy stays in {self.files}.")
        await self._remove()
        return f"Removed the copy of {self._agent.id}." + (
            f" Its patch is in {patch}." if changes.files else ""
        )

    async def diff(self) -> str:
        changes = await find_changes(self._team.outside, await self._mount_files())
        return await diff_text(self._team.outside, self._require(), changes)

    def _update_result(self, fields: dict[str, Any]) -> None:
        record = self._agent.record
        if record.result is not None:
            is_kept = fields.get("workspace") is not None
            record.result = replace(
                record.result,
                merged=fields.get("merged", UNSET),
                workspace=str(self.folder) if is_kept else UNSET,
            )
            self._team.roster.save(self._agent)
