"""The way to a server: a connection, perhaps through a proxy, and TLS."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path

from tau.ai.http_dial import dial
from tau.ai.http_response import HttpConnection, HttpResponse
from tau.ai.proxy import Url
from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError

CA_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "TAU_CA_FILE", "NODE_EXTRA_CA_CERTS")
# Where systems keep their certificates, for a Python that was built to look elsewhere.
BUNDLES = ("/etc/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Takes some 20 ms where the certificates are one large file."""
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
            names = [name for name in named if named[name] == path]
            if names != ["NODE_EXTRA_CA_CERTS"]:  # meant for others, who go on without it too
                reason = error.strerror or error
                raise ProviderError(
                    f"{names[0]} names {path}, which holds no usable certificates: {reason}."
                ) from error
    return context


async def connect(
    url: Url, proxy: Url | None, tls: Callable[[], ssl.SSLContext], timeouts: Timeouts
) -> HttpConnection:
    """A fresh connection to the server, or to the proxy that passes on a plain request."""
    first, peer = (url, url.peer) if proxy is None else (proxy, f"the proxy {proxy.peer}")
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(timeouts.connect):
            secure = first.scheme == "https"
            reader, writer = await asyncio.open_connection(
                sock=await dial(first.host, first.port),
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
            raise _explained(error, peer, timeouts.connect) from error
        raise


async def _tunnel(connection: HttpConnection, url: Url, proxy: Url, timeouts: Timeouts) -> None:
    login = f"proxy-authorization: Basic {proxy.credentials}\r\n" if proxy.credentials else ""
    answer = HttpResponse(connection, bodiless=True)
    await answer.head(
        f"CONNECT {url.peer} HTTP/1.1\r\nhost: {url.peer}\r\n{login}\r\n".encode(), timeouts=timeouts
    )
    if answer.status == 407:
        raise ProviderError(f"The proxy {proxy.peer} wants a password: http://user:password@host:port.")
    if not 200 <= answer.status < 300:
        refusal = f"The proxy {proxy.peer} did not connect to {url.peer}: it answered {answer.status}."
        raise ProviderError(refusal, retryable=answer.status >= 500)


def _explained(error: OSError, peer: str, limit_s: float) -> ProviderError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return ProviderError(
            f"The certificate of {peer} cannot be trusted: {error.verify_message}. If your network has a "
            "certificate authority of its own, name its file in TAU_CA_FILE or SSL_CERT_FILE."
        )
    if isinstance(error, ssl.SSLError):
        cut = isinstance(error, ssl.SSLEOFError)
        return ProviderError(f"TLS with {peer} failed: {error.reason}. Does it speak https?", retryable=cut)
    if isinstance(error, socket.gaierror):
        reason = f"its address cannot be found ({error.strerror})"
    elif isinstance(error, TimeoutError):
        reason = f"no connection within {limit_s:g} s"
    elif f"[Errno {errno.ECONNREFUSED}]" in str(error):
        reason = "connection refused, nothing listens there"
    else:
        reason = error.strerror or str(error) or "it hung up"
    return ProviderError(f"Cannot connect to {peer}: {reason}.", retryable=True)
