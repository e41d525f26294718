"""The list of all operations."""

from functools import cache

from msgspec import Struct
from starlette.responses import Response

from tau.base.version import VERSION
from tau.modes.event_json import encode_masked
from tau.modes.serve import content_routes as content
from tau.modes.serve import session_routes as sessions
from tau.modes.serve.access import COOKIE
from tau.modes.serve.changes import SessionChanges, UndoReport, UndoRequest
from tau.modes.serve.errors import HttpError
from tau.modes.serve.openapi import openapi_document
from tau.modes.serve.operation import ApiCall, ApiOperation
from tau.modes.serve.transcript import MessagesBefore, PageQuery
from tau.modes.serve.web import routes as page
from tau.modes.session_commands.models import AvailableModels
from tau.modes.session_commands.sessions import EntryList
from tau.modes.session_commands.state import AvailableCommands
from tau.modes.session_commands.table import COMMANDS

COOKIE_SECONDS = 365 * 24 * 3600
SESSION = "/v1/sessions/{id}"


class Health(Struct, frozen=True):
    version: str


class TokenRequest(Struct, frozen=True):
    token: str


class QuestionReply(Struct, frozen=True):
    """`reason`: why a call is declined, for the model."""

    value: str | None = None
    confirmed: bool | None = None
    cancelled: bool = False
    reason: str = ""


@cache
def _document() -> bytes:
    return encode_masked(openapi_document(OPERATIONS, COMMAND, COMMANDS))


async def get_document(call: ApiCall) -> Response:
    return Response(_document(), media_type="application/json")


async def get_health(call: ApiCall) -> Health:
    return Health(VERSION)


async def trade_token(call: ApiCall) -> Response:
    """A cookie for the token, which scripts of a page cannot read."""
    if not call.gate.check_guess(call.request.scope, call.body.token):
        raise HttpError(401, "unauthorized", "The token is wrong; open the address that tau serve prints.")
    response = Response(status_code=204)
    response.set_cookie(
        COOKIE, call.body.token, max_age=COOKIE_SECONDS, path="/", httponly=True, samesite="strict"
    )
    return response


COMMAND = ApiOperation(
    method="POST",
    path=f"{SESSION}/commands/{{name}}",
    name="run_command",
    summary="Run a session command",
    run=sessions.run_command,
    response=sessions.CommandAnswer,
    headers=("Idempotency-Key",),
)

OPERATIONS = (
    ApiOperation(
        method="GET",
        path="/v1/health",
        name="get_health",
        summary="Return the version",
        run=get_health,
        response=Health,
        is_open=True,
    ),
    ApiOperation(
        method="GET",
        path="/v1/openapi.json",
        name="get_document",
        summary="Return this description",
        run=get_document,
        media=("application/json",),
        is_open=True,
    ),
    ApiOperation(
        method="POST",
        path="/v1/auth",
        name="trade_token",
        summary="Trade the token for a cookie",
        run=trade_token,
        body=TokenRequest,
        is_open=True,
    ),
    ApiOperation(
        method="GET",
        path="/v1/sessions",
        name="list_sessions",
        summary="List the sessions below the root, the latest first, or those that contain all words",
        run=sessions.list_sessions,
        query=sessions.SessionQuery,
        response=sessions.SessionRows,
    ),
    ApiOperation(
        method="POST",
        path="/v1/sessions",
        name="create_session",
        summary="Start a session",
        run=sessions.create_session,
        body=sessions.NewSession,
        response=sessions.SessionInfoRow,
        status=201,
    ),
    ApiOperation(
        method="GET",
        path=SESSION,
        name="view_session",
        summary="Open a session and return its state",
        run=sessions.view_session,
        query=sessions.OpenQuery,
        response=sessions.SessionView,
    ),
    ApiOperation(
        method="PATCH",
        path=SESSION,
        name="rename_session",
        summary="Name a session; an empty name removes it",
        run=sessions.rename_session,
        body=sessions.SessionName,
        response=sessions.SessionInfoRow,
    ),
    ApiOperation(
        method="DELETE",
        path=SESSION,
        name="delete_session",
        summary="Move a session to the trash",
        run=sessions.delete_session,
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/messages",
        name="get_messages",
        summary="Return a page of the conversation, by default the latest",
        run=content.get_messages,
        query=PageQuery,
        response=MessagesBefore,
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/entries",
        name="get_entries",
        summary="Return entries of the session file, or those after one",
        run=content.get_entries,
        query=content.EntriesQuery,
        response=EntryList,
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/changes",
        name="get_changes",
        summary="Return the files that the session has changed, as diffs",
        run=content.get_changes,
        response=SessionChanges,
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/changes/text",
        name="get_changed_text",
        summary="Return the text of a changed file before the session, or now",
        run=content.get_changed_text,
        query=content.ChangedTextQuery,
        media=("text/plain",),
    ),
    ApiOperation(
        method="POST",
        path=f"{SESSION}/changes/undo",
        name="undo_changes",
        summary="Undo file changes of the last turn, of one turn, or of some files",
        run=content.undo_changes,
        body=UndoRequest,
        response=UndoReport,
    ),
    ApiOperation(
        method="POST",
        path=f"{SESSION}/changes/redo",
        name="redo_changes",
        summary="Revert the last undo",
        run=content.redo_changes,
        response=UndoReport,
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/artifacts/{{artifact}}",
        name="get_artifact",
        summary="Return the full output of a tool call",
        run=content.get_artifact,
        media=("text/plain",),
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/export",
        name="export_session",
        summary="Download the session with secrets masked",
        run=content.export_session,
        query=content.ExportQuery,
        media=tuple(media for media, _ in content.EXPORTS.values()),
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/files",
        name="find_files",
        summary="Find files of the working folder by a part of their path",
        run=content.find_files,
        query=content.FileQuery,
        response=content.FoundFiles,
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/commands",
        name="list_commands",
        summary="List the slash commands that files define",
        run=content.list_commands,
        response=AvailableCommands,
    ),
    ApiOperation(
        method="GET",
        path="/v1/models",
        name="list_models",
        summary="List the models that can be used now",
        run=content.list_models,
        response=AvailableModels,
    ),
    ApiOperation(
        method="POST",
        path=f"{SESSION}/questions/{{question}}",
        name="answer_question",
        summary="Answer an open question; it is then closed for all clients",
        run=sessions.answer_question,
        body=QuestionReply,
    ),
    ApiOperation(
        method="GET",
        path=f"{SESSION}/events",
        name="stream_events",
        summary="Stream events, as server-sent events",
        run=sessions.stream_events,
        query=sessions.EventQuery,
        media=("text/event-stream",),
        headers=("Last-Event-ID",),
    ),
    *page.OPERATIONS,
)
