"""A token server that lies, stalls or refuses costs one sentence, never a token."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
import pytest

from tau.ai.auth import Login, LoginTokens
from tau.ai.http import HttpTransport
from tau.ai.oauth import device_flow
from tau.ai.oauth.tokens import Endpoints, LoginError, find_endpoints, refresh
from tau.base import secrets
from tests.support.oauth_server import OAuthServer

T = TypeVar("T")
OLD = LoginTokens("access-old", "refresh-old-secret", 1)


def ask(server: OAuthServer, act: Callable[[Login, HttpTransport], Awaitable[T]], **block: object) -> T:
    async def main() -> T:
        http = HttpTransport({})
        try:
            return await act(msgspec.convert({**server.block(), **block}, Login), http)
        finally:
            await http.close()

    return asyncio.run(main())


async def renew(login: Login, http: HttpTransport) -> LoginTokens:
    return await refresh(http, login, OLD)


async def discover(login: Login, http: HttpTransport) -> Endpoints:
    return await find_endpoints(login, http)


LIES = {
    "a web page": (200, b"<html><title>Sign in</title>"),
    "an error page": (502, b"<html>Bad gateway refresh-old-secret"),
    "no JSON": (200, b"\xff\xfe nonsense"),
    "a list": (200, b"[1, 2]"),
    "no token": (200, b'{"token_type": "Bearer"}'),
    "a number": (200, b'{"access_token": 5}'),
    "a line break": (200, b'{"access_token": "a\\r\\nx-evil: 1"}'),
    "another kind": (200, b'{"access_token": "abc", "token_type": "mac"}'),
    "too much": (200, b'{"access_token": "' + b"a" * 100_000 + b'"}'),
    "a deep answer": (200, b"[" * 60_000),
    "an odd lifetime": (200, b'{"access_token": "abc", "expires_in": "soon"}'),
    "a redirect": (302, b""),
    "an echo": (400, b'{"error": "x", "error_description": "bad refresh-old-secret \\u001b[2J"}'),
}


@pytest.mark.parametrize("lie", LIES)
def test_lying_token_server_is_refused_in_a_sentence(lie: str) -> None:
    with OAuthServer() as server:
        server.lie = [LIES[lie]]
        with pytest.raises(LoginError) as caught:
            ask(server, renew)
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert "\x1b" not in text
    assert OLD.refresh not in text
    assert len(text) < 400
    assert not caught.value.over


def test_ended_login_differs_from_a_passing_problem() -> None:
    with OAuthServer() as server, pytest.raises(LoginError) as caught:
        ask(server, renew)
    assert caught.value.over
    assert "invalid_grant" in str(caught.value)


@pytest.mark.parametrize("expires_in", [0, -5, 1e300, 3600, "3600", None])
def test_any_lifetime_gives_a_time(expires_in: object) -> None:
    answer: dict[str, Any] = {"access_token": "abcdefgh", "expires_in": expires_in}
    with OAuthServer() as server:
        server.lie = [(200, json.dumps(answer).encode())]
        new = ask(server, renew)
    assert new.refresh == OLD.refresh
    assert 0 < new.expires < 1e13


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"issuer": "https://evil.example"}, "says that it is https://evil.example"),
        ({"token_endpoint": "http://evil.example/token"}, "not encrypted"),
        ({"token_endpoint": ""}, "no token address"),
        ({"token_endpoint": "ftp://x"}, "Invalid URL"),
        ({"token_endpoint": 5}, "not an OpenID Connect issuer"),
    ],
)
def test_lying_discovery_is_refused(document: dict[str, Any], problem: str) -> None:
    with OAuthServer() as server:
        server.document = lambda usual: {**usual, **document}
        with pytest.raises(Exception, match=problem):
            ask(server, discover)


@pytest.mark.parametrize("body", [b"[" * 60_000, b'{"issuer": "\xff"}'])
def test_discovery_that_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(LoginError, match="not an OpenID Connect issuer"):
        asyncio.run(find_endpoints(Login(discovery="https://sso.example"), Elsewhere(body)))


@pytest.mark.parametrize("field", ["token_endpoint", "device_authorization_endpoint"])
@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "https://localhost/x", "http://[::1]:9/x"])
def test_server_elsewhere_does_not_send_tokens_to_this_machine(field: str, address: str) -> None:
    document = {"issuer": "https://sso.example", "token_endpoint": "https://sso.example/t", field: address}
    with pytest.raises(LoginError, match="names an address on this machine"):
        asyncio.run(
            find_endpoints(Login(discovery="https://sso.example"), Elsewhere(json.dumps(document).encode()))
        )


class Elsewhere(HttpTransport):
    """A server that is not on this machine."""

    def __init__(self, body: bytes) -> None:
        super().__init__({})
        self.body = body

    @asynccontextmanager
    async def open(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        yield self

    status = 200

    async def read(self, most: int) -> bytes:
        return self.body


@pytest.mark.parametrize("page", ["http://[", "javascript:alert(1)", "https://x/\x1b[2J", ""])
def test_device_flow_shows_no_page_that_cannot_be_opened(page: str) -> None:
    with OAuthServer() as server:
        usual = server.start_device()
        server.start_device = lambda: {**usual, "verification_uri": page}  # type: ignore[method-assign]
        with pytest.raises(LoginError, match="named no page to open"):
            device(server)


def device(server: OAuthServer, waits: list[float] | None = None) -> tuple[LoginTokens, list[float]]:
    waits = [] if waits is None else waits

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def act(login: Login, http: HttpTransport) -> LoginTokens:
        endpoints = await find_endpoints(login, http)
        code = await device_flow.start(login, endpoints, http)
        assert (code.code, code.url) == ("ABCD-EFGH", f"{server.url}/activate")
        return await device_flow.finish(login, endpoints, http, code, sleep=sleep)

    return ask(server, act), waits


def test_device_flow_waits_and_slows_down_when_asked() -> None:
    with OAuthServer() as server:
        server.device_answers = ["authorization_pending", "slow_down", "authorization_pending"]
        tokens, waits = device(server)
    assert tokens.access.startswith("access-")
    assert waits == [1, 1, 6, 6]
    assert secrets.knows(tokens.access) and secrets.knows(tokens.refresh)


@pytest.mark.parametrize(
    ("interval", "expires_in", "waits"),
    [
        (5, 20, [5.0] * 4),
        (0, 3, [1.0] * 3),
        (0, 0, [1.0]),
        (1_000, 200, [60.0] * 3),
        (60, 10**9, [60.0] * 30),
    ],
)
def test_device_flow_asks_as_often_as_the_server_says_within_limits(
    interval: float, expires_in: float, waits: list[float]
) -> None:
    with OAuthServer() as server:
        usual = server.start_device()
        server.start_device = lambda: {**usual, "interval": interval, "expires_in": expires_in}  # type: ignore[method-assign]
        server.device_answers = ["authorization_pending"] * 100
        waited: list[float] = []
        with pytest.raises(LoginError, match="expired"):
            device(server, waited)
    assert waited == waits


@pytest.mark.parametrize(
    ("answer", "problem"),
    [("access_denied", "denied"), ("expired_token", "expired"), ("invalid_client", "invalid_client")],
)
def test_device_flow_ends_with_a_reason(answer: str, problem: str) -> None:
    with OAuthServer() as server:
        server.device_answers = ["authorization_pending", answer]
        with pytest.raises(LoginError, match=problem):
            device(server)


def test_device_flow_ends_when_nobody_answers() -> None:
    with OAuthServer() as server:
        server.device_answers = ["authorization_pending"] * 100
        with pytest.raises(LoginError, match="expired"):
            device(server)
        assert len(server.requests) == 60
