"""Commands about sessions: another one, its name and facts, its branches, its copy."""

import os
import stat
from pathlib import Path

from tau.agent.queue import typed_text
from tau.ai.wire import UserMessage
from tau.base.clock import from_iso, now_ms
from tau.base.errors import TauError, UsageError
from tau.base.files import mode_of, typed_path
from tau.base.late import late
from tau.base.sizes import format_bytes
from tau.coding.export.page import money_text, tokens_text
from tau.coding.session.session import Session
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.session.titles import UNTITLED, first_words
from tau.coding.session.tree_navigation import Move
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns, count, next_session
from tau.modes.interactive.session_switch import SessionSwitch

branches = late("tau.modes.interactive.selectors.branch")
sdk = late("tau.sdk")
session_selector = late("tau.modes.interactive.selectors.session_selector")
trees = late("tau.modes.interactive.selectors.tree_selector")
trash = late("tau.coding.session.storage.trash")

SHOWN_ID_CHARS = 8


async def new(context: CommandContext, rest: str) -> None:
    path = context.require_session().log.path
    before = " /resume goes back to the one before." if path is not None and path.exists() else ""
    context.actions.leave(SessionSwitch("new", notice=f"This is a new session.{before}"))


async def resume(context: CommandContext, rest: str) -> None:
    """Choose one, or go on with the one of this id."""
    if not rest:
        await session_selector.choose_session(context)
        return
    session = context.require_session()
    path = _found(session, rest)
    if session.log.path is not None and path == session.log.path:
        context.say("This is the session that you are in.")
        return
    context.actions.leave(SessionSwitch("resume", session=str(path)))


def _found(session: Session, wanted: str) -> Path:
    """The file of a session, beside that of this one or where sessions usually are. Raises UsageError."""
    path = typed_path(wanted)
    if path.suffix == ".jsonl" or "/" in wanted:
        if stat.S_ISREG(mode_of(session.cwd / path)):
            return session.cwd / path
        raise UsageError(f'There is no session file "{path}".')
    if session.log.path is not None:
        try:
            return SessionStore(session.log.path.parent, session.cwd, flat=True).find_path(wanted)
        except UsageError:
            pass  # it may be one of another folder
    return sdk.session_store(os.environ, session.cwd).find_path(wanted)


async def name(context: CommandContext, rest: str) -> None:
    names = context.require_session().names
    if rest:
        names.rename(rest)
        context.status_line.refresh()
    context.say(f'The session is called "{names.name}".' if names.name else "The session has no name.")


async def session(context: CommandContext, rest: str) -> None:
    """Its facts, or its end."""
    if rest == "delete":
        await _delete(context)
    elif rest in ("", "info"):
        _tell_facts(context, context.require_session())
    else:
        raise UsageError("Write it as /session, or as /session delete.")


def _tell_facts(context: CommandContext, session: Session) -> None:
    log, stats = session.log, session.stats.summary()
    tokens = stats.tokens
    cached = f"{stats.cache_hit_rate * 100:.0f} % of the input from the cache"
    said = (
        f"{count(stats.user_messages, 'message')} of yours",
        count(stats.assistant_messages, "answer"),
        count(stats.tool_calls, "tool call"),
    )
    rows = [
        ("Name", log.name or "none; /name gives it one"),
        ("Id", log.header.id),
        ("File", _file(log.path)),
        ("Folder", str(session.cwd)),
        ("Begun", f"{_age(now_ms() - from_iso(log.header.timestamp))} ago"),
        ("Model", session.model.key + (f", thinking {session.thinking}" if session.model.reasoning else "")),
        ("Said", ", ".join(said)),
        ("Entries", f"{sum(1 for _ in log.nodes()):,}"),
        ("Tokens", f"{tokens_text(tokens.total)}: {tokens_text(tokens.output)} output, {cached}"),
        ("Cost", money_text(stats.cost)),
    ]
    if isinstance(log.header.parent_session, str):
        rows.append(("Copied from", log.header.parent_session))
    context.say("\n".join(columns(context.display, rows, cut=False)))


def _file(path: Path | None) -> str:
    if path is None:
        return "none; the session is in memory only and ends with tau"
    try:
        return f"{path} ({format_bytes(path.stat().st_size)})"
    except OSError:
        return f"{path} (not there yet)"


def _age(ms: int) -> str:
    """`some seconds`, `12 minutes`, `3 hours`, `5 days`."""
    seconds = max(ms, 0) // 1000
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return count(seconds // size, unit)
    return "some seconds"


async def _delete(context: CommandContext) -> None:
    """Into the trash, once it is closed."""
    old = context.require_session()
    path = old.log.path
    if context.current.running:
        raise TauError("The agent is at work; stop it before you delete the session.")
    if path is None or not path.exists():
        raise TauError("Nothing of this session is on the disk yet.")
    said = next((message for message in old.log.messages() if isinstance(message, UserMessage)), None)
    title = old.names.name or (first_words(typed_text(said)) if said is not None else UNTITLED)
    days = trash.KEPT_DAYS
    question = f'"{title}" goes to the trash, where it is kept for {days} days.'
    if not await context.ui.confirm("Delete this session?", question):
        context.say("The session stays.")
        return
    context.actions.leave(SessionSwitch("new"))
    await next_session(context.current, old)
    trashed = trash.Trash(context.paths.trash).put(path, title)
    context.say(
        f"The session is in the trash; tau sessions restore {trashed.id[:SHOWN_ID_CHARS]} brings it back."
    )


async def tree(context: CommandContext, rest: str) -> None:
    await trees.choose_entry(context)


async def branch(context: CommandContext, rest: str) -> None:
    """One of the person's own messages; all entries for those who have the tree behind Escape."""
    if context.settings.interaction.double_escape == "tree":
        await trees.choose_entry(context)
    else:
        await branches.choose_branch(context)


async def goto(context: CommandContext, rest: str) -> None:
    session = context.require_session()
    if not rest:
        raise UsageError("Name an entry by its id: /goto ID. /tree shows all entries.")
    found = [node.id for node in session.log.nodes() if node.id.startswith(rest)]
    if rest not in found and len(found) != 1:
        problem = "More than one entry has" if found else "No entry has"
        raise UsageError(f'{problem} an id that begins with "{rest}"; /tree shows all entries.')
    move = await session.goto(rest if rest in found else found[0])
    show_move(context, move)


def show_move(context: CommandContext, move: Move) -> None:
    """The screen after the session has gone elsewhere, or has not."""
    if move.already_there:
        context.say("Already at this point.")
        return
    if move.cancelled:
        context.say("The session stays where it is.")
        return
    context.transcript.rebuild()
    context.status_line.refresh()
    if not move.editor_text and not move.images:
        context.say("The next message goes on from here.")
        return
    context.sender.bring_back(move.editor_text or "", move.images)
    context.say("Change the message and send it again; the way that was left stays in the session.")


async def fork(context: CommandContext, rest: str) -> None:
    path = context.require_session().log.path
    if path is None:
        raise TauError("This session is kept in memory only, so it cannot be copied.")
    if not path.exists():
        raise TauError("There is nothing to copy yet.")
    notice = "This is a copy of the session; what is said here stays here."
    context.actions.leave(SessionSwitch("fork", session=str(path), notice=notice))
