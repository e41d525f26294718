"""A key goes only where its provider is, and never unencrypted to another machine unless the user said so."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tau.ai.auth import KeyRetry
from tau.ai.catalog import load_catalog
from tau.ai.client import Client
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.proxy import is_loopback, parse_url
from tau.base.errors import ProviderError, UsageError
from tau.config.paths import user_paths
from tau.sdk import SessionOptions, create_session
from tests.support.fake_server import FakeServer

KEY = "planted-key-of-openai"


def headers_of(cwd: Path, **options: Any) -> tuple[dict[str, str], list[str]]:
    """The headers of a request to a server that only `--base-url` names, and the notices for the user."""
    with FakeServer() as server:
        server.script("hello", "hello")

        async def main() -> list[str]:
            chosen = SessionOptions(cwd=cwd, base_url=f"{server.url}/v1", **options)
            async with create_session(chosen, os.environ) as session:
                await session.prompt("hi")
                return [notice.message for notice in session.notices]

        notices = asyncio.run(main())
        return server.requests[-1].headers, notices


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_an_address_without_a_provider_gets_no_key(tmp_path: Path) -> None:
    headers, notices = headers_of(tmp_path)
    assert KEY not in str(headers)
    assert "authorization" not in headers
    assert any("No key is sent to" in notice and "--provider openai" in notice for notice in notices)


def test_an_address_with_a_bare_model_gets_no_key(tmp_path: Path) -> None:
    assert KEY not in str(headers_of(tmp_path, model="gpt-5.4")[0])


def test_a_new_address_for_a_resumed_session_gets_no_key(tmp_path: Path) -> None:
    headers, _ = headers_of(tmp_path, provider="openai")
    assert headers["authorization"] == f"Bearer {KEY}"
    headers, _ = headers_of(tmp_path, continue_recent=True)
    assert KEY not in str(headers)


def test_the_named_providers_key_is_sent(tmp_path: Path) -> None:
    for choice in ({"provider": "openai"}, {"model": "openai/gpt-5.4"}):
        assert headers_of(tmp_path, **choice)[0]["authorization"] == f"Bearer {KEY}"


def test_a_key_for_the_address_is_sent(tmp_path: Path) -> None:
    headers, notices = headers_of(tmp_path, api_key="given-for-this")
    assert headers["authorization"] == "Bearer given-for-this"
    assert notices == []


def test_headers_of_a_provider_do_not_follow_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_HEADER", "planted-header-value")
    paths = user_paths()
    paths.home.mkdir(parents=True)
    paths.models.write_text('{"providers": {"openai": {"headers": {"x-acme": "ACME_HEADER"}}}}')
    assert "planted" not in str(headers_of(tmp_path)[0])


def test_an_address_alone_needs_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="--base-url needs a model"):
        headers_of(tmp_path)


class OneKey:
    """Implements `Credentials`."""

    async def get(self, provider: str) -> str | None:
        return KEY

    async def refresh(self, provider: str, rejected: str) -> str | None:
        return None

    async def rotate(self, provider: str, failed: str, *, refused: bool, wait_s: float | None) -> KeyRetry:
        return KeyRetry()


class Sent(Exception):
    """The request reached the transport."""


class Recorder:
    """Implements `Transport` and sends nothing."""

    @asynccontextmanager
    async def open(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, **_: Any
    ) -> AsyncIterator[Any]:
        raise Sent(f"{url} {headers}")
        yield

    async def close(self) -> None:
        """Nothing to close."""


def send(base_url: str, *allowed: str) -> str:
    model = Model(id="m", name="m", api="openai-completions", provider="openai", base_url=base_url)
    client = Client(Recorder(), OneKey(), may_send_plain=lambda model, host: host in allowed)

    async def main() -> None:
        async for _ in client.stream(model, Request(system="", messages=[], tools=[], max_tokens=10)):
            pass

    with pytest.raises(Sent) as caught:
        asyncio.run(main())
    return str(caught.value)


@pytest.mark.parametrize("host", ["192.168.1.20:8000", "models.example.com", "10.0.0.1", "[fe80::1]:80"])
def test_plain_http_to_another_machine_gets_no_key(host: str) -> None:
    with pytest.raises(ProviderError, match=r"keys\.plainHttpHosts") as caught:
        send(f"http://{host}/v1")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["https://models.example.com/v1", "http://127.0.0.1:1/v1", "http://localhost:1/v1", "http://[::1]:1/v1"],
)
def test_encryption_and_loopback_are_fine(url: str) -> None:
    assert KEY in send(url)


def test_the_user_can_allow_a_host() -> None:
    assert KEY in send("http://192.168.1.20:8000/v1", "192.168.1.20")


def test_every_built_in_provider_is_encrypted() -> None:
    with_keys = [row for row in load_catalog().providers.values() if row.key_variables]
    urls = [row.base_url for row in with_keys if not row.base_url.startswith("{")]  # a variable of the user's
    plain = [url for url in urls if not url.startswith("https://")]
    assert all(is_loopback(parse_url(url)) for url in plain), plain
