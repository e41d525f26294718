"""Logs in with a browser on this machine or another: OAuth's authorization code flow with PKCE."""

import asyncio
import hashlib
import hmac
import secrets as random
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

from tau.ai.auth import Login, LoginTokens
from tau.ai.oauth.tokens import Endpoints, LoginError, redeem
from tau.ai.transport import Transport
from tau.base import secrets
from tau.base.sizes import KIB
from tau.base.text import clean_line, sentence, shortened

WAIT_S = 600.0
REQUEST_S = 10.0
MAX_REQUEST_BYTES = 16 * KIB
MAX_PASTED_CHARS = 16 * KIB

Exchange: TypeAlias = Callable[[Mapping[str, str]], Awaitable[LoginTokens]]

_PAGE = (
    "<!doctype html><meta charset=utf-8><title>tau</title>"
    "<body style='font:16px sans-serif;margin:3em'><p>{}</p>"
)
_RECEIVED = "tau has received the answer. You can close this page and return to the terminal."
_UNKNOWN = "This page does not belong to a login that tau waits for."


class BrowserLogin:
    """A login that waits for the browser. `url` is the page to open.

    The listener is bound before the address is shown, so no other program can take its port. A request to
    another path, or without this login's nonce, changes nothing: any web page could send one.
    """

    def __init__(
        self,
        login: Login,
        endpoints: Endpoints,
        http: Transport,
        redirect: str,
        exchange: Exchange | None = None,
    ) -> None:
        self._exchange = exchange
        self._login = login
        self._endpoints = endpoints
        self._http = http
        self._nonce = random.token_urlsafe(24)
        self._verifier = random.token_urlsafe(48)
        secrets.learn(self._verifier)
        # OpenRouter returns no `state`, so the path has the nonce.
        self._in_path = login.kind == "openrouter"
        self._redirect = f"{redirect.rstrip('/')}/{self._nonce}" if self._in_path else redirect
        self._path = urlsplit(self._redirect).path
        self._client_id = login.client_id
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def redirect(self) -> str:
        """Where the browser returns to."""
        return self._redirect

    def use_client(self, id: str) -> None:
        """Log in as this client, which was registered with `redirect`."""
        self._client_id = id

    @property
    def url(self) -> str:
        challenge = urlsafe_b64encode(hashlib.sha256(self._verifier.encode()).digest()).rstrip(b"=").decode()
        fields = {"code_challenge": challenge, "code_challenge_method": "S256", **self._login.params}
        if self._in_path:
            fields["callback_url"] = self._redirect
        else:
            fields |= {
                "response_type": "code",
                "client_id": self._client_id,
                "redirect_uri": self._redirect,
                "state": self._nonce,
            }
            if self._login.scopes:
                fields["scope"] = " ".join(self._login.scopes)
        page = self._endpoints.authorization
        return f"{page}{'&' if '?' in page else '?'}{urlencode(fields)}"

    def paste(self, text: str) -> str | None:
        """Take the address that the browser ended at, or the code in it. Returns what is wrong with it."""
        text = text.strip()
        if not text or len(text) > MAX_PASTED_CHARS:
            return "Paste the address that the browser shows at the end."
        if "://" not in text and "=" not in text:
            self._resolve(text)  # PKCE binds a bare code to this login
            return None
        problem = self._take(text if "://" in text else f"{self._path}?{text.lstrip('?')}")
        return problem and f"{problem} Paste the whole address that the browser shows at the end."

    async def finish(self) -> LoginTokens:
        """Wait for the browser, then exchange its code. Raises LoginError and ProviderError."""
        try:
            async with asyncio.timeout(WAIT_S):
                code = await self._answer
        except TimeoutError:
            raise LoginError(
                f"The browser did not return within {WAIT_S / 60:.0f} minutes; log in again."
            ) from None
        secrets.learn(code)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "code_verifier": self._verifier,
        }
        if self._exchange is not None:
            return await self._exchange(form)
        return await redeem(self._http, self._endpoints.token, self._login, form)

    def _take(self, address: str) -> str | None:
        """Read the redirect's address. Returns a problem if it is not of this login."""
        try:
            parts = urlsplit(address)
            fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
            same_state = hmac.compare_digest(fields.get("state", "").encode(), self._nonce.encode())
        except ValueError:
            return "This address cannot be read."
        if parts.path != self._path or not (self._in_path or same_state):
            return "This address is not of the current login."
        issuer = self._endpoints.issuer
        default = "" if self._endpoints.requires_iss else issuer
        if issuer and fields.get("iss", default) != issuer:
            return "This address is of another login server."
        if error := fields.get("error"):
            why = secrets.mask(shortened(clean_line(fields.get("error_description") or error), 200))
            denied = error == "access_denied"
            message = "The login was denied" if denied else sentence(f"The login server refused: {why}")
            if not self._answer.done():
                self._answer.set_exception(LoginError(sentence(message), code=error))
            return None
        if not fields.get("code"):
            return "This address has no code."
        self._resolve(fields["code"])
        return None

    def _resolve(self, code: str) -> None:
        if not self._answer.done():
            self._answer.set_result(code)

    def cancel(self) -> None:
        """Forget an answer that nobody waits for."""
        if self._answer.done() and not self._answer.cancelled():
            self._answer.exception()
        self._answer.cancel()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request to the listener."""
        with suppress(
            OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ", 2)
                problem = self._take(target) if method == "GET" else _UNKNOWN
                page = _PAGE.format(_UNKNOWN if problem else _RECEIVED).encode()
                status = "404 Not Found" if problem else "200 OK"
                writer.write(
                    f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n"
                    f"content-length: {len(page)}\r\ncache-control: no-store\r\n"
                    "referrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n"
                    f"content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
                    "connection: close\r\n\r\n".encode()
                    + page
                )
                await writer.drain()


@asynccontextmanager
async def browser_login(
    login: Login, endpoints: Endpoints, http: Transport, exchange: Exchange | None = None
) -> AsyncIterator[BrowserLogin]:
    """Start a login and its listener; `exchange` redeems the code in another way. Raises LoginError."""
    if not endpoints.authorization:
        raise LoginError("This login has no page for a browser: set login.authorizationUrl.")
    place = urlsplit(login.redirect)
    if place.scheme != "http" or place.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise LoginError("login.redirect must be an http:// address on this machine, such as its default.")
    waiting: list[BrowserLogin] = []

    talking: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talking.add(task)
        try:
            await waiting[0].connected(reader, writer)
        except asyncio.CancelledError:
            pass  # the login is over
        finally:
            talking.discard(task)
            writer.close()

    host = "::1" if place.hostname == "::1" else "127.0.0.1"
    try:
        server = await asyncio.start_server(connected, host, place.port or 0, limit=MAX_REQUEST_BYTES)
    except OSError as error:
        raise LoginError(
            f"Port {place.port} is in use: finish the login in another window, or stop the program that"
            f" uses it ({error.strerror or error})."
        ) from error
    port = server.sockets[0].getsockname()[1]
    shown = f"[{place.hostname}]" if ":" in place.hostname else place.hostname
    try:
        redirect = f"http://{shown}:{port}{place.path}"
        waiting.append(BrowserLogin(login, endpoints, http, redirect, exchange))
        yield waiting[0]
    finally:
        server.close()
        for task in talking:
            task.cancel()
        for flow in waiting:
            flow.cancel()
        await asyncio.sleep(0)  # sockets close in the loop's next iteration
