"""An operation of the API as data: the routes and the OpenAPI document come from one list."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tau.agent.abort import Aborted
from tau.base import log
from tau.base.errors import TauError
from tau.base.jsonl import decode_json
from tau.modes.serve.access import AccessGate
from tau.modes.serve.errors import HttpError, HttpErrorBody, error_response, invalid, json_response
from tau.modes.serve.session_pool import SessionPool

T = TypeVar("T")


class ApiCall(Struct, frozen=True, kw_only=True):
    """A request, decoded. `ids` are the variable parts of its path."""

    request: Request
    pool: SessionPool
    gate: AccessGate
    ids: dict[str, str]
    query: Any = None
    body: Any = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.ids["id"]


class ApiOperation(Struct, frozen=True, kw_only=True):
    """`run` returns what `response` says, to be sent as JSON.

    With `media`, or without `response`, it returns a whole answer, or nothing for status 204.
    `query` and `body` are structs. `media` is the type of an answer that is not JSON; `is_open`: it needs no
    token.
    """

    method: str
    path: str
    name: str
    summary: str
    run: Callable[[ApiCall], Awaitable[Any]]
    response: Any = None
    status: int = 200
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    media: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    is_open: bool = False


def operation(
    method: str,
    path: str,
    run: Callable[[ApiCall], Awaitable[Any]],
    summary: str,
    *,
    response: Any = None,
    **rest: Any,
) -> ApiOperation:
    """A row for a function: its name and, if that is a struct, what it returns."""
    returned = run.__annotations__["return"]
    if response is None and isinstance(returned, type) and issubclass(returned, Struct):
        response = returned
    return ApiOperation(
        method=method, path=path, name=run.__name__, summary=summary, run=run, response=response, **rest
    )


async def answer(operation: ApiOperation, request: Request) -> Response:
    """Run an operation; what fails becomes an answer too."""
    pool, gate = request.app.state.pool, request.app.state.gate
    try:
        query = None if operation.query is None else _decode_query(request, operation.query)
        body = None if operation.body is None else await decode_body(request, operation.body)
        call = ApiCall(
            request=request, pool=pool, gate=gate, ids=dict(request.path_params), query=query, body=body
        )
        result = await operation.run(call)
        if operation.media or operation.response is None:
            response: Response = result or Response(status_code=204)
            return response
        return json_response(result, operation.status)
    except TauError as error:
        return error_response(error)
    except Aborted:
        return json_response(HttpErrorBody("Aborted.", "aborted"), 409)
    except ClientDisconnect:
        return Response(status_code=400)
    except Exception as error:
        log.error(f"{operation.method} {operation.path} failed.", error)
        text = f"The request failed unexpectedly: {error!r}. The log file has the details."
        return json_response(HttpErrorBody(text, "internal"), 500)


async def decode_body(request: Request, type: type[T]) -> T:
    """No body is an empty object. Raises HttpError."""
    data = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if data and kind != "application/json":
        raise HttpError(415, "unsupported_media_type", "Send the body as application/json.")
    try:
        return decode_json(msgspec.json.Decoder(type), data or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(f"Invalid request: {error}.") from error


def _decode_query(request: Request, type: type[T]) -> T:
    try:
        return msgspec.convert(dict(request.query_params), type, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(f"Invalid query: {error}.") from error
