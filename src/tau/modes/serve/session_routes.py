"""Sessions as resources: list, create, open, rename, delete; commands, questions and events."""

import asyncio
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from tau.base.clock import iso, now_ms
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.trash import Trash
from tau.coding.session_index.index import SessionIndex, SessionRow
from tau.coding.session_index.labels import title_of
from tau.coding.session_index.search import search
from tau.config.paths import user_paths
from tau.modes.event_json import encode_masked
from tau.modes.rpc.frames import UiRequest, UiResponse
from tau.modes.serve.errors import HttpError, SessionHolder, invalid, not_found, stale
from tau.modes.serve.event_stream import EventStream
from tau.modes.serve.holders import find_holder
from tau.modes.serve.live_session import LiveSession
from tau.modes.serve.operation import ApiCall, decode_body
from tau.modes.serve.session_pool import locked
from tau.modes.serve.transcript import MessagesBefore, message_page
from tau.modes.session_commands.command import CommandCall, CommandError, NoFields, SessionCommand
from tau.modes.session_commands.state import SessionState, get_state
from tau.modes.session_commands.table import COMMANDS

MAX_READERS = 256


class SessionInfoRow(Struct, frozen=True, rename="camel", kw_only=True):
    """`open`: in this server. `needs_you`: a question waits. `holder`: another process writes it."""

    id: str
    name: str | None
    title: str
    cwd: str
    modified: str
    message_count: int
    open: bool
    busy: bool
    needs_you: bool
    holder: SessionHolder | UnsetType = UNSET


class SessionQuery(Struct, frozen=True):
    query: str = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: str = ""


class SessionRows(Struct, frozen=True, rename="camel"):
    sessions: list[SessionInfoRow]
    next_cursor: str | UnsetType = UNSET


class NewSession(Struct, frozen=True):
    """`cwd` is a folder below the root, which is the default."""

    cwd: str | None = None
    model: str | None = None
    name: str | None = None


class SessionName(Struct, frozen=True):
    name: str


class OpenQuery(Struct, frozen=True):
    """`messages`: include so many of the latest, of the same moment as the rest."""

    messages: Annotated[int, Meta(ge=0, le=200)] = 0


class QueuedTexts(Struct, frozen=True, rename="camel"):
    steering: list[str]
    follow_up: list[str]


class SessionView(Struct, frozen=True, rename="camel", kw_only=True):
    """Without `state`, another process writes the session. `streaming` is the arriving message so far,
    `running` the tool calls that have started. Events after `last_event_id` are not included."""

    session: SessionInfoRow
    state: SessionState | None = None
    questions: list[UiRequest] = []
    queue: QueuedTexts = QueuedTexts([], [])
    streaming: Raw | None = None
    running: list[Raw] = []
    cost: float = 0.0
    last_event_id: str | None = None
    page: MessagesBefore | UnsetType = UNSET


class CommandAnswer(Struct, frozen=True, rename="camel"):
    """`session_id`: the conversation continues in another session, under this id."""

    data: Any = UNSET
    session_id: str | UnsetType = UNSET


class EventQuery(Struct, frozen=True):
    after: str = ""


async def list_sessions(call: ApiCall) -> SessionRows:
    pool, query = call.pool, call.query
    rows = await asyncio.to_thread(_stored, call, query.query)
    stored = {row.id for row in rows}
    shown: list[SessionInfoRow] = []
    if not query.cursor and not query.query:
        shown += [live_row(one) for one in pool.live.values() if one.id not in stored]
    if query.cursor:
        changed_ns, _, id = query.cursor.partition("-")
        if not changed_ns.isdecimal():
            raise stale("The cursor is unknown; start again without one.")
        rows = [row for row in rows if (row.changed_ns, row.id) < (int(changed_ns), id)]
    page = rows[: query.limit]
    shown += [
        live_row(pool.live[row.id], row) if row.id in pool.live else _stored_row(row, find_holder(row.path))
        for row in page
    ]
    more = len(rows) > len(page)
    return SessionRows(shown, f"{page[-1].changed_ns}-{page[-1].id}" if more else UNSET)


def _stored(call: ApiCall, text: str) -> list[SessionRow]:
    """Newest first, in a thread: files that have changed are read again."""
    store = call.pool.store
    with SessionIndex(user_paths(call.pool.environ).index, store.root, flat=store.flat) as index:
        words = text.split()
        rows = [hit.session for hit in search(index, words).hits] if words else index.sessions()
    rows = [row for row in rows if call.pool.contains(Path(row.summary.cwd or "/"))]
    return sorted(rows, key=lambda row: (row.changed_ns, row.id), reverse=True)


def live_row(live: LiveSession, row: SessionRow | None = None) -> SessionInfoRow:
    session = live.host.session
    name = session.names.name or None
    return SessionInfoRow(
        id=live.id,
        name=name,
        title=name or (title_of(row.summary) if row is not None else "") or "New session",
        cwd=str(session.cwd),
        modified=iso(now_ms() if row is None else row.changed_ms),
        message_count=len(session.log.messages()),
        open=True,
        busy=live.host.busy or session.busy,
        needs_you=live.needs_user,
    )


def _stored_row(row: SessionRow, holder: SessionHolder | None) -> SessionInfoRow:
    return SessionInfoRow(
        id=row.id,
        name=row.summary.shown_name or None,
        title=title_of(row.summary),
        cwd=row.summary.cwd,
        modified=iso(row.changed_ms),
        message_count=row.summary.messages,
        open=False,
        busy=False,
        needs_you=False,
        holder=UNSET if holder is None else holder,
    )


async def create_session(call: ApiCall) -> SessionInfoRow:
    body: NewSession = call.body
    live = await call.pool.create(body.cwd, body.model)
    if body.name:
        live.host.session.names.rename(body.name)
    return live_row(live)


async def rename_session(call: ApiCall) -> SessionInfoRow:
    live = await call.pool.open(call.id)
    live.host.session.names.rename(call.body.name)
    return live_row(live)


async def delete_session(call: ApiCall) -> None:
    pool, live = call.pool, call.pool.live.get(call.id)
    if live is not None and live.host.busy:
        raise HttpError(409, "busy", "The agent is working in this session; stop it first.")
    path = None if live is not None and not live.saved else await asyncio.to_thread(pool.find, call.id)
    title = "" if live is None else live_row(live).title
    await pool.close_session(call.id)
    if path is not None:
        try:
            await asyncio.to_thread(Trash(user_paths(pool.environ).trash).put, path, title)
        except SessionLocked as error:
            raise locked(path) from error


async def view_session(call: ApiCall) -> SessionView:
    limit = call.query.messages
    try:
        live = await call.pool.open(call.id)
    except HttpError as error:
        if error.body.code != "session_locked":
            raise
        return await asyncio.to_thread(_view_locked, call, error)
    live.used_s = time.monotonic()
    host, log = live.host, live.host.session.log
    waiting = host.session.queue.waiting()
    return SessionView(
        session=live_row(live),
        state=replace(await get_state(CommandCall(host), NoFields()), system_prompt=[], dump_tools=[]),
        questions=list(live.dialogs.open.values()),
        queue=QueuedTexts(
            [one.text for one in waiting if one.kind == "steering"],
            [one.text for one in waiting if one.kind == "followUp"],
        ),
        streaming=live.streaming,
        running=[Raw(encode_masked(one)) for one in live.running.values()],
        cost=host.session.stats.summary().cost,
        last_event_id=live.ring.last_id,
        page=message_page(log, limit) if limit else UNSET,
    )


def _view_locked(call: ApiCall, error: HttpError) -> SessionView:
    """A session that another process writes, as far as it has written it."""
    path = call.pool.find(call.id)
    with closing(call.pool.store.open(path, read_only=True)) as log:
        messages = log.messages()
        info = SessionInfoRow(
            id=call.id,
            name=log.name,
            title=log.name or "Session",
            cwd=log.header.cwd,
            modified=iso(path.stat().st_mtime_ns // 1_000_000),
            message_count=len(messages),
            open=False,
            busy=False,
            needs_you=False,
            holder=error.body.holder,
        )
        limit = call.query.messages
        return SessionView(session=info, page=message_page(log, limit) if limit else UNSET)


async def run_command(call: ApiCall) -> Any:
    command = COMMANDS.get(call.ids["name"])
    if command is None:
        raise HttpError(404, "unknown_command", f'There is no command "{call.ids["name"][:64]}".')
    body = await decode_body(call.request, command.request)
    live = await call.pool.open(call.id)
    key = call.request.headers.get("idempotency-key", "")
    live.requests += 1
    try:
        return await call.pool.answers.once(
            call.id, key, (command.name, body), lambda: _run(call, live, command, body, key)
        )
    finally:
        live.requests -= 1
        live.used_s = time.monotonic()


async def _run(
    call: ApiCall, live: LiveSession, command: SessionCommand, body: Any, key: str
) -> CommandAnswer:
    if command.name == "switch_session":
        raise CommandError("Open the other session under its own address.", "unsupported")
    work = CommandCall(live.host, key or None, live.publish)
    if command.slow:
        data = await command.run(work, body)
    else:
        async with live.turn:  # one after the other, as if they came through a pipe
            data = await command.run(work, body)
    moved = call.pool.settle(live, call.id)
    return CommandAnswer(UNSET if command.response is None else data, moved or UNSET)


async def answer_question(call: ApiCall) -> None:
    live = await call.pool.open(call.id)
    id = call.ids["question"]
    if id not in live.dialogs.open:
        raise not_found("The question is closed: it was answered, or the agent no longer waits for it.")
    response = UiResponse(id, call.body.value, call.body.confirmed, call.body.cancelled, call.body.reason)
    if not live.dialogs.can_take(response):
        raise invalid("This does not answer the question; send one of its options, or cancelled.")
    live.dialogs.answer(response)


async def stream_events(call: ApiCall) -> EventStream:
    live = await call.pool.open(call.id)
    if sum(len(one.ring.readers) for one in call.pool.live.values()) >= MAX_READERS:
        raise HttpError(
            429, "too_many_readers", f"{MAX_READERS} event streams are open; close one of them first."
        )
    live.used_s = time.monotonic()
    after = call.request.headers.get("last-event-id") or call.query.after or None
    return EventStream(live.ring, after)
