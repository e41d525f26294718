"""Branches from one of the user's messages: a new session up to it, its text in the editor."""

import asyncio
from contextlib import closing
from pathlib import Path

from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.session.storage.log import SessionLog
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.selectors.pick_list import pick
from tau.tui.widgets.select_list import SelectItem

tree_navigation = late("tau.coding.session.tree_navigation")
forks = late("tau.coding.session.storage.fork")
snippets = late("tau.coding.session.snippets")

SHOWN_CHARS = 300
# A conversation starts with one of these; a copy without any would be an empty session.
_SAID = frozenset({"message", "custom_message", "compaction", "branch_summary"})


async def choose_branch(context: CommandContext) -> None:
    """Ask for a message; the old session stays unchanged."""
    session = context.require_session()
    log = session.log
    points = session.tree.branch_points()
    if not points:
        context.say("There are no messages to go back to yet.")
        return
    if log.path is None:
        raise TauError("This session is not saved, so it cannot be copied; use /tree to go back.")
    active = {node.id for node in log.branch()}
    chosen = await pick(
        context,
        "Branch: start a new session from one of your messages",
        branch_items(points, active),
        verb="branch here",
    )
    point = next((point for point in points if point.entry_id == chosen), None)
    if point is None or context.session is not session:
        return
    text, images = session.tree.to_edit(point.entry_id)
    before = _parent(log, point.entry_id)
    if before is None:
        context.actions.leave(SessionSwitch("new", draft=text, images=tuple(images)))
        return
    new = await asyncio.to_thread(_copy, log.path, session.cwd, before, log.blobs)
    notice = "Branched into a new session; the original is unchanged (/resume)."
    context.actions.leave(SessionSwitch("resume", str(new), draft=text, images=tuple(images), notice=notice))


def branch_items(points: "list[tree_navigation.BranchPoint]", active: set[str]) -> list[SelectItem[str]]:
    """Messages, newest first; the active branch before others."""
    items = []
    for number, point in reversed(list(enumerate(points, 1))):
        here = point.entry_id in active
        label = snippets.one_line(point.text, SHOWN_CHARS) or _pictures(point.image_count)
        group = "" if here else "On other branches"
        items.append(SelectItem(point.entry_id, label, "", group, f"message {number}"))
    return sorted(items, key=lambda item: bool(item.group))


def _pictures(count: int) -> str:
    return "(an image)" if count == 1 else f"({count} images)"


def _parent(log: SessionLog, id: str) -> str | None:
    """The entry before this one, if a conversation can end there; None at the start."""
    node = log.node(id)
    parent = None if node is None else node.parent_id
    if parent is None or not any(node.type in _SAID for node in log.branch(parent)):
        return None
    return parent


def _copy(source: Path, cwd: Path, leaf: str, blobs: Path | None) -> Path:
    """Write the new session file and close it. Raises SessionError on failure."""
    with closing(forks.fork(source, source.parent, cwd, leaf=leaf, blobs=blobs)) as log:
        assert log.path is not None
        return log.path
