"""Connects to a server, optionally through a proxy, with TLS."""

import asyncio
import errno
import socket
import ssl
import threading
from asyncio.staggered import staggered_race
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from tau.ai.http_response import HttpConnection, HttpResponse
from tau.ai.proxy import Url
from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError

NEXT_ADDRESS_S = 0.25  # before the next address is tried


class ConnectFailed(ProviderError):
    """No connection could be opened, so nothing was sent."""


Address: TypeAlias = tuple[int, int, int, str, Any]  # as getaddrinfo gives it
Dial: TypeAlias = Callable[[str, int], Awaitable[socket.socket]]


async def dial(host: str, port: int) -> socket.socket:
    """Return a connected socket. Raises OSError if no address answers."""
    return await dial_addresses(await look_up(host, port))


async def dial_addresses(addresses: Sequence[Address]) -> socket.socket:
    """Like `dial`, for the addresses that a name has."""
    if len(addresses) == 1:
        return await _connect(addresses[0])
    sock, _, errors = await staggered_race([partial(_connect, one) for one in addresses], NEXT_ADDRESS_S)
    if sock is None:
        raise next((error for error in errors if error is not None), OSError("no address answers"))
    connected: socket.socket = sock
    return connected


async def look_up(host: str, port: int) -> Sequence[Address]:
    """Resolve in a daemon thread: a hanging resolver must not block the exit."""
    # Python encodes a text as an international name, for which it first loads tables.
    name = host.encode() if host.isascii() and host.isprintable() else host
    ask_system = partial(socket.getaddrinfo, name, port, type=socket.SOCK_STREAM)
    with suppress(socket.gaierror, UnicodeError):
        return ask_system(flags=socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Sequence[Address]] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not found.done():  # not cancelled meanwhile
            outcome()

    def ask() -> None:
        try:
            outcome = partial(found.set_result, ask_system())
        except OSError as error:
            outcome = partial(found.set_exception, error)
        except UnicodeError:
            unknown = socket.gaierror(socket.EAI_NONAME, "invalid host name")
            outcome = partial(found.set_exception, unknown)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=ask, name="look-up", daemon=True).start()
    return _alternate_families(await found)


def _alternate_families(addresses: Sequence[Address]) -> Sequence[Address]:
    """Alternate address families, so a broken family costs only one delay."""
    families: dict[int, list[Address]] = {}
    for address in addresses:
        families.setdefault(address[0], []).append(address)
    return [address for turn in zip_longest(*families.values()) for address in turn if address is not None]


async def _connect(address: Address) -> socket.socket:
    family, kind, protocol, _, place = address
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, place)
    except BaseException:
        sock.close()
        raise
    return sock


# Set for other programs: what is wrong with them is not for tau to say.
OTHERS_CA_VARIABLES = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
CA_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "TAU_CA_FILE", *OTHERS_CA_VARIABLES)
# System certificate paths, for a Python built to look elsewhere.
BUNDLES = ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Takes about 20 ms if the certificates are one large file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    named = {name: Path(environ[name]).resolve() for name in CA_VARIABLES if environ.get(name)}
    if "SSL_CERT_FILE" not in named and "SSL_CERT_DIR" not in named:
        context.load_default_certs()
        if not any(ssl.get_default_verify_paths()[:2]):
            named |= {name: Path(name) for name in BUNDLES if Path(name).is_file()}
    for path in dict.fromkeys(named.values()):
        try:
            context.load_verify_locations(*((None, path) if path.is_dir() else (path,)))
        except OSError as error:
            names = [name for name in named if named[name] == path and name not in OTHERS_CA_VARIABLES]
            if names:
                reason = error.strerror or error
                raise ProviderError(
                    f"{names[0]} refers to {path}, which has no usable certificates: {reason}."
                ) from error
    return context


async def connect(
    url: Url,
    proxy: Url | None,
    tls: Callable[[], ssl.SSLContext],
    timeouts: Timeouts,
    dial_server: Dial = dial,
) -> HttpConnection:
    """Open a connection to the server, or to the proxy that forwards a plain request.

    `dial_server` connects to a server, not to a proxy, which is the user's choice.
    """
    first, peer = (url, url.peer) if proxy is None else (proxy, f"the proxy {proxy.peer}")
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(timeouts.connect):
            secure = first.scheme == "https"
            reader, writer = await asyncio.open_connection(
                sock=await (dial_server if proxy is None else dial)(first.host, first.port),
                ssl=tls() if secure else None,
                server_hostname=first.host if secure else None,
            )
            if proxy is not None and url.scheme == "https":
                await _tunnel(HttpConnection(peer, reader, writer), url, proxy, timeouts)
                peer = url.peer
                await writer.start_tls(tls(), server_hostname=url.host)
        return HttpConnection(peer, reader, writer)
    except BaseException as error:
        if writer is not None:
            writer.transport.abort()
        if isinstance(error, OSError):
            raise _explain(error, peer, timeouts.connect) from error
        raise


async def _tunnel(connection: HttpConnection, url: Url, proxy: Url, timeouts: Timeouts) -> None:
    login = f"proxy-authorization: Basic {proxy.credentials}\r\n" if proxy.credentials else ""
    answer = HttpResponse(connection, bodiless=True)
    await answer.head(
        f"CONNECT {url.peer} HTTP/1.1\r\nhost: {url.peer}\r\n{login}\r\n".encode(), timeouts=timeouts
    )
    if answer.status == 407:
        raise ProviderError(f"The proxy {proxy.peer} requires a password: http://user:password@host:port.")
    if not 200 <= answer.status < 300:
        refusal = f"The proxy {proxy.peer} did not connect to {url.peer}: it answered {answer.status}."
        raise ProviderError(refusal, retryable=answer.status >= 500)


def _explain(error: OSError, peer: str, limit_s: float) -> ConnectFailed:
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConnectFailed(
            f"The certificate of {peer} is not trusted: {error.verify_message}. If your network has its own "
            "certificate authority, set TAU_CA_FILE or SSL_CERT_FILE to its file."
        )
    if isinstance(error, ssl.SSLError):
        cut = isinstance(error, ssl.SSLEOFError)
        return ConnectFailed(f"TLS with {peer} failed: {error.reason}. Does it speak https?", retryable=cut)
    if isinstance(error, socket.gaierror):
        reason = f"cannot resolve its address ({error.strerror})"
    elif isinstance(error, TimeoutError):
        reason = f"no connection within {limit_s:g} s"
    elif f"[Errno {errno.ECONNREFUSED}]" in str(error):
        reason = "connection refused"
    else:
        reason = error.strerror or str(error) or "it closed the connection"
    return ConnectFailed(f"Cannot connect to {peer}: {reason}.", retryable=True)
