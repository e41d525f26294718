"""Commands about sessions: another one, its name and facts, its branches, its copy."""

import os
import stat
from pathlib import Path

from tau.agent.queue import spoken_text
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
from tau.modes.interactive.app import App, SessionSwitch
from tau.modes.interactive.commands.shared_text import columns, count, next_session, session_of

branches = late("tau.modes.interactive.selectors.branch")
sdk = late("tau.sdk")
session_selector = late("tau.modes.interactive.selectors.session_selector")
trees = late("tau.modes.interactive.selectors.tree_selector")
trash = late("tau.coding.session.storage.trash")

SHOWN_ID_CHARS = 8


async def new(app: App, rest: str) -> None:
    path = session_of(app).log.path
    before = " /resume goes back to the one before." if path is not None and path.exists() else ""
    app.leave(SessionSwitch("new", notice=f"This is a new session.{before}"))


async def resume(app: App, rest: str) -> None:
    """Choose one, or go on with the one of this id."""
    if not rest:
        await session_selector.choose_session(app)
        return
    session = session_of(app)
    path = _found(session, rest)
    if session.log.path is not None and path == session.log.path:
        app.say("This is the session that you are in.")
        return
    app.leave(SessionSwitch("resume", session=str(path)))


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
    found: Path = sdk.session_store(os.environ, session.cwd).find_path(wanted)
    return found


async def name(app: App, rest: str) -> None:
    names = session_of(app).names
    if rest:
        names.rename(rest)
        app.status_line.refresh()
    app.say(f'The session is called "{names.name}".' if names.name else "The session has no name.")


async def session(app: App, rest: str) -> None:
    """Its facts, or its end."""
    if rest == "delete":
        await _delete(app)
    elif rest in ("", "info"):
        _tell_facts(app, session_of(app))
    else:
        raise UsageError("Write it as /session, or as /session delete.")


def _tell_facts(app: App, session: Session) -> None:
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
    app.say("\n".join(columns(app, rows, cut=False)))


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


async def _delete(app: App) -> None:
    """Into the trash, once it is closed."""
    old = session_of(app)
    path = old.log.path
    if app.session_runs:
        raise TauError("The agent is at work; stop it before you delete the session.")
    if path is None or not path.exists():
        raise TauError("Nothing of this session is on the disk yet.")
    said = next((message for message in old.log.messages() if isinstance(message, UserMessage)), None)
    title = old.names.name or (first_words(spoken_text(said)) if said is not None else UNTITLED)
    days = trash.KEPT_DAYS
    question = f'"{title}" goes to the trash, where it is kept for {days} days.'
    if not await app.ui.confirm("Delete this session?", question):
        app.say("The session stays.")
        return
    app.leave(SessionSwitch("new"))
    await next_session(app, old)
    trashed = trash.Trash(app.paths.trash).put(path, title)
    app.say(
        f"The session is in the trash; tau sessions restore {trashed.id[:SHOWN_ID_CHARS]} brings it back."
    )


async def tree(app: App, rest: str) -> None:
    await trees.choose_entry(app)


async def branch(app: App, rest: str) -> None:
    """One of the person's own messages; all entries for those who have the tree behind Escape."""
    if app.settings.interaction.double_escape == "tree":
        await trees.choose_entry(app)
    else:
        await branches.choose_branch(app)


async def goto(app: App, rest: str) -> None:
    session = session_of(app)
    if not rest:
        raise UsageError("Name an entry by its id: /goto ID. /tree shows all entries.")
    found = [node.id for node in session.log.nodes() if node.id.startswith(rest)]
    if rest not in found and len(found) != 1:
        problem = "More than one entry has" if found else "No entry has"
        raise UsageError(f'{problem} an id that begins with "{rest}"; /tree shows all entries.')
    move = await session.goto(rest if rest in found else found[0])
    show_move(app, move)


def show_move(app: App, move: Move) -> None:
    """The screen after the session has gone elsewhere, or has not."""
    if move.already_there:
        app.say("Already at this point.")
        return
    if move.cancelled:
        app.say("The session stays where it is.")
        return
    app.events.rebuild()
    app.status_line.refresh()
    if not move.editor_text and not move.images:
        app.say("The next message goes on from here.")
        return
    app.input.sending.bring_back(move.editor_text or "", move.images)
    app.say("Change the message and send it again; the way that was left stays in the session.")


async def fork(app: App, rest: str) -> None:
    path = session_of(app).log.path
    if path is None:
        raise TauError("This session is kept in memory only, so it cannot be copied.")
    if not path.exists():
        raise TauError("There is nothing to copy yet.")
    notice = "This is a copy of the session; what is said here stays here."
    app.leave(SessionSwitch("fork", session=str(path), notice=notice))
