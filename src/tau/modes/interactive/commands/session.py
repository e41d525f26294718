"""Commands about sessions: new, resume, name, info, branches and copies."""

import os
import stat
from pathlib import Path

from tau.agent.queue import typed_text
from tau.ai.wire import UserMessage
from tau.base.errors import TauError, UsageError
from tau.base.files import mode_of, typed_path
from tau.base.late import late
from tau.coding.session.session import Session
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.session.titles import UNTITLED, first_words
from tau.coding.session.tree_navigation import Move
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns, next_session
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.session_report import info_rows

branches = late("tau.modes.interactive.selectors.branch")
sdk = late("tau.sdk")
session_selector = late("tau.modes.interactive.selectors.session_selector")
rewinds = late("tau.modes.interactive.selectors.rewind")
trees = late("tau.modes.interactive.selectors.tree_selector")
trash = late("tau.coding.session.storage.trash")

SHOWN_ID_CHARS = 8


async def new(context: CommandContext, rest: str) -> None:
    path = context.require_session().log.path
    before = " /resume returns to the previous one." if path is not None and path.exists() else ""
    context.actions.leave(SessionSwitch("new", notice=f"Started a new session.{before}"))


async def resume(context: CommandContext, rest: str) -> None:
    """Choose a session, or resume the one with this id."""
    if not rest:
        await session_selector.choose_session(context)
        return
    session = context.require_session()
    path = _find_session_file(session, rest)
    if session.log.path is not None and path == session.log.path:
        context.say("You are already in this session.")
        return
    context.actions.leave(SessionSwitch("resume", session=str(path)))


def _find_session_file(session: Session, wanted: str) -> Path:
    """The file of a session, beside the current one or in the default place. Raises UsageError."""
    path = typed_path(wanted)
    if path.suffix == ".jsonl" or "/" in wanted:
        if stat.S_ISREG(mode_of(session.cwd / path)):
            return session.cwd / path
        raise UsageError(f'No session file "{path}".')
    if session.log.path is not None:
        try:
            return SessionStore(session.log.path.parent, session.cwd, flat=True).find_path(wanted)
        except UsageError:
            pass  # it may belong to another folder
    return sdk.session_store(os.environ, session.cwd).find_path(wanted)


async def name(context: CommandContext, rest: str) -> None:
    names = context.require_session().names
    if rest:
        names.rename(rest)
        context.status_line.refresh()
        context.say(f'Renamed the session to "{names.name}".')
    else:
        context.say(f'The session name is "{names.name}".' if names.name else "The session has no name.")


async def session(context: CommandContext, rest: str) -> None:
    """Show session info, or delete the session."""
    if rest == "delete":
        await _delete(context)
    elif rest in ("", "info"):
        rows = info_rows(context.require_session())
        context.say("\n".join(columns(context.display, rows, cut=False)))
    else:
        raise UsageError("Usage: /session or /session delete.")


async def add_dir(context: CommandContext, rest: str) -> None:
    """Add a folder to the workspace of this session, or show all of them."""
    session = context.require_session()
    folders = session.folders
    if folders is None:
        raise TauError("This session has no workspace.")
    if not rest:
        rows = ["Workspace folders:", *(f"  {folder}" for folder in folders.all)]
        context.say("\n".join([*rows, "Add one with /add-dir FOLDER."]))
        return
    folder = session.cwd / typed_path(rest)
    if folders.add(folder.resolve()):
        context.say(f"Added {folder.resolve()} to the workspace of this session.")
    else:
        context.say(f"{folder.resolve()} is already in the workspace.")


async def _delete(context: CommandContext) -> None:
    """Close the session and move it to the trash."""
    old = context.require_session()
    path = old.log.path
    if context.current.running:
        raise TauError("The agent is working; stop it before deleting the session.")
    if path is None or not path.exists():
        raise TauError("This session has not been written to disk yet.")
    first = next((message for message in old.log.messages() if isinstance(message, UserMessage)), None)
    title = old.names.name or (first_words(typed_text(first)) if first is not None else UNTITLED)
    days = trash.KEPT_DAYS
    question = f'"{title}" moves to the trash and is deleted after {days} days.'
    if not await context.ui.confirm("Delete this session?", question):
        context.say("Session not deleted.")
        return
    context.actions.leave(SessionSwitch("new"))
    await next_session(context.current, old)
    trashed = trash.Trash(context.paths.trash).put(path, title)
    context.say(
        f"Session moved to the trash; restore it with tau sessions restore {trashed.id[:SHOWN_ID_CHARS]}."
    )


async def rewind(context: CommandContext, rest: str) -> None:
    await rewinds.choose_rewind(context)


async def tree(context: CommandContext, rest: str) -> None:
    await trees.choose_entry(context)


async def branch(context: CommandContext, rest: str) -> None:
    """Choose one of the user's messages, or any entry if Escape is set to open the tree."""
    if context.settings.interaction.double_escape == "tree":
        await trees.choose_entry(context)
    else:
        await branches.choose_branch(context)


async def goto(context: CommandContext, rest: str) -> None:
    session = context.require_session()
    if not rest:
        raise UsageError("Usage: /goto ID. /tree shows all entries.")
    ids = [node.id for node in session.log.nodes() if node.id.startswith(rest)]
    if rest not in ids and len(ids) != 1:
        problem = "More than one entry has" if ids else "No entry has"
        raise UsageError(f'{problem} an id starting with "{rest}"; /tree shows all entries.')
    move = await session.goto(rest if rest in ids else ids[0])
    show_move(context, move)


def show_move(context: CommandContext, move: Move) -> None:
    """Update the screen after moving in the session tree."""
    if move.already_there:
        context.say("Already at this point.")
        return
    if move.cancelled:
        context.say("Canceled; the session has not moved.")
        return
    context.transcript.rebuild()
    context.status_line.refresh()
    if not move.editor_text and not move.images:
        context.say("Your next message continues from here.")
        return
    context.sender.load_message(move.editor_text or "", move.images)
    context.say("Edit and resend the message; the old branch stays in the session.")


async def fork(context: CommandContext, rest: str) -> None:
    session = context.require_session()
    path = session.log.path
    if path is None:
        raise TauError("This session is not saved, so it cannot be copied.")
    if not path.exists():
        raise TauError("There is nothing to copy yet.")
    notice = "Continuing in a copy; the original session is unchanged."
    context.actions.leave(
        SessionSwitch("fork", session=str(path), notice=notice, carried=session.model, is_shown=True)
    )
