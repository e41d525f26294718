"""One step back: to an earlier prompt, with the conversation, the files changed since then, or both."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from tau.agent.ui import NoticeLevel
from tau.base.clock import from_iso
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.files.paths import shown
from tau.coding.session.session import Session
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel
from tau.modes.interactive.selectors.pick_list import PickList
from tau.modes.interactive.selectors.tree_selector import arrive
from tau.tui.component import Component
from tau.tui.widgets.select_items import SelectItem

branch = late("tau.modes.interactive.selectors.branch")
report = late("tau.coding.undo.report")
undo_plan = late("tau.coding.undo.plan")

SCOPE_KEY = "app.rewind.scope"
MAX_NAMED_FILES = 3

RewindScope = Literal["both", "conversation", "files"]
SCOPES: tuple[RewindScope, ...] = get_args(RewindScope)


class RewindChoice(NamedTuple):
    """The prompt to go back to, and what to rewind."""

    entry_id: str
    scope: RewindScope


class FilePreview(NamedTuple):
    """What an undo of all changes since a prompt would do; `plan` is None if there are none."""

    plan: "undo_plan.UndoPlan | None"
    cwd: Path

    def text(self) -> str:
        """Restored, deleted and skipped files, a few by name."""
        plan = self.plan
        if plan is None:
            return "no files have changed since"
        skipped = [one.path for one in plan.conflicts]
        lost = [step.path for step in plan.unrestorable]
        groups = (
            ("restores", [step.path for step in plan.restore]),
            ("deletes", [step.path for step in plan.delete]),
            ("leaves what someone else changed since:", skipped),
            ("cannot restore", lost),
        )
        return "; ".join(f"{verb} {self._names(paths)}" for verb, paths in groups if paths) or "no files"

    def _names(self, paths: list[Path]) -> str:
        names = ", ".join(shown(path, self.cwd) for path in paths[:MAX_NAMED_FILES])
        more = len(paths) - MAX_NAMED_FILES
        return f"{names} and {more} more" if more > 0 else names


async def choose_rewind(context: CommandContext) -> None:
    """Ask for a prompt and what to rewind, and do it. Raises TauError."""
    session = context.require_session()
    if session.recorder is not None:
        await session.recorder.settle()
    selector = RewindSelector(context, session)
    if not selector.items:
        context.say("There are no messages to go back to yet.")
        return
    choice = await context.ask(selector.open)
    if choice is not None and context.session is session:
        await selector.rewind(choice)


class RewindSelector:
    """The prompts of this branch, newest first; below them, what would happen."""

    def __init__(self, context: CommandContext, session: Session) -> None:
        self._context = context
        self._session = session
        self._scope: RewindScope = "both"
        self._previews: dict[str, FilePreview] = {}
        self._looking: asyncio.Task[None] | None = None
        active = {node.id for node in session.log.branch()}
        points = [point for point in session.tree.branch_points() if point.entry_id in active]
        self._times = {point.entry_id: self._time_ms(point.entry_id) for point in points}
        self.items: list[SelectItem[str]] = branch.branch_items(points, active)
        self._list = PickList(context.display, self.items)
        self._panel = Panel(
            context.display,
            "Rewind to before a message",
            self._list,
            hints=(
                Hint(CONFIRM, "go back"),
                Hint(SCOPE_KEY, "choose what to rewind"),
                Hint(CANCEL, "cancel"),
            ),
            actions={SCOPE_KEY: self._next_scope},
            fit=self._list.fit,
        )
        self._panel.on_key = self._show

    def open(self, done: Callable[[RewindChoice | None], None]) -> Component:
        self._list.on_select = lambda item: done(RewindChoice(item.value, self._scope))
        self._list.on_cancel = lambda: done(None)
        self._show()
        return self._panel

    async def rewind(self, choice: RewindChoice) -> None:
        """Rewind the conversation, then the files; if the conversation does not move, the files stay too."""
        context, session = self._context, self._session
        if choice.scope != "files":
            move = await session.goto(choice.entry_id)
            if move.cancelled:
                context.say("Canceled; nothing has changed.")
                return
            arrive(context, move)
        lines: list[str] = []
        clean = True
        if choice.scope != "conversation":
            lines, clean = await self._undo(choice.entry_id)
        what = {
            "both": "the conversation and files",
            "files": "the files",
            "conversation": "the conversation",
        }
        back = {"both": "/tree and /redo bring them back", "files": "/redo brings them back"}
        lines.append(f"Rewound {what[choice.scope]}; {back.get(choice.scope, '/tree brings it back')}.")
        context.say("\n".join(lines), "info" if clean else "warning")

    async def _undo(self, entry_id: str) -> tuple[list[str], bool]:
        recorder = self._session.recorder
        if recorder is None:
            return ["This session has no file history."], True
        try:
            _, result = await recorder.change_back(lambda undo: undo.plan(since_ms=self._times[entry_id]))
        except UsageError:  # nothing to undo
            return ["No files have changed since."], True
        return report.result_lines(result, self._session.cwd), result.clean

    def _plan(self, entry_id: str) -> "undo_plan.UndoPlan | None":
        if self._session.recorder is None:
            return None
        try:
            return self._session.recorder.undo.plan(since_ms=self._times[entry_id])
        except UsageError:  # nothing to undo
            return None

    def _time_ms(self, entry_id: str) -> int:
        node = self._session.log.node(entry_id)
        entry = None if node is None else self._session.log.decode(node)
        return 0 if entry is None else from_iso(entry.timestamp)

    def _next_scope(self) -> None:
        self._scope = SCOPES[(SCOPES.index(self._scope) + 1) % len(SCOPES)]

    def _show(self) -> None:
        """Say what Enter would do; the files are looked at in the background."""
        item = self._list.selected
        if item is None:
            return
        if self._scope == "conversation":
            self._panel.tell("Rewinds the conversation; files stay as they are.", "info")
            return
        preview = self._previews.get(item.value)
        if preview is None:
            self._panel.tell("Looking at the files", "info")
            if self._looking is None or self._looking.done():
                self._looking = self._context.start(self._look(item.value))
            return
        what = "the conversation and files" if self._scope == "both" else "the files, not the conversation"
        level: NoticeLevel = "warning" if preview.plan is not None and preview.plan.conflicts else "info"
        self._panel.tell(f"Rewinds {what}: {preview.text()}.", level)

    async def _look(self, entry_id: str) -> None:
        plan = await asyncio.to_thread(self._plan, entry_id)
        self._previews[entry_id] = FilePreview(plan, self._session.cwd)
        self._looking = None
        self._show()
