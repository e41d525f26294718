"""Decides who may use the server: token, Host and Origin; and limits what a request may send."""

import hmac
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tau.base import log
from tau.base.errors import ConfigError
from tau.base.files import make_private
from tau.base.sizes import MIB
from tau.base.text import clean_line
from tau.modes.serve.errors import HttpError, error_response

COOKIE = "tau_token"
MAX_BODY_BYTES = 32 * MIB
MAX_FAILURES = 10
FAILURE_WINDOW_S = 60
_MAX_ADDRESSES = 1_000
LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN_PATHS = ("/v1/health", "/v1/openapi.json", "/v1/auth")
_METHODS = "GET, POST, PATCH, DELETE"
_REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID"
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types tau"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def load_token(path: Path) -> str:
    """The user's token; made at the first start. Raises ConfigError."""
    try:
        make_private(path.parent)
        with suppress(FileExistsError):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(os.urandom(32).hex())
        path.chmod(0o600)
        token = path.read_text().strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"The token cannot be read: {error}.", path=path) from error
    if len(token) < 32 or not token.isalnum():
        raise ConfigError("The token is incomplete; delete the file to get a new one.", path=path)
    return token


class AccessGate:
    """ASGI middleware. `hosts` and `origins` are allowed in addition to those of this machine."""

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str], origins: Collection[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {*LOOPBACK, *(host.lower() for host in hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._failures: dict[str, list[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin", "").lower()
        shared = origin if origin in self._origins else ""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    own.setdefault(name, value)
                if scope["path"].startswith("/v1/"):
                    own.setdefault("cache-control", "no-store")
                if shared:
                    own["access-control-allow-origin"] = origin
                    own["cross-origin-resource-policy"] = "cross-origin"
                    own.append("vary", "Origin")
            await send(message)

        try:
            self._check_origin(scope, headers, origin)
            if scope["method"] == "OPTIONS" and shared:
                await _answer_preflight(send_with_headers)
                return
            if scope["path"].startswith("/v1/"):
                self._check_token(scope, headers)
            length = headers.get("content-length", "0")
            if length.isdecimal() and int(length) > MAX_BODY_BYTES:
                raise _too_large()
        except HttpError as error:
            await error_response(error)(scope, receive, send_with_headers)
            return
        await self._app(scope, _limited(receive), send_with_headers)

    def check_guess(self, scope: Scope, token: str) -> bool:
        """Whether it is the token. Raises HttpError after too many wrong ones."""
        self._refuse_guesses(scope)
        if hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return True
        self._note_failure(scope)
        return False

    def _check_origin(self, scope: Scope, headers: Headers, origin: str) -> None:
        host = headers.get("host", "")
        if _host_name(host) not in self._hosts:
            _log_refusal(scope, f"Host {host}")
            raise HttpError(
                421, "wrong_host", f'This server is not called "{clean_line(host)[:100]}"; see --allow-host.'
            )
        if not origin or origin in self._origins:
            return
        with suppress(ValueError):
            if origin != "null" and urlsplit(origin).netloc == host.lower():
                return
        _log_refusal(scope, f"Origin {origin}")
        raise HttpError(
            403,
            "wrong_origin",
            f'Pages of "{clean_line(origin)[:100]}" may not use this server; see --allow-origin.',
        )

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        if scope["path"] in OPEN_PATHS:
            return
        kind, _, sent = headers.get("authorization", "").partition(" ")
        token = sent.strip() if kind.lower() == "bearer" else _cookie(headers.getlist("cookie"))
        if hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return  # even during a lockout: another client's guesses must not lock this one out
        _log_refusal(scope, "wrong token" if token else "no token")
        if token:
            self._refuse_guesses(scope)
            self._note_failure(scope)
        raise HttpError(
            401,
            "unauthorized",
            "The token is missing or wrong; open the address that tau serve prints.",
            headers={"www-authenticate": "Bearer"},
        )

    def _refuse_guesses(self, scope: Scope) -> None:
        recent = self._recent(_address(scope))
        if len(recent) >= MAX_FAILURES:
            wait_s = max(1, int(recent[0] + FAILURE_WINDOW_S - time.monotonic()) + 1)
            raise HttpError(
                429,
                "too_many_failures",
                f"There were {MAX_FAILURES} wrong tokens in a minute; try again in {wait_s} s.",
                headers={"retry-after": str(wait_s)},
            )

    def _note_failure(self, scope: Scope) -> None:
        address = _address(scope)
        if address not in self._failures and len(self._failures) >= _MAX_ADDRESSES:
            self._failures.pop(next(iter(self._failures)))
        self._failures[address] = [*self._recent(address), time.monotonic()]

    def _recent(self, address: str) -> list[float]:
        since = time.monotonic() - FAILURE_WINDOW_S
        return [at for at in self._failures.get(address, ()) if at > since]


def _limited(receive: Receive) -> Receive:
    """Count the body: a chunked one says no length before."""
    size = 0

    async def take() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise _too_large()
        return message

    return take


def _too_large() -> HttpError:
    return HttpError(413, "too_large", f"The body is larger than {MAX_BODY_BYTES // MIB} MiB.")


async def _answer_preflight(send: Send) -> None:
    headers = [
        (b"access-control-allow-methods", _METHODS.encode()),
        (b"access-control-allow-headers", _REQUEST_HEADERS.encode()),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _host_name(host: str) -> str:
    """Without the port, which a tunnel may change."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _cookie(lines: list[str]) -> str:
    for pair in ";".join(lines).split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _log_refusal(scope: Scope, why: str) -> None:
    log.warning(clean_line(f"Refused {scope['method']} {scope['path'][:200]}: {why[:200]}"))
