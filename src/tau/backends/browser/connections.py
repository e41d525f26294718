"""Decides where the pages of a tab connect: inside the sandbox, to public hosts, or where the user allows."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import TypeAlias

from msgspec import Struct

from tau.ai.proxy import Url, parse_url, proxy_for
from tau.backends.browser.chromium import LOOPBACK_VARIABLE, PROXY_VARIABLE, is_set
from tau.backends.sandbox.network.addresses import (
    BUFFER_BYTES,
    CONNECT_S,
    MAX_ADDRESSES,
    Streams,
    connect_to,
    look_up,
)
from tau.backends.sandbox.network.targets import RefusedTargetError, Target
from tau.backends.web.addresses import AllowedHosts
from tau.base.addresses import is_public

MakeSocket: TypeAlias = Callable[[str], Awaitable[socket.socket]]
AskHost: TypeAlias = Callable[[str, int, bool], Awaitable[bool]]
OWN_SERVICES = frozenset(  # of Chromium's maker, which it asks without a page
    (
        *("content-autofill.googleapis.com", "optimizationguide-pa.googleapis.com"),
        *("accounts.google.com", "update.googleapis.com", "android.clients.google.com", "mtalk.google.com"),
    )
)


class HostAccess(Struct, frozen=True, kw_only=True):
    """Who decides about hosts.

    `judge` knows the user's rules, None leaves it open; `may_connect` says that a public host needs no
    question; `ask` asks about a host and port, `private` ones in other words.
    """

    allowed: AllowedHosts
    judge: Callable[[str], bool | None] = lambda host: None
    may_connect: Callable[[str], bool] = lambda host: False
    ask: AskHost | None = None


class PageConnections:
    """One per tab. `inside` makes a socket in the sandbox, whose own loopback is what localhost means."""

    has_local_names = True

    def __init__(self, access: HostAccess, inside: MakeSocket | None, environ: Mapping[str, str]) -> None:
        self._access = access
        self._inside = inside
        self._environ = environ
        self._lock = asyncio.Lock()  # one question at a time
        self.approved: set[str] = set()  # hosts that calls named

    def is_raw(self, target: Target) -> bool:
        """Development servers speak WebSocket without TLS."""
        return is_local(target.host)

    async def open(self, target: Target) -> Streams:
        """Raises RefusedTargetError, or OSError if the network fails."""
        if self._access.judge(target.host) is False:
            raise RefusedTargetError("a rule denies it")
        if target.host in OWN_SERVICES:
            raise RefusedTargetError("it is a service of the browser's maker")
        streams = await self._open_inside(target) if is_local(target.host) else None
        return streams or await self._open_outside(target)

    async def _open_inside(self, target: Target) -> Streams | None:
        """None if nothing in the sandbox listens there."""
        if self._inside is None:
            return None
        host = target.host if target.is_address else "127.0.0.1"
        loop = asyncio.get_running_loop()
        sock = await self._inside(host)
        try:
            async with asyncio.timeout(CONNECT_S):
                await loop.sock_connect(sock, (host, target.port))
            return await asyncio.open_connection(sock=sock, limit=BUFFER_BYTES)
        except (OSError, TimeoutError):
            sock.close()
            return None

    async def _open_outside(self, target: Target) -> Streams:
        host, port = target.host, target.port
        proxy = self._proxy(target)
        if is_local(host):
            found: Sequence[str] = [host] if target.is_address else ["127.0.0.1", "::1"]
        elif self._access.allowed.allows(host, port) or await self._is_granted(target):
            found = [host] if target.is_address else await _look_up(host, is_proxied=proxy is not None)
        else:  # not even looked up: that would tell a name server something
            raise RefusedTargetError(f"{host} is not an allowed host")
        if not all(map(is_public, found)):
            return await self._open_private(target, found)
        return await _first(found, port, connect_to) if proxy is None else await _tunnel(proxy, target)

    async def _open_private(self, target: Target, found: Sequence[str]) -> Streams:
        host, port = target.host, target.port
        if not self._access.allowed.allows(host, port, found) and not await self._is_asked(target, True):
            raise RefusedTargetError(
                "it is a private address, which the user can allow in the setting fetch.allowPrivate"
            )
        return await _first(found, port, _connect)

    async def _is_granted(self, target: Target) -> bool:
        access, host = self._access, target.host
        if host in self.approved or access.judge(host) or access.may_connect(host):
            return True
        return await self._is_asked(target, False)

    async def _is_asked(self, target: Target, private: bool) -> bool:
        if self._access.ask is None:
            return False
        async with self._lock:
            return await self._access.ask(target.host, target.port, private)

    def _proxy(self, target: Target) -> Url | None:
        """The proxy that the user's environment names for this host."""
        environ = self._environ
        if is_local(target.host) and is_set(environ, LOOPBACK_VARIABLE, default=True):
            return None
        if named := environ.get(PROXY_VARIABLE):
            return parse_url(named if "://" in named else f"http://{named}")
        host = f"[{target.host}]" if ":" in target.host else target.host
        scheme = "https" if target.port == 443 else "http"
        return proxy_for(parse_url(f"{scheme}://{host}:{target.port}/"), environ)


def is_local(host: str) -> bool:
    """Whether this means the machine, or the sandbox, that the browser runs on."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def _look_up(host: str, *, is_proxied: bool) -> Sequence[str]:
    """A proxy looks names up itself; those that this machine cannot look up are left to it."""
    try:
        found = await look_up(host)
    except RefusedTargetError:
        found = ()
    if not found and not is_proxied:
        raise RefusedTargetError("the host was not found")
    return found


async def _first(
    found: Sequence[str], port: int, connect: Callable[[str, int], Awaitable[Streams]]
) -> Streams:
    problem: OSError | None = None
    for address in found[:MAX_ADDRESSES]:
        try:
            async with asyncio.timeout(CONNECT_S):
                return await connect(address, port)
        except TimeoutError:
            problem = OSError("it did not answer")
        except OSError as error:
            problem = error
    raise problem or OSError("the host was not found")


async def _connect(address: str, port: int) -> Streams:
    return await asyncio.open_connection(address, port, limit=BUFFER_BYTES)


async def _tunnel(proxy: Url, target: Target) -> Streams:
    login = f"Proxy-Authorization: Basic {proxy.credentials}\r\n" if proxy.credentials else ""
    async with asyncio.timeout(CONNECT_S):
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port, limit=BUFFER_BYTES)
        writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        writer.close()
        raise OSError(f"the proxy answered {head.splitlines()[0].decode('latin-1')}")
    return reader, writer
