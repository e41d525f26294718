"""Goes back to one of the user's messages: a new session with all before it, the text in the editor."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.interactive.selectors.pick_list import pick
from tau.tui.widgets.select_list import SelectItem

if TYPE_CHECKING:
    from tau.coding.session.storage.log import SessionLog
    from tau.coding.session.tree_navigation import BranchPoint
    from tau.modes.interactive.command_context import CommandContext

switches = late("tau.modes.interactive.session_switch")
forks = late("tau.coding.session.storage.fork")
snippets = late("tau.coding.session.snippets")

SHOWN_CHARS = 300
# A conversation begins with one of these: a copy that has none of them would be an empty session.
_SAID = frozenset({"message", "custom_message", "compaction", "branch_summary"})


async def choose_branch(context: "CommandContext") -> None:
    """Ask for a message; the session that is left stays as it is."""
    session = context.session
    if session is None:
        raise TauError("The session is still being opened; try again in a moment.")
    log = session.log
    points = session.tree.branch_points()
    if not points:
        context.say("You have not said anything yet to go back to.")
        return
    if log.path is None:
        raise TauError("This session is not kept in a file, so it has no copies; /tree goes back inside it.")
    active = {node.id for node in log.branch()}
    chosen = await pick(
        context,
        "Branch: a new session from one of your messages on",
        branch_items(points, active),
        verb="go back there",
    )
    point = next((point for point in points if point.entry_id == chosen), None)
    if point is None or context.session is not session:
        return
    text, images = session.tree.to_edit(point.entry_id)
    before = _parent(log, point.entry_id)
    if before is None:
        context.actions.leave(switches.SessionSwitch("new", draft=text, images=tuple(images)))
        return
    new = await asyncio.to_thread(_copy, log.path, session.cwd, before, log.blobs)
    notice = "This session has all that was said before; the other one is as it was (/resume)."
    context.actions.leave(
        switches.SessionSwitch("resume", str(new), draft=text, images=tuple(images), notice=notice)
    )


def branch_items(points: "list[BranchPoint]", active: set[str]) -> list[SelectItem[str]]:
    """The messages, the newest first; those of the branch in use before those of others."""
    items = []
    for number, point in reversed(list(enumerate(points, 1))):
        here = point.entry_id in active
        label = snippets.one_line(point.text, SHOWN_CHARS) or _pictures(point.image_count)
        group = "" if here else "On other branches"
        items.append(SelectItem(point.entry_id, label, "", group, f"{number}"))
    return sorted(items, key=lambda item: bool(item.group))


def _pictures(count: int) -> str:
    return "(a picture)" if count == 1 else f"({count} pictures)"


def _parent(log: "SessionLog", id: str) -> str | None:
    """The entry before this one, if a conversation ends there; None if nothing was said before."""
    node = log.node(id)
    parent = None if node is None else node.parent_id
    if parent is None or not any(node.type in _SAID for node in log.branch(parent)):
        return None
    return parent


def _copy(source: Path, cwd: Path, leaf: str, blobs: Path | None) -> Path:
    """The file of the new session, closed again. Raises SessionError where it cannot be written."""
    with closing(forks.fork(source, source.parent, cwd, leaf=leaf, blobs=blobs)) as log:
        assert log.path is not None
        return log.path
