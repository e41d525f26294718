"""The list of all operations."""

from functools import cache

from msgspec import Struct
from starlette.responses import Response

from tau.base.version import VERSION
from tau.modes.event_json import encode_masked
from tau.modes.serve import content_routes as content
from tau.modes.serve import session_routes as sessions
from tau.modes.serve.access import COOKIE
from tau.modes.serve.changes import UndoRequest
from tau.modes.serve.errors import HttpError
from tau.modes.serve.openapi import openapi_document
from tau.modes.serve.operation import ApiCall, operation
from tau.modes.serve.transcript import PageQuery
from tau.modes.serve.web import routes as page
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


COMMAND = operation(
    "POST",
    f"{SESSION}/commands/{{name}}",
    sessions.run_command,
    "Run a session command",
    headers=("Idempotency-Key",),
    response=sessions.CommandAnswer,
)

OPERATIONS = (
    operation("GET", "/v1/health", get_health, "Return the version", is_open=True),
    operation(
        "GET",
        "/v1/openapi.json",
        get_document,
        "Return this description",
        media=("application/json",),
        is_open=True,
    ),
    operation(
        "POST", "/v1/auth", trade_token, "Trade the token for a cookie", body=TokenRequest, is_open=True
    ),
    operation(
        "GET",
        "/v1/sessions",
        sessions.list_sessions,
        "List the sessions below the root, the latest first, or those that contain all words",
        query=sessions.SessionQuery,
    ),
    operation(
        "POST",
        "/v1/sessions",
        sessions.create_session,
        "Start a session",
        body=sessions.NewSession,
        status=201,
    ),
    operation(
        "GET", SESSION, sessions.view_session, "Open a session and return its state", query=sessions.OpenQuery
    ),
    operation(
        "PATCH",
        SESSION,
        sessions.rename_session,
        "Name a session; an empty name removes it",
        body=sessions.SessionName,
    ),
    operation("DELETE", SESSION, sessions.delete_session, "Move a session to the trash"),
    operation(
        "GET",
        f"{SESSION}/messages",
        content.get_messages,
        "Return a page of the conversation, by default the latest",
        query=PageQuery,
    ),
    operation(
        "GET",
        f"{SESSION}/entries",
        content.get_entries,
        "Return entries of the session file, or those after one",
        query=content.EntriesQuery,
    ),
    operation(
        "GET",
        f"{SESSION}/changes",
        content.get_changes,
        "Return the files that the session has changed, as diffs",
    ),
    operation(
        "GET",
        f"{SESSION}/changes/text",
        content.get_changed_text,
        "Return the text of a changed file before the session, or now",
        query=content.ChangedTextQuery,
        media=("text/plain",),
    ),
    operation(
        "POST",
        f"{SESSION}/changes/undo",
        content.undo_changes,
        "Undo file changes of the last turn, of one turn, or of some files",
        body=UndoRequest,
    ),
    operation("POST", f"{SESSION}/changes/redo", content.redo_changes, "Revert the last undo"),
    operation(
        "GET",
        f"{SESSION}/artifacts/{{artifact}}",
        content.get_artifact,
        "Return the full output of a tool call",
        media=("text/plain",),
    ),
    operation(
        "GET",
        f"{SESSION}/export",
        content.export_session,
        "Download the session with secrets masked",
        query=content.ExportQuery,
        media=tuple(media for media, _ in content.EXPORTS.values()),
    ),
    operation(
        "GET",
        f"{SESSION}/files",
        content.find_files,
        "Find files of the working folder by a part of their path",
        query=content.FileQuery,
    ),
    operation(
        "GET", f"{SESSION}/commands", content.list_commands, "List the slash commands that files define"
    ),
    operation("GET", "/v1/models", content.list_models, "List the models that can be used now"),
    operation(
        "POST",
        f"{SESSION}/questions/{{question}}",
        sessions.answer_question,
        "Answer an open question; it is then closed for all clients",
        body=QuestionReply,
    ),
    operation(
        "GET",
        f"{SESSION}/events",
        sessions.stream_events,
        "Stream events, as server-sent events",
        query=sessions.EventQuery,
        media=("text/event-stream",),
        headers=("Last-Event-ID",),
    ),
    *page.OPERATIONS,
)
