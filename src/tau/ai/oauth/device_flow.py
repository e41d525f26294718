"""Logs in with a browser on another device: OAuth's device authorization grant (RFC 8628)."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from msgspec import MsgspecError, Struct, json

from tau.ai.auth import Login, LoginTokens
from tau.ai.oauth.tokens import Endpoints, LoginError, fail, redeem, send
from tau.ai.transport import Transport
from tau.base import secrets
from tau.base.errors import ProviderError
from tau.base.text import clean_line, shortened

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SLOWER_S = 5.0
MAX_WAIT_S = 1800.0
MAX_INTERVAL_S = 60.0


class DeviceCode(Struct, frozen=True):
    """What to show: open `url` and type `code`; `full_url` has the code in it."""

    url: str
    code: str
    full_url: str
    secret: str
    lifetime_s: float
    interval_s: float


class _Answer(Struct, frozen=True):
    device_code: str
    user_code: str
    verification_uri: str = ""
    verification_url: str = ""  # an older name
    verification_uri_complete: str = ""
    expires_in: float = 900
    interval: float = 5


async def start(login: Login, endpoints: Endpoints, http: Transport) -> DeviceCode:
    """Ask for a code. Raises LoginError and ProviderError."""
    if not endpoints.device:
        raise LoginError("This login works only with a browser: its server has no device flow.")
    form = {"client_id": login.client_id}
    if login.scopes:
        form["scope"] = " ".join(login.scopes)
    status, content = await send(http, "POST", endpoints.device, form=form)
    if status != 200:
        fail(status, content, endpoints.device)
    try:
        answer = json.decode(content, type=_Answer)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        raise LoginError("The login server sent no code that tau can read.") from None
    url = answer.verification_uri or answer.verification_url
    for shown in (url, answer.verification_uri_complete or url):
        if not _is_page(shown):
            raise LoginError("The login server named no page to open.")
    secrets.learn(answer.device_code)
    return DeviceCode(
        url,
        shortened(clean_line(answer.user_code), 40),
        answer.verification_uri_complete,
        answer.device_code,
        min(max(answer.expires_in, 1), MAX_WAIT_S),
        min(max(answer.interval, 1), MAX_INTERVAL_S),
    )


def _is_page(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https") and url.isprintable()
    except ValueError:
        return False


async def finish(
    login: Login,
    endpoints: Endpoints,
    http: Transport,
    code: DeviceCode,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> LoginTokens:
    """Ask until the user has answered. Raises LoginError."""
    form = {"grant_type": GRANT, "device_code": code.secret}
    interval_s, waited_s = code.interval_s, 0.0
    while waited_s + interval_s <= code.lifetime_s:
        await sleep(interval_s)
        waited_s += interval_s
        try:
            return await redeem(http, endpoints.token, login, form)
        except LoginError as error:
            match error.code:
                case "authorization_pending":
                    continue
                case "slow_down":
                    interval_s = min(interval_s + SLOWER_S, MAX_INTERVAL_S)
                case "expired_token":
                    break
                case "access_denied":
                    raise LoginError("The login was denied.", over=True, code=error.code) from error
                case _:
                    raise
        except ProviderError:  # the network; the code stays valid
            interval_s = min(interval_s * 2, MAX_INTERVAL_S)
    raise LoginError("The code has expired; log in again.", over=True, code="expired_token")
