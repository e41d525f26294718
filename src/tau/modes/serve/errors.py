"""Errors as HTTP answers: a status, and a JSON object with a sentence and a code."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tau.base.errors import TauError
from tau.coding.session.storage.line_storage import SessionLocked
from tau.modes.event_json import encode_masked
from tau.modes.session_commands.command import CommandError

JSON = "application/json"


class SessionHolder(Struct, frozen=True):
    """The process that writes a session; null where the system does not say."""

    pid: int | None
    face: str | None


class HttpErrorBody(Struct, frozen=True):
    error: str
    code: str
    holder: SessionHolder | UnsetType = UNSET


class HttpError(TauError):
    """A request failed with this status."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        holder: SessionHolder | UnsetType = UNSET,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.body = HttpErrorBody(message, code, holder)


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encode_masked(value), status, headers, JSON)


def error_response(error: TauError) -> Response:
    """A command that the state of the session does not allow is a conflict, like every other refusal."""
    if isinstance(error, HttpError):
        return json_response(error.body, error.status, error.headers)
    code = error.code if isinstance(error, CommandError) else ""
    if isinstance(error, SessionLocked):
        code = "session_locked"
    return json_response(HttpErrorBody(str(error), code or "refused"), 409)


def not_found(what: str) -> HttpError:
    return HttpError(404, "not_found", what)


def stale(message: str) -> HttpError:
    return HttpError(409, "stale_cursor", message)


def invalid(message: str) -> HttpError:
    return HttpError(400, "invalid_request", message)
