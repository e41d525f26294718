"""What model servers answered, put aside within bounds and without keys."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from tau.ai import exchange_log
from tau.ai.catalog import Catalog
from tau.ai.client import Client
from tau.ai.exchange_log import MAX_CHARS, MAX_EVENT_CHARS, MAX_EVENTS, MAX_EXCHANGES, ExchangeLog
from tau.ai.http import HttpTransport
from tau.base.errors import ProviderError
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.paths import user_paths
from tests.ai.talk import HELLO, model
from tests.support.fake_answers import Scriptable, Status
from tests.support.fake_server import FakeServer


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    exchange_log.forget()
    yield
    exchange_log.forget()


def talk(script: list[Scriptable], key: str = "sk-very-secret-key") -> None:
    async def main(url: str) -> None:
        http = HttpTransport({})
        credentials = KeyCredentials(
            Catalog({}, []), AuthFile(user_paths().auth), LocalRunner(), {}, flags={"acme": key}
        )
        client = Client(exchange_log.watched(http), credentials)
        for _ in script:
            try:
                async with aclosing(
                    client.stream(model("openai-completions", base_url=url), HELLO)
                ) as deltas:
                    async for _delta in deltas:
                        pass
            except ProviderError:
                pass
        await http.close()

    with FakeServer() as server:
        server.script(*script)
        asyncio.run(main(server.url))


def test_nothing_is_kept_unless_somebody_asks() -> None:
    http = HttpTransport({})
    assert exchange_log.watched(http) is http
    assert exchange_log.kept() is None


def test_events_are_kept_as_they_came_and_without_the_key() -> None:
    record = exchange_log.keep()
    assert exchange_log.keep() is record
    talk(["Good day to you", Status(500, "out of order")])
    texts = [event.text for event in record.events()]
    assert any('"Good day to you"' in text or "Good" in text for text in texts)
    assert texts[0].startswith("data: ")
    assert any("out of order" in text for text in texts)
    assert [exchange.status for exchange in record.exchanges] == [200, 500]
    everything = "".join(texts) + "".join(exchange.url for exchange in record.exchanges)
    assert "sk-very-secret-key" not in everything


def test_an_address_loses_what_may_be_secret() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "https://me:password@example.com/v1/x?key=secret#y")
    assert exchange.url == "https://example.com/v1/x"


def test_there_is_an_end_to_events_to_their_length_and_to_all_of_them() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    for number in range(3 * MAX_EVENTS):
        record.take(exchange, b"data: %d\n\n" % number)
    events = record.events()
    assert len(events) == MAX_EVENTS
    assert events[-1].text == f"data: {3 * MAX_EVENTS - 1}"

    record.take(exchange, b"data: " + b"x" * 100_000 + b"\n\n")
    assert len(record.events()[-1].text) < MAX_EVENT_CHARS + 100
    assert record.events()[-1].text.endswith("more characters]")

    for _ in range(20):
        record.take(exchange, b"data: " + b"y" * 100_000 + b"\n\n")
    assert sum(len(chunk) for chunk in exchange.chunks) <= MAX_CHARS
    assert not exchange.begun
    assert record.events()[0].text.startswith("data: ")

    for _ in range(3 * MAX_EXCHANGES):
        record.begin("GET", "http://x")
    assert len(record.exchanges) == MAX_EXCHANGES
    assert record.events() == []


def test_events_cut_anywhere_are_put_together() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    for byte in "event: a\r\ndata: über\r\n\r\ndata: half".encode():
        record.take(exchange, bytes([byte]))
    assert [event.text for event in record.events()] == ["event: a\ndata: über", "data: half"]
