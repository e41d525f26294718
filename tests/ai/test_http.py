"""Requests over the real transport, against servers whose every byte is controlled here."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from tau.ai import http as http_module
from tau.ai.http import HttpTransport
from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError
from tests.support.raw_server import Talk, raw_server, read_head

HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=1\r\nhel\r\n2\r\nlo\r\n0\r\nt: 1\r\n\r\n"


def run(test: Callable[[HttpTransport], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        http = HttpTransport({})
        try:
            await test(http)
        finally:
            await http.close()

    asyncio.run(main())


def respond_with(*answers: bytes) -> Talk:
    """Answers one request after another on a connection, then closes it."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await read_head(reader)
            writer.write(answer)

    return talk


async def get(http: HttpTransport, where: str, **options: Any) -> tuple[int, bytes]:
    async with http.open("GET", f"http://{where}/", **options) as response:
        return response.status, await response.read()


def answer_to(answer: bytes) -> tuple[int, bytes]:
    found: list[tuple[int, bytes]] = []

    async def test(http: HttpTransport) -> None:
        async with raw_server(respond_with(answer)) as where:
            found.append(await get(http, where))

    run(test)
    return found[0]


@pytest.mark.parametrize(
    "answer",
    [
        HELLO,
        CHUNKED,
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + HELLO,
        b"HTTP/1.1 200 OK\r\nconnection: Upgrade\r\nupgrade: h2c\r\ncontent-length: 5\r\n\r\nhello",
        HELLO + b"HTTP/1.1 500 Unasked\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello and more",
    ],
    ids=[
        "length",
        "chunked",
        "until close",
        "1.0",
        "1xx",
        "upgrade offered",
        "one too many",
        "more than said",
    ],
)
def test_body_is_read_in_every_framing(answer: bytes) -> None:
    assert answer_to(answer) == (200, b"hello")


@pytest.mark.parametrize(
    "status", ["204 No Content", "304 Not Modified", "307 Moved\r\nlocation: /x\r\ncontent-length: 0"]
)
def test_response_without_a_body(status: str) -> None:
    assert answer_to(f"HTTP/1.1 {status}\r\n\r\n".encode()) == (int(status[:3]), b"")


def test_head_requests_have_no_body() -> None:
    async def test(http: HttpTransport) -> None:
        async with (
            raw_server(respond_with(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")) as where,
            http.open("HEAD", f"http://{where}/") as response,
        ):
            assert (response.headers["content-length"], await response.read()) == ("5", b"")

    run(test)


def test_headers_are_lowercased_and_repeated_ones_joined() -> None:
    async def test(http: HttpTransport) -> None:
        answer = b"HTTP/1.1 200 OK\r\nX-A:  one \r\nx-a: two\r\nEmpty:\r\nContent-Length: 0\r\n\r\n"
        async with raw_server(respond_with(answer)) as where, http.open("GET", f"http://{where}") as response:
            assert response.headers == {"x-a": "one, two", "empty": "", "content-length": "0"}

    run(test)


def test_request_format() -> None:
    heads: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_head(reader))
        writer.write(HELLO)

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where:
            headers = {"X-Api-Key": " secret\n", "User-Agent": "me"}
            url = f"http://us%40er:pass@{where}/v1/x?y=z#part"
            async with http.open("POST", url, headers=headers, body=b"12345") as response:
                await response.read()
            assert heads[0].split("\r\n") == [
                "POST /v1/x?y=z HTTP/1.1",
                f"host: {where}",
                "user-agent: me",
                "accept-encoding: identity",
                "authorization: Basic dXNAZXI6cGFzcw==",
                "x-api-key: secret",
                "content-length: 5",
                "",
                "",
            ]

    run(test)


@pytest.mark.parametrize("value", ["two\r\nlines", "naïve", "nul\0"])
def test_unsendable_header_is_refused_without_showing_it(value: str) -> None:
    async def test(http: HttpTransport) -> None:
        with pytest.raises(ProviderError, match="The header x-key has invalid") as caught:
            await get(http, "127.0.0.1:1", headers={"x-key": value})
        assert value not in str(caught.value)
        assert not caught.value.retryable

    run(test)


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "ftp://host/",
        "http://",
        "http://h:99999/",
        "http://h:x/",
        "http://u:geheim@h:x/",
        "http://a b/",
        "http://a..b/",
        f"http://{'a' * 64}/",
        "http://naïve/",
        "http://h/a b",
        "http://h/a b?key=geheim",
        "htp://h/a?key=geheim",
    ],
)
def test_invalid_url_is_refused_without_showing_a_password(url: str) -> None:
    async def test(http: HttpTransport) -> None:
        with pytest.raises(ProviderError, match="use https://host:port/path") as caught:
            async with http.open("GET", url):
                pass
        assert "geheim" not in str(caught.value)

    run(test)


def test_chunks_arrive_as_they_are_sent() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(3):
            writer.write(b"2\r\nab\r\n")
            await asked.get()
        writer.write(b"0\r\n\r\n")

    asked: asyncio.Queue[None] = asyncio.Queue()

    async def test(http: HttpTransport) -> None:
        got = []
        async with raw_server(talk) as where, http.open("GET", f"http://{where}/") as response:
            async for chunk in response.chunks():
                got.append(chunk)
                asked.put_nowait(None)
        assert got == [b"ab", b"ab", b"ab"]

    run(test)


def test_bytes_may_come_one_at_a_time() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        for byte in CHUNKED:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where:
            assert await get(http, where) == (200, b"hello")

    run(test)


def test_read_stops_at_its_limit() -> None:
    async def test(http: HttpTransport) -> None:
        async with raw_server(respond_with(HELLO)) as where, http.open("GET", f"http://{where}/") as response:
            assert await response.read(3) == b"hel"

    run(test)


def compressed(coding: str, wbits: int) -> bytes:
    packer = zlib.compressobj(wbits=wbits)
    packed = packer.compress(b"hello " * 200_000) + packer.flush()
    return (
        f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {len(packed)}\r\n\r\n".encode()
        + packed
    )


@pytest.mark.parametrize(
    ("coding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15), ("X-GZIP", 31)]
)
def test_unrequested_compression_is_supported(coding: str, wbits: int) -> None:
    async def test(http: HttpTransport) -> None:
        async with (
            raw_server(respond_with(compressed(coding, wbits))) as where,
            http.open("GET", f"http://{where}/") as response,
        ):
            chunks = [chunk async for chunk in response.chunks()]
        assert b"".join(chunks) == b"hello " * 200_000
        assert max(map(len, chunks)) <= 262_144

    run(test)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 20\r\n\r\n"
        + compressed("gzip", 31)[-200:-180],
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n"
        + compressed("gzip", 31).partition(b"\r\n\r\n")[2][:100],
    ],
    ids=["broken", "unknown", "cut"],
)
def test_unreadable_compressed_data_is_an_error(answer: bytes) -> None:
    with pytest.raises(ProviderError, match=r"cannot be read as (gzip|br)"):
        answer_to(answer)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("body", [b"\x8b\x03junk", b"hello", b"\x78\x9cjunk that is not packed"])
def test_broken_compression_is_reported_once(coding: str, body: bytes) -> None:
    """It was retried ten times."""
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {len(body)}\r\n\r\n"
    with pytest.raises(ProviderError, match=f"cannot be read as {coding}: .*; turn .* off") as caught:
        answer_to(head.encode() + body)
    assert not caught.value.retryable


def test_compressed_answer_that_is_cut_off_is_retried() -> None:
    packed = compressed("gzip", 31).partition(b"\r\n\r\n")[2][:100]
    with pytest.raises(ProviderError, match="it ends early") as caught:
        answer_to(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + packed)
    assert caught.value.retryable


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br"])
def test_unknown_compression_is_named_and_not_retried(coding: str) -> None:
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: 5\r\n\r\nhello"
    with pytest.raises(ProviderError, match=f"cannot be read as {coding}: tau reads gzip") as caught:
        answer_to(head.encode())
    assert not caught.value.retryable


def connections_of(answers: list[Talk], use: Callable[[HttpTransport, str], Awaitable[None]]) -> int:
    """How many connections a client makes, each handled by the next of `answers`."""
    made = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal made
        made += 1
        await answers[made - 1](reader, writer)

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where:
            await use(http, where)

    run(test)
    return made


async def ask_twice(http: HttpTransport, where: str) -> None:
    assert await get(http, where) == (200, b"hello")
    await asyncio.sleep(0.01)  # a server that wants to close does so now
    assert await get(http, where) == (200, b"hello")


def test_connection_is_reused() -> None:
    assert connections_of([respond_with(HELLO, CHUNKED)], ask_twice) == 1


def test_connection_that_must_not_be_reused_is_closed() -> None:
    last = HELLO.replace(b"content-length", b"connection: close\r\ncontent-length")
    for answer in (
        last,
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        HELLO + b"HTTP/1.1 200 OK\r\n",
        HELLO + b"not HTTP at all\r\n",
    ):
        assert connections_of([respond_with(answer, HELLO), respond_with(HELLO)], ask_twice) == 2


def test_connection_closed_meanwhile_by_the_server_is_replaced() -> None:
    assert connections_of([respond_with(HELLO), respond_with(HELLO)], ask_twice) == 2


@pytest.mark.parametrize("closes", [True, False])
def test_timeout_notice_on_an_idle_connection_is_not_the_answer_to_the_next_request(closes: bool) -> None:
    async def impatient(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(HELLO)
        await first_read.wait()
        writer.write(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        notice_sent.set()
        if not closes:
            await reader.read()

    async def use(http: HttpTransport, where: str) -> None:
        assert await get(http, where) == (200, b"hello")
        first_read.set()
        await notice_sent.wait()
        assert await get(http, where) == (200, b"hello")

    first_read, notice_sent = asyncio.Event(), asyncio.Event()
    assert connections_of([impatient, respond_with(HELLO)], use) == 2


def test_connection_closed_on_a_second_request_is_replaced_once() -> None:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await respond_with(HELLO)(reader, writer)
        await read_head(reader)

    assert connections_of([closing, respond_with(HELLO)], ask_twice) == 2


def test_request_is_not_repeated_after_a_fresh_connection_fails_or_a_response_began() -> None:
    async def refused(http: HttpTransport, where: str) -> None:
        assert await get(http, where) == (200, b"hello")
        with pytest.raises(ProviderError, match="Connection lost"):
            await get(http, where)

    assert connections_of([respond_with(HELLO, b"H")], refused) == 1
    assert connections_of([respond_with(HELLO, b""), respond_with(b""), respond_with(HELLO)], refused) == 2


def test_reader_that_stops_just_before_the_end_leaves_a_usable_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_module, "DRAIN_S", 10)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(CHUNKED[:-12])
        await stopped.wait()
        await asyncio.sleep(0)
        writer.write(CHUNKED[-12:])
        await respond_with(HELLO)(reader, writer)

    stopped = asyncio.Event()

    async def use(http: HttpTransport, where: str) -> None:
        async with http.open("GET", f"http://{where}/") as response:
            async for _ in response.chunks():
                break
            stopped.set()
        assert await get(http, where) == (200, b"hello")

    assert connections_of([talk], use) == 1


def test_reader_that_stops_in_the_middle_closes_the_connection() -> None:
    long = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" + bytes(1_000_000)

    async def use(http: HttpTransport, where: str) -> None:
        async with http.open("GET", f"http://{where}/") as response:
            await response.read(10)
        assert await get(http, where) == (200, b"hello")

    assert connections_of([respond_with(long, HELLO), respond_with(HELLO)], use) == 2


def test_reader_that_has_enough_does_not_wait_for_more() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n0123456789")
        await reader.read()

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where, http.open("GET", f"http://{where}/") as response:
            assert await response.read(10) == b"0123456789"

    run(test)


def test_number_of_idle_connections_is_limited() -> None:
    closed = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await respond_with(HELLO)(reader, writer)
        await reader.read()
        closed.set()

    async def use(http: HttpTransport, where: str) -> None:
        async def hold() -> None:
            async with http.open("GET", f"http://{where}/") as response:
                await together.wait()
                await response.read()

        together = asyncio.Barrier(9)
        async with asyncio.TaskGroup() as group:
            for _ in range(9):
                group.create_task(hold())
        await closed.wait()

    assert connections_of([talk] * 9, use) == 9


def test_body_is_not_readable_after_its_request_was_closed() -> None:
    async def test(http: HttpTransport) -> None:
        async with raw_server(respond_with(HELLO)) as where:
            async with http.open("GET", f"http://{where}/") as response:
                pass
            with pytest.raises(RuntimeError, match="after its request was closed"):
                await response.read()

    run(test)


def test_many_requests_run_at_once() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        await together.wait()
        writer.write(HELLO)

    together = asyncio.Barrier(5)

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where, asyncio.TaskGroup() as group:
            tasks = [group.create_task(get(http, where, timeouts=Timeouts())) for _ in range(5)]
        assert [task.result() for task in tasks] == [(200, b"hello")] * 5

    run(test)


def test_server_has_15_s_to_connect_5_min_to_begin_and_2_min_between_pieces() -> None:
    assert Timeouts() == Timeouts(connect=15, first_byte=300, idle=120)
