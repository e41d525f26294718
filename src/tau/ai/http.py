"""The real network: HTTP/1.1 requests on reused connections."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from typing import TypeAlias

from tau.ai.http_connect import Dial, connect, dial, tls_context
from tau.ai.http_response import HttpConnection, HttpResponse, StaleConnection
from tau.ai.proxy import Url, parse_url, proxy_for
from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError
from tau.base.sizes import KIB
from tau.base.version import VERSION

IDLE_S, IDLE_CONNECTIONS = 60.0, 8
DRAIN_S, DRAIN_BYTES = 0.1, 64 * KIB  # of an unread body, to keep the connection

_Route: TypeAlias = tuple[str, str, Url | None]  # scheme, peer and proxy


class HttpTransport:
    """Implements `Transport`. `environ` says which proxies and certificates to use; `dial` connects.

    A reused connection may end without an answer: only one that `resends` sends a POST again.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        *,
        dial: Dial = dial,
        resends: bool = True,
    ) -> None:
        self._dial, self._resends = dial, resends
        self._timeouts = timeouts or Timeouts()
        self._environ = os.environ if environ is None else environ
        self._tls = cache(partial(tls_context, self._environ))
        self._idle: list[tuple[_Route, HttpConnection, float]] = []  # the float: since when

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeouts: Timeouts | None = None,
    ) -> AsyncIterator[HttpResponse]:
        place = parse_url(url)
        proxy = proxy_for(place, self._environ)
        request = (_head(method, place, proxy, headers or {}, body), body or b"")
        del body  # do not keep a long conversation in memory while its answer arrives
        route = (place.scheme, place.peer, proxy)
        limits = timeouts or self._timeouts
        bodiless = method == "HEAD"
        response = None
        for _ in self._idle[:1] * 2:  # the loop sees what servers sent meanwhile, then reads it
            await asyncio.sleep(0)
        if (connection := self._take_idle(route)) is not None:
            try:
                response = await HttpResponse(connection, bodiless=bodiless).head(*request, timeouts=limits)
            except StaleConnection:  # an idle connection was closed before the request, or after it
                if not self._resends and method == "POST":
                    raise
        if response is None:
            connection = await connect(place, proxy, self._tls, limits, self._dial)
            response = await HttpResponse(connection, bodiless=bodiless).head(*request, timeouts=limits)
        del request
        try:
            yield response
            await _drain(response)
        finally:
            response.closed = True
            self._keep_idle(route, response)

    async def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop()[1].abort()
        await asyncio.sleep(0)  # sockets close in the loop's next iteration

    def _take_idle(self, route: _Route) -> HttpConnection | None:
        oldest = asyncio.get_running_loop().time() - IDLE_S
        for entry in self._idle[::-1]:
            idle_route, connection, since = entry
            stale = since < oldest or connection.has_input() or connection.writer.is_closing()
            if stale or idle_route == route:
                self._idle.remove(entry)
            if stale:
                connection.abort()
            elif idle_route == route:
                return connection
        return None

    def _keep_idle(self, route: _Route, response: HttpResponse) -> None:
        connection: HttpConnection | None = response.connection
        sent = response.connection.writer.transport.get_write_buffer_size() == 0
        if response.complete and response.keep_alive and sent:
            self._idle.append((route, response.connection, asyncio.get_running_loop().time()))
            connection = self._idle.pop(0)[1] if len(self._idle) > IDLE_CONNECTIONS else None
        if connection is not None:
            connection.abort()


async def _drain(response: HttpResponse) -> None:
    """Readers detect the end from the data and stop slightly before the end of the body."""
    if response.keep_alive and not response.complete:
        with suppress(ProviderError, TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await response.read(DRAIN_BYTES)


def _head(method: str, url: Url, proxy: Url | None, headers: Mapping[str, str], body: bytes | None) -> bytes:
    lines = {"host": url.authority, "user-agent": f"tau/{VERSION}", "accept-encoding": "identity"}
    target = url.target
    if url.credentials:
        lines["authorization"] = f"Basic {url.credentials}"
    if proxy is not None and url.scheme == "http":
        target = f"http://{url.authority}{target}"
        if proxy.credentials:
            lines["proxy-authorization"] = f"Basic {proxy.credentials}"
    lines |= {name.lower(): value.strip() for name, value in headers.items()}
    if body is not None or method == "POST":
        lines["content-length"] = str(len(body or b""))
    for name, value in lines.items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise ProviderError(f"The header {name} has invalid characters.")
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode()
