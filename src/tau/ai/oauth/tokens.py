"""The token server: finds its address, and exchanges codes and refresh tokens for access tokens."""

import time
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import urlencode

from msgspec import DecodeError, MsgspecError, Struct, json
from msgspec.structs import replace

from tau.ai.auth import RENEW_EARLY_MS, Login, LoginTokens
from tau.ai.proxy import is_loopback, parse_url
from tau.ai.transport import Timeouts, Transport
from tau.base import secrets
from tau.base.errors import TauError
from tau.base.sizes import KIB
from tau.base.text import clean_line, sentence, shortened

MAX_BODY_BYTES = 64 * KIB
MAX_REASON_CHARS = 200
MAX_TOKEN_CHARS = 16 * KIB
DEFAULT_LIFETIME_S = 3600.0
TIMEOUTS = Timeouts(connect=10, first_byte=15, idle=10)
WELL_KNOWN = "/.well-known/openid-configuration"


class LoginError(TauError):
    """A login failed. `over`: it has ended, so only a new one helps; else the same request may succeed later.

    `code` is the server's error code.
    """

    def __init__(self, message: str, *, over: bool = False, code: str = "") -> None:
        super().__init__(message)
        self.over = over
        self.code = code


class Endpoints(Struct, frozen=True):
    """Where to log in. `issuer` is empty if it is unknown."""

    token: str
    authorization: str = ""
    device: str = ""
    issuer: str = ""
    requires_iss: bool = False  # it says who it is in each answer


class _Document(Struct, frozen=True):
    issuer: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    device_authorization_endpoint: str = ""


class _Answer(Struct, frozen=True):
    access_token: str = ""
    refresh_token: str | None = None
    expires_in: float | str | None = None
    id_token: str | None = None
    token_type: str | None = None


async def find_endpoints(login: Login, http: Transport) -> Endpoints:
    """The addresses of a login. Raises LoginError."""
    document = _Document()
    needs_more = not login.token_url or not (login.authorization_url or login.device_url)
    if login.discovery and needs_more:
        base = login.discovery.rstrip("/").removesuffix(WELL_KNOWN)
        status, body = await send(http, "GET", base + WELL_KNOWN)
        try:
            if status != 200:
                raise LoginError(f"The login server at {base} answered {status} to discovery.")
            document = json.decode(body, type=_Document)
        except (MsgspecError, UnicodeDecodeError, RecursionError):
            raise LoginError(f"{base} is not an OpenID Connect issuer; check login.discovery.") from None
        if document.issuer.rstrip("/") != base:
            raise LoginError(
                f"{base} says that it is {shortened(clean_line(document.issuer), 100) or 'nobody'};"
                " check login.discovery."
            )
        _require_remote(login, document, base)
    found = Endpoints(
        login.token_url or document.token_endpoint,
        login.authorization_url or document.authorization_endpoint,
        login.device_url or document.device_authorization_endpoint,
        document.issuer,
    )
    if not found.token:
        raise LoginError("The login has no token address: set login.discovery or login.tokenUrl.")
    for url in (found.token, found.authorization, found.device):
        if url:
            require_encryption(url)
    return found


def _require_remote(login: Login, document: _Document, base: str) -> None:
    """Raises LoginError if a server elsewhere sends codes and tokens to whoever listens on this machine."""
    if is_loopback(parse_url(base)):
        return
    token, device = document.token_endpoint, document.device_authorization_endpoint
    for name, own, url in (("tokenUrl", login.token_url, token), ("deviceUrl", login.device_url, device)):
        if url and not own and is_loopback(parse_url(url)):
            raise LoginError(f"{base} names an address on this machine; set login.{name} if that is right.")


def require_encryption(url: str) -> None:
    """Raises LoginError for an address that everyone on the way could read or change."""
    place = parse_url(url)
    if place.scheme != "https" and not is_loopback(place):
        raise LoginError(f"The login server at {place.host} is not encrypted: use https://.")


async def redeem(http: Transport, url: str, login: Login, form: Mapping[str, str]) -> LoginTokens:
    """Exchange a code or a refresh token. Raises LoginError."""
    if login.kind == "openrouter":
        return await _redeem_key(http, url, form)
    body = {**form, "client_id": login.client_id}
    if login.client_secret:
        body["client_secret"] = login.client_secret
    status, content = await send(http, "POST", url, form=body)
    if status != 200:
        fail(status, content, url)
    return read_tokens(content, url)


async def refresh(http: Transport, login: Login, old: LoginTokens) -> LoginTokens:
    """New tokens for old ones. Raises LoginError."""
    if not old.refresh:
        raise LoginError("The login has expired and cannot be renewed.", over=True)
    secrets.learn(old.refresh)
    endpoints = await find_endpoints(login, http)
    form = {"grant_type": "refresh_token", "refresh_token": old.refresh}
    new = await redeem(http, endpoints.token, login, form)
    return replace(new, refresh=new.refresh or old.refresh, account=new.account or old.account)


async def send(
    http: Transport,
    method: str,
    url: str,
    *,
    form: Mapping[str, str] | None = None,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """The status and the body. Redirects are not followed. Raises LoginError and ProviderError."""
    require_encryption(url)
    sent = {"accept": "application/json", **(headers or {})}
    if form is not None:
        sent["content-type"] = "application/x-www-form-urlencoded"
        body = urlencode(form).encode()
    elif body is not None:
        sent["content-type"] = "application/json"
    async with http.open(method, url, headers=sent, body=body, timeouts=TIMEOUTS) as response:
        content = await response.read(MAX_BODY_BYTES + 1)
        if len(content) > MAX_BODY_BYTES:
            raise LoginError(f"The login server at {parse_url(url).host} sent too much.")
        return response.status, content


def fail(status: int, content: bytes, url: str) -> NoReturn:
    """Raise the LoginError for a refusal. Only the error's code and description are shown."""
    host = parse_url(url).host
    try:
        answer = json.decode(content)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        answer = None
    fields: dict[str, Any] = answer if isinstance(answer, dict) else {}
    code = error if isinstance(error := fields.get("error"), str) else ""
    said = next(
        (text for name in ("error_description", "message") if isinstance(text := fields.get(name), str)), ""
    )
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        said = error["message"]
    reason = secrets.mask(shortened(clean_line(said or code), MAX_REASON_CHARS))
    if not reason:
        reason = "a web page instead of JSON" if content.lstrip().startswith(b"<") else "no reason given"
    over = status in (400, 401, 403) and code in ("invalid_grant", "invalid_client", "unauthorized_client")
    raise LoginError(
        sentence(f"The login server at {host} answered {status}: {reason}"), over=over, code=code
    )


def read_tokens(content: bytes, url: str) -> LoginTokens:
    host = parse_url(url).host
    try:
        answer = json.decode(content, type=_Answer)
        lifetime_s = DEFAULT_LIFETIME_S if answer.expires_in is None else float(answer.expires_in)
    except (MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
        raise LoginError(f"The login server at {host} sent no tokens that tau can read.") from None
    if answer.token_type is not None and answer.token_type.lower() != "bearer":
        raise LoginError(f"The login server at {host} sent a token that is not a bearer token.")
    for token in (answer.access_token, answer.refresh_token or ""):
        _require_token(token, host)
    if not answer.access_token:
        raise LoginError(f"The login server at {host} sent no access token.")
    lifetime_s = min(max(lifetime_s, 0), 10 * 365 * 86_400) if lifetime_s == lifetime_s else 0
    expires = int((time.time() + lifetime_s) * 1000)
    early_ms = min(RENEW_EARLY_MS, int(lifetime_s * 500))  # a short-lived token is used for half its life
    return LoginTokens(
        _learned(answer.access_token),
        _learned(answer.refresh_token or ""),
        expires,
        _account(answer.id_token or ""),
        expires - early_ms if early_ms < RENEW_EARLY_MS else 0,
    )


async def _redeem_key(http: Transport, url: str, form: Mapping[str, str]) -> LoginTokens:
    """OpenRouter sends a key that does not expire."""
    exchanged = {name: form[name] for name in ("code", "code_verifier")}
    status, content = await send(http, "POST", url, body=json.encode(exchanged))
    if status != 200:
        fail(status, content, url)
    host = parse_url(url).host
    try:
        key = json.decode(content, type=dict[str, Any]).get("key")
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        key = None
    if not isinstance(key, str) or not key:
        raise LoginError(f"The login server at {host} sent no key.")
    _require_token(key, host)
    return LoginTokens(_learned(key))


def _require_token(token: str, host: str) -> None:
    if len(token) > MAX_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise LoginError(f"The login server at {host} sent a token that cannot be used.")


def _learned(token: str) -> str:
    """Have it masked wherever tau writes."""
    if token:
        secrets.learn(token)
    return token


def token_claims(token: str) -> dict[str, Any]:
    """What a JSON web token says; empty for other tokens. Its signature is not checked."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MAX_TOKEN_CHARS:
        return {}
    try:
        return json.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)), type=dict[str, Any])
    except (ValueError, MsgspecError, RecursionError):
        return {}


def _account(id_token: str) -> str:
    """The account's name in an identity token. It is only shown, so its signature does not matter."""
    claims = token_claims(id_token)
    names = (claims.get(name) for name in ("email", "preferred_username", "sub"))
    return next((shortened(clean_line(name), 100) for name in names if isinstance(name, str) and name), "")
