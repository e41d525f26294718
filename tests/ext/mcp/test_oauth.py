"""Tokens: stored per server, renewed once, kept through network failures."""

import asyncio
import json
import os
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import pytest

from tau.ai.http import HttpTransport
from tau.ai.oauth.tokens import LoginError
from tau.config.auth_file import AuthFile
from tau.config.paths import user_paths
from tau.ext.mcp import oauth_discovery
from tau.ext.mcp.config import OAuthOptions
from tau.ext.mcp.messages import McpError
from tau.ext.mcp.oauth import ClientIdentity, LoginStore, McpLogin, StoredLogin
from tau.ext.mcp.oauth_discovery import Challenge, find_login_server, parse_challenge

URL = "https://mcp.example/mcp"


class TokenServer:
    """Answers each request with what `answer` returns for its form."""

    def __init__(self, answer: Callable[[dict[str, str]], tuple[int, Any]]) -> None:
        self.forms: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                outer.forms.append(form)
                status, content = answer(form)
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> "TokenServer":
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def store(token_url: str, **fields: Any) -> LoginStore:
    kept = LoginStore(user_paths(os.environ), URL)
    client = ClientIdentity(id="client", issued_by="https://login.example")
    known = {"access": "old", "refresh": "r1", "expires": 1, **fields}
    kept.write(StoredLogin(client=client, token_url=token_url, resource=URL, **known))
    return kept


def login(http: HttpTransport) -> McpLogin:
    return McpLogin(user_paths(os.environ), URL, OAuthOptions(), http)


def test_twenty_expired_logins_send_one_refresh() -> None:
    def answer(form: dict[str, str]) -> tuple[int, Any]:
        return 200, {"access_token": "new", "refresh_token": "r2", "expires_in": 3600, "token_type": "Bearer"}

    async def main(server: TokenServer) -> None:
        kept = store(server.url)
        http = HttpTransport({})
        headers = await asyncio.gather(*(login(http).header() for _ in range(20)))
        assert headers == ["Bearer new"] * 20
        assert server.forms == [
            {"grant_type": "refresh_token", "refresh_token": "r1", "resource": URL, "client_id": "client"}
        ]
        stored = kept.read()
        assert stored is not None and (stored.access, stored.refresh) == ("new", "r2")
        await http.close()

    with TokenServer(answer) as server:
        asyncio.run(main(server))


def test_a_network_failure_is_not_a_logout() -> None:
    async def main() -> None:
        kept = store("http://127.0.0.1:9/token")
        http = HttpTransport({})
        with pytest.raises(McpError, match="could not be renewed yet") as failed:
            await login(http).header()
        assert not failed.value.needs_login and kept.read() is not None
        await http.close()

    asyncio.run(main())


@pytest.mark.parametrize(("code", "keeps_client"), [("invalid_grant", True), ("invalid_client", False)])
def test_a_login_that_ended_asks_for_a_new_one(code: str, keeps_client: bool) -> None:
    async def main(server: TokenServer) -> None:
        kept = store(server.url)
        http = HttpTransport({})
        with pytest.raises(McpError) as failed:
            await login(http).header()
        assert failed.value.needs_login
        stored = kept.read()
        assert stored is not None and (stored.client is not None) == keeps_client
        await http.close()

    with TokenServer(lambda form: (400, {"error": code})) as server:
        asyncio.run(main(server))


def test_the_file_is_private_and_other_entries_stay() -> None:
    paths = user_paths(os.environ)
    AuthFile(paths.auth).set_key("openai", "sk-1")
    store("https://login.example/token", expires=0)
    assert paths.auth.stat().st_mode & 0o777 == 0o600
    assert AuthFile(paths.auth).get("openai") == "sk-1"


def test_a_login_can_be_forgotten() -> None:
    async def main() -> None:
        kept = store("https://login.example/token", expires=0)
        http = HttpTransport({})
        mine = login(http)
        assert await mine.header() == "Bearer old" and await mine.log_out()
        assert await mine.header() is None and kept.read() is None
        await http.close()

    asyncio.run(main())


def test_a_challenge_is_read() -> None:
    header = (
        'Basic realm="x", Bearer error="insufficient_scope", scope="a b", resource_metadata="https://m/x"'
    )
    assert parse_challenge(header) == Challenge("https://m/x", ("a", "b"), "insufficient_scope")
    assert parse_challenge("Basic realm=x") == Challenge()


@pytest.mark.parametrize(
    "address", ["http://169.254.169.254/x", "https://127.0.0.1/x", "https://10.0.0.1/x", "ftp://a/x"]
)
def test_a_server_elsewhere_cannot_point_at_this_network(address: str, tmp_path: Path) -> None:
    async def main() -> None:
        http = HttpTransport({})
        with pytest.raises(LoginError):
            await find_login_server(http, URL, Challenge(metadata=address))
        await http.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "leads_to"),
    [
        ("2130706433", "127.0.0.1"),
        ("127.1", ""),
        ("0x7f.0.0.1", "127.0.0.1"),
        ("[::ffff:10.0.0.1]", ""),
        ("[64:ff9b::a9fe:a9fe]", ""),
        ("rebound.example", "169.254.169.254"),
        ("intranet", "10.0.0.7"),
    ],
)
def test_a_login_page_elsewhere_cannot_lead_into_this_network(
    host: str, leads_to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look_up(name: str, port: int) -> Any:
        text = leads_to if name == host.strip("[]") and leads_to else "93.184.216.34"
        return await real_look_up(text if leads_to or name == "mcp.example" else name, port)

    real_look_up = oauth_discovery.look_up
    monkeypatch.setattr(oauth_discovery, "look_up", look_up)

    async def dial_addresses(found: Any) -> Any:
        raise AssertionError(f"it connects to {found}")

    monkeypatch.setattr(oauth_discovery, "dial_addresses", dial_addresses)

    async def main() -> None:
        http = HttpTransport({}, dial=oauth_discovery.dial_for("https://mcp.example/x"))
        with pytest.raises(LoginError, match="on this network"):
            await find_login_server(http, "https://mcp.example/x", Challenge(metadata=f"https://{host}/m"))
        await http.close()

    asyncio.run(main())
