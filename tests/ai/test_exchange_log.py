"""Recorded answers of model servers, bounded and without keys."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from tau.ai import exchange_log
from tau.ai.catalog import Catalog
from tau.ai.client import Client
from tau.ai.exchange_log import ExchangeLog
from tau.ai.http import HttpTransport
from tau.base.errors import ProviderError
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.paths import user_paths
from tests.ai.dialect_client import HELLO, model
from tests.support.fake_answers import Scriptable, Status
from tests.support.fake_server import FakeServer


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    exchange_log.stop_recording()
    yield
    exchange_log.stop_recording()


def talk(script: list[Scriptable], key: str = "sk-very-secret-key") -> None:
    async def main(url: str) -> None:
        http = HttpTransport({})
        credentials = KeyCredentials(
            Catalog({}, []), AuthFile(user_paths().auth), LocalRunner(), {}, flags={"acme": key}
        )
        client = Client(exchange_log.recorded(http), credentials)
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


def test_nothing_is_recorded_by_default() -> None:
    http = HttpTransport({})
    assert exchange_log.recorded(http) is http
    assert exchange_log.current_log() is None


def test_events_are_recorded_raw_and_without_the_key() -> None:
    record = exchange_log.start_recording()
    assert exchange_log.start_recording() is record
    talk(["Good day to you", Status(500, "out of order")])
    texts = [event.text for event in record.events()]
    assert any('"Good day to you"' in text or "Good" in text for text in texts)
    assert texts[0].startswith("data: ")
    assert any("out of order" in text for text in texts)
    assert [exchange.status for exchange in record.exchanges] == [200, 500]
    everything = "".join(texts) + "".join(exchange.url for exchange in record.exchanges)
    assert "sk-very-secret-key" not in everything


def test_possible_secrets_are_removed_from_urls() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "https://me:password@example.com/v1/x?key=secret#y")
    assert exchange.url == "https://example.com/v1/x"


def test_at_most_a_thousand_events_are_shown() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    assert (exchange.number, exchange.status, exchange.total_bytes, exchange.begun) == (1, 0, 0, True)
    for number in range(3_000):
        record.add(exchange, b"data: %d\n\n" % number)
    events = record.events()
    assert len(events) == 1_000
    assert events[-1].text == "data: 2999"
    assert exchange.total_bytes == sum(len(chunk) for chunk in exchange.chunks)


def test_event_is_cut_at_sixty_four_thousand_characters() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    record.add(exchange, b"x" * 64_000 + b"\n\n" + b"y" * 64_001)
    whole, cut = record.events()
    assert whole.text == "x" * 64_000
    assert cut.text == "y" * 64_000 + "\n[cut: 1 more characters]"


def test_oldest_bytes_are_dropped_first() -> None:
    record = ExchangeLog()
    older, newer = record.begin("POST", "http://x"), record.begin("POST", "http://x")
    for exchange in (older, newer):
        record.add(exchange, b"data: 1\n\n" + b"x" * 255_991)
    assert (older.begun, newer.begun) == (True, True)
    record.add(newer, b"data: 2\n\n")
    assert (older.begun, newer.begun) == (False, True)
    assert (len(older.chunks), len(newer.chunks)) == (0, 2)
    record.add(newer, b"y" * 600_000)
    assert [len(chunk) for chunk in newer.chunks] == [512_000]
    assert not newer.begun and newer.total_bytes == 256_000 + 9 + 600_000


def test_rest_of_a_partially_dropped_answer_starts_with_a_whole_event() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    record.add(exchange, b"x" * 512_000)
    record.add(exchange, b"xx\n\ndata: whole\n\n")
    assert [event.text for event in record.events()] == ["data: whole"]


def test_twenty_thousand_chunks_are_kept() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    for _ in range(20_000):
        record.add(exchange, b"x")
    assert exchange.begun
    record.add(exchange, b"x")
    assert len(exchange.chunks) == 20_000 and not exchange.begun


def test_fifty_answers_are_kept_and_forgotten_ones_free_their_space() -> None:
    record = ExchangeLog()
    first = record.begin("POST", "http://x")
    record.add(first, b"x" * 500_000)
    rest = [record.begin("GET", "http://x") for _ in range(49)]
    assert record.exchanges[0] is first
    last = record.begin("GET", "http://x")
    assert [exchange.number for exchange in record.exchanges] == list(range(2, 52))
    assert record.events() == [] and not first.chunks
    record.add(rest[-1], b"y" * 256_000)
    record.add(last, b"z" * 256_000)
    assert rest[-1].begun and last.begun


def test_listener_receives_every_chunk() -> None:
    record = ExchangeLog()
    reported: list[int] = []
    exchange = record.begin("POST", "http://x")
    record.add(exchange, b"unheard")
    record.on_change = lambda: reported.append(exchange.total_bytes)
    record.add(exchange, b"heard")
    assert reported == [12]


def test_closing_the_wrapper_closes_the_real_network() -> None:
    closed: list[str] = []

    class Http(HttpTransport):
        async def close(self) -> None:
            closed.append("closed")

    exchange_log.start_recording()
    asyncio.run(exchange_log.recorded(Http({})).close())
    assert closed == ["closed"]


def test_events_are_reassembled_from_any_chunking() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    for byte in "event: a\r\ndata: über\r\n\r\ndata: half".encode():
        record.add(exchange, bytes([byte]))
    assert [event.text for event in record.events()] == ["event: a\ndata: über", "data: half"]


def test_chunks_never_exceed_the_limit_again() -> None:
    record = ExchangeLog()
    exchange = record.begin("POST", "http://x")
    for _ in range(20_003):
        record.add(exchange, b"x")
    assert len(exchange.chunks) == 20_000
