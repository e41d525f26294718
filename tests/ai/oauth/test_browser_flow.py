"""Logging in with a browser: what comes back is believed only if it belongs to this login."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from tau.ai.auth import Login, LoginTokens
from tau.ai.http import HttpTransport
from tau.ai.oauth import browser_flow
from tau.ai.oauth.browser_flow import BrowserLogin, browser_login
from tau.ai.oauth.tokens import LoginError, find_endpoints
from tests.support.oauth_server import CLIENT, OAuthServer

Talk = Callable[[OAuthServer, BrowserLogin], Awaitable[None]]


def log_in(talk: Talk, **block: object) -> LoginTokens:
    async def main() -> LoginTokens:
        with OAuthServer() as server:
            login = msgspec.convert({**server.block(), **block}, Login)
            if login.kind == "openrouter":
                own = {"authorizationUrl": f"{server.url}/auth", "tokenUrl": f"{server.url}/token"}
                login = msgspec.convert(
                    {"kind": "openrouter", "redirect": "http://localhost:0", **own}, Login
                )
            http = HttpTransport({})
            try:
                endpoints = await find_endpoints(login, http)
                async with browser_login(login, endpoints, http) as flow, asyncio.timeout(10):
                    await talk(server, flow)
                    return await flow.finish()
            finally:
                await http.close()

    return asyncio.run(main())


async def get(url: str) -> bytes:
    """As a browser does, without a proxy."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection("127.0.0.1", parts.port)
    writer.write(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nhost: {parts.netloc}\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


def fields(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_browser_returns_and_its_code_becomes_tokens() -> None:
    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        asked = fields(flow.url)
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        assert asked["scope"] == "openid offline_access"
        answer = await get(server.visit(flow.url))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"code-" not in answer

    tokens = log_in(talk)
    assert tokens.access.startswith("access-")
    assert tokens.refresh.startswith("refresh-")


def test_openrouter_sends_a_key_and_has_the_nonce_in_the_path() -> None:
    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        back = fields(flow.url)["callback_url"]
        assert back.startswith("http://localhost:")
        assert len(urlsplit(back).path) > 20
        assert "client_id" not in fields(flow.url)
        guessed = back.rpartition("/")[0] + "/guess?code=evil"
        assert (await get(guessed)).startswith(b"HTTP/1.1 404 ")
        await get(server.visit(flow.url))

    tokens = log_in(talk, kind="openrouter")
    assert (tokens.access[:6], tokens.refresh, tokens.expires) == ("sk-or-", "", 0)


@pytest.mark.parametrize("change", ["wrong state", "no state", "another path", "another issuer", "POST"])
def test_redirect_that_is_not_of_this_login_changes_nothing(change: str) -> None:
    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        good = server.visit(flow.url)
        state = fields(good)["state"]
        bad = {
            "wrong state": good.replace(state, "x" * len(state)).replace("code=", "code=evil"),
            "no state": good.replace(f"&state={state}", ""),
            "another path": good.replace("/callback", "/callback/x"),
            "another issuer": good + "&iss=https%3A%2F%2Fevil.example",
            "POST": good,
        }[change]
        if change == "POST":
            parts = urlsplit(bad)
            reader, writer = await asyncio.open_connection("127.0.0.1", parts.port)
            writer.write(f"POST {parts.path}?{parts.query} HTTP/1.1\r\n\r\n".encode())
            assert (await reader.read()).startswith(b"HTTP/1.1 404 ")
            writer.close()
        else:
            assert (await get(bad)).startswith(b"HTTP/1.1 404 ")
            assert flow.paste(bad)
        await get(good)

    assert log_in(talk).access.startswith("access-")


@pytest.mark.parametrize("form", ["address", "query", "code"])
def test_pasted_answer_works_over_ssh(form: str) -> None:
    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        back = server.visit(flow.url)
        assert flow.paste("") is not None
        assert flow.paste("https://x/callback?state=\udcff&code=1") is not None  # bytes that are no UTF-8
        text = {"address": f"  {back}\n", "query": urlsplit(back).query, "code": fields(back)["code"]}[form]
        assert flow.paste(text) is None

    assert log_in(talk).access.startswith("access-")


def test_denied_login_says_so() -> None:
    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        asked = fields(flow.url)
        await get(f"{asked['redirect_uri']}?error=access_denied&state={asked['state']}")

    with pytest.raises(LoginError, match="denied"):
        log_in(talk)


def test_browser_that_never_returns_ends_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_flow, "WAIT_S", 0.05)

    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        pass

    with pytest.raises(LoginError, match="did not return within"):
        log_in(talk)


def test_silent_and_endless_connections_do_not_stop_the_login() -> None:
    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        back = server.visit(flow.url)
        port = urlsplit(back).port
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        connections[0][1].write(b"GET /" + b"x" * 100_000)
        connections[1][1].write(b"\x16\x03\x01 not http\r\n\r\n")
        await get(back)
        for _, writer in connections:
            writer.close()

    assert log_in(talk).access.startswith("access-")


def test_second_window_learns_that_the_port_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
            raise AssertionError("there is no login")

        with pytest.raises(LoginError, match=f"Port {port} is in use"):
            log_in(talk, redirect=f"http://localhost:{port}/callback")


@pytest.mark.parametrize("redirect", ["https://127.0.0.1:0/x", "http://example.com/x", "http://0.0.0.0:0/x"])
def test_redirect_must_stay_on_this_machine(redirect: str) -> None:
    async def talk(server: OAuthServer, flow: BrowserLogin) -> None:
        raise AssertionError("there is no login")

    with pytest.raises(LoginError, match="on this machine"):
        log_in(talk, redirect=redirect)
