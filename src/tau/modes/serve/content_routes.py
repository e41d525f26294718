"""What a session consists of: messages, entries, changes, artifacts, exports; and completions."""

import asyncio
import os
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Raw, Struct
from starlette.responses import FileResponse, Response

from tau.base.errors import ToolError, UsageError
from tau.base.files import typed_path
from tau.coding.artifacts import FolderArtifacts
from tau.coding.export.files import exported
from tau.coding.session.storage.log import SessionLog
from tau.coding.undo.plan import UndoPlan
from tau.coding.undo.report import result_lines, summary
from tau.coding.undo.undo import Undo
from tau.config.paths import user_paths
from tau.config.secret_mask import make_mask
from tau.modes.model_list import known_models
from tau.modes.serve.changes import (
    SessionChanges,
    Side,
    UndoReport,
    UndoRequest,
    changed_text,
    session_changes,
)
from tau.modes.serve.errors import HttpError, not_found, stale
from tau.modes.serve.operation import ApiCall
from tau.modes.serve.transcript import MessagesBefore, message_page
from tau.modes.session_commands.command import CommandCall, NoFields
from tau.modes.session_commands.models import AvailableModels, model_info
from tau.modes.session_commands.sessions import EntryList
from tau.modes.session_commands.state import AvailableCommands, get_commands

T = TypeVar("T")
EXPORTS = {
    "html": ("text/html", "html"),
    "markdown": ("text/markdown", "md"),
    "json": ("application/json", "json"),
}
MAX_ENTRIES = 500
# What a session holds is untrusted, so it never runs as a page of this server.
_DOWNLOAD = {"content-security-policy": "sandbox; default-src 'none'"}


class EntriesQuery(Struct, frozen=True):
    since: str = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_ENTRIES)] = MAX_ENTRIES


class ExportQuery(Struct, frozen=True):
    format: Literal["html", "markdown", "json"] = "html"


class FileQuery(Struct, frozen=True):
    query: Annotated[str, Meta(max_length=500)] = ""


class ChangedTextQuery(Struct, frozen=True):
    """`path` as in the list of changes."""

    path: Annotated[str, Meta(max_length=4096)] = ""
    side: Side = "before"


class FoundFiles(Struct, frozen=True):
    files: list[str]


async def with_log(call: ApiCall, read: Callable[[SessionLog], T]) -> T:
    """Read the log of a session, in a thread unless it is open here: another process may write it."""
    live = call.pool.live.get(call.id)
    if live is not None:
        return read(live.host.session.log)
    return await asyncio.to_thread(_with_own_log, call, read)


def _with_own_log(call: ApiCall, read: Callable[[SessionLog], T]) -> T:
    live = call.pool.live.get(call.id)
    if live is not None and not live.saved:
        return read(live.host.session.log)
    log = call.pool.store.open(call.pool.find(call.id), read_only=True)
    try:
        return read(log)
    finally:
        log.close()


async def get_messages(call: ApiCall) -> MessagesBefore:
    return await with_log(call, lambda log: message_page(log, call.query.limit, call.query.before))


async def get_entries(call: ApiCall) -> EntryList:
    def read(log: SessionLog) -> EntryList:
        nodes = list(log.nodes())
        since = call.query.since
        if since:
            at = next((at for at, node in enumerate(nodes) if node.id == since), -1)
            if at < 0:
                raise stale("The session has no such entry; start again without since.")
            nodes = nodes[at + 1 :]
        return EntryList([Raw(log.line(node)) for node in nodes[: call.query.limit]], log.leaf)

    return await with_log(call, read)


async def get_changes(call: ApiCall) -> SessionChanges:
    live = call.pool.live.get(call.id)
    if live is not None and not live.host.busy and (recorder := live.host.session.recorder) is not None:
        await recorder.settle()

    def read(log: SessionLog) -> SessionChanges:
        folder = log.artifacts_folder
        if folder is None:
            return SessionChanges([], [], can_redo=False)
        return session_changes(folder, typed_path(log.header.cwd))

    return await asyncio.to_thread(_with_own_log, call, read)


async def get_changed_text(call: ApiCall) -> Response:
    def read(log: SessionLog) -> str | None:
        folder = log.artifacts_folder
        cwd = typed_path(log.header.cwd)
        return None if folder is None else changed_text(folder, cwd, call.query.path, call.query.side)

    text = await asyncio.to_thread(_with_own_log, call, read)
    if text is None:
        raise not_found("The session has not changed such a text file.")
    return Response(text.encode("utf-8", "replace"), headers=_DOWNLOAD, media_type="text/plain")


async def undo_changes(call: ApiCall) -> UndoReport:
    body: UndoRequest = call.body
    if body.force and not body.paths:
        raise UsageError("Name the paths to undo by force.")
    live = await call.pool.open(call.id)
    paths = [live.host.session.cwd / typed_path(path) for path in body.paths]
    return await _change_back(
        call, lambda undo: undo.plan(body.turn, paths=paths, force=paths if body.force else ())
    )


async def redo_changes(call: ApiCall) -> UndoReport:
    return await _change_back(call, lambda undo: undo.redo_plan())


async def _change_back(call: ApiCall, make: Callable[[Undo], UndoPlan]) -> UndoReport:
    live = await call.pool.open(call.id)
    session = live.host.session
    if live.host.busy:
        raise HttpError(409, "busy", "The agent is working; stop it first.")
    if session.recorder is None:
        raise UsageError("This session does not record changes.")
    plan, result = await session.recorder.change_back(make)
    return UndoReport(result_lines(result, session.cwd), summary(plan, result))


async def get_artifact(call: ApiCall) -> Response:
    def find(log: SessionLog) -> Response:
        folder = log.artifacts_folder
        try:
            if folder is None:
                raise ToolError("")
            path = FolderArtifacts(folder).open(call.ids["artifact"])
        except ToolError:
            raise not_found("The session has no such artifact.") from None
        return FileResponse(path, headers=_DOWNLOAD, media_type="text/plain; charset=utf-8")

    return await with_log(call, find)


async def export_session(call: ApiCall) -> Response:
    """With secrets masked."""
    mask = make_mask(os.environ, user_paths(call.pool.environ), lambda warning: None)
    data = await asyncio.to_thread(
        _with_own_log, call, lambda log: b"".join(exported(log, call.query.format, mask))
    )
    media, suffix = EXPORTS[call.query.format]
    name = f'attachment; filename="tau-{call.id[:8]}.{suffix}"'
    headers = {**_DOWNLOAD, "content-disposition": name}
    return Response(data, headers=headers, media_type=media)


async def find_files(call: ApiCall) -> FoundFiles:
    live = await call.pool.open(call.id)
    return FoundFiles(await call.pool.files.find(live.host.session.cwd, call.query.query))


async def list_commands(call: ApiCall) -> AvailableCommands:
    live = await call.pool.open(call.id)
    return await get_commands(CommandCall(live.host), NoFields())


async def list_models(call: ApiCall) -> AvailableModels:
    models = await asyncio.to_thread(known_models, user_paths(call.pool.environ), None)
    usable = (model for model in models.catalog.models if model.provider in models.usable)
    return AvailableModels([model_info(model) for model in usable])
