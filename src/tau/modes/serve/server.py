"""Serves the API and the web page until it is stopped."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from tau.base import log
from tau.base.tasks import spawn
from tau.coding import export
from tau.modes.serve.access import AccessGate
from tau.modes.serve.api import COMMAND, OPERATIONS
from tau.modes.serve.errors import HttpError, error_response
from tau.modes.serve.event_stream import PING_S
from tau.modes.serve.operation import ApiOperation, answer
from tau.modes.serve.session_pool import SessionPool
from tau.sdk import SessionOptions

SUFFIXES = ("html", "js", "css", "svg", "png", "webmanifest")
PAGE_CSS = Path(export.__file__).parent / "page.css"
WEB = Path(__file__).parent / "web"
PATIENCE_S = 2
_TEXTS = {
    404: ("not_found", "There is no such address."),
    405: ("method_not_allowed", "This address has no such method."),
}


class ServeOptions(Struct, frozen=True, kw_only=True):
    """`hosts` and `origins` are allowed besides those of this machine."""

    session: SessionOptions
    root: Path
    token: str
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    dialog_timeout_s: float = 600


class HttpServer(uvicorn.Server):
    """Leaves signals to the program, and sleeps while nothing happens."""

    def __init__(
        self,
        app: ASGIApp,
        on_start: Callable[["HttpServer"], None],
        on_stop: Callable[[], Awaitable[None]],
    ) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=PATIENCE_S,
        )
        super().__init__(config)
        self._on_start = on_start
        self._on_stop = on_stop
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start(self)

    async def main_loop(self) -> None:
        await self._stopping.wait()
        await self._on_stop()


async def run(
    options: ServeOptions, listener: socket.socket, started: Callable[[HttpServer, SessionPool], None]
) -> None:
    """Serve until the server that `started` gets is stopped. Sessions are closed then, with their work."""
    logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())
    async with asyncio.TaskGroup() as tasks:
        pool = SessionPool(options.session, options.root, tasks, dialog_timeout_s=options.dialog_timeout_s)
        server = HttpServer(make_app(options, pool), lambda server: started(server, pool), pool.close)
        upkeep = spawn(tasks, _upkeep(pool))
        try:
            await server.serve([listener])
        finally:
            upkeep.cancel()
            await pool.close()


def make_app(options: ServeOptions, pool: SessionPool) -> AccessGate:
    by_path: dict[str, dict[str, ApiOperation]] = {}
    for operation in (*OPERATIONS, COMMAND):
        by_path.setdefault(operation.path, {})[operation.method] = operation
    app = Starlette(
        routes=[
            *(Route(path, PathEndpoint(found)) for path, found in by_path.items()),
            Mount("/v1", _unknown),
            Route("/export.css", partial(_file, PAGE_CSS)),
            Mount("/", PageFiles(directory=WEB, html=True)),
        ],
        exception_handlers={HTTPException: _on_http_exception},
    )
    gate = AccessGate(app, options.token, options.hosts, options.origins)
    app.state.pool, app.state.gate = pool, gate
    return gate


class PageFiles(StaticFiles):
    """The files of the web page, which browsers check for a new version each time."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        name, _, suffix = path.rpartition(".")
        return super().lookup_path(path) if not name or suffix in SUFFIXES else ("", None)

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["cache-control"] = "no-cache"
        return response


async def _file(path: Path, request: Request) -> Response:
    return FileResponse(path, headers={"cache-control": "no-cache"})


class PathEndpoint:
    """The operations of one path, by method."""

    def __init__(self, operations: dict[str, ApiOperation]) -> None:
        self._operations = operations
        self._allowed = ", ".join(sorted({*operations, *(["HEAD"] if "GET" in operations else [])}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method not in self._operations:
            raise HTTPException(405, headers={"Allow": self._allowed})
        response = await answer(self._operations[method], Request(scope, receive))
        await response(scope, receive, send)


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    raise HTTPException(404)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    code, text = _TEXTS.get(status, ("invalid_request", str(error.detail)))
    return error_response(HttpError(status, code, text, headers=dict(error.headers or {})))


async def _upkeep(pool: SessionPool) -> None:
    """Keep connections through proxies alive, and close what nobody uses."""
    while True:
        await pool.has_sessions.wait()
        await asyncio.sleep(PING_S)
        for live in pool.live.values():
            live.ring.ping()
        try:
            await pool.close_idle()
        except Exception as error:  # it must not end the other sessions
            log.error("An idle session could not be closed.", error)
