"""How the transport handles servers that stall, cut, lie or are missing."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tau.ai.http import HttpTransport
from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError
from tests.support.raw_server import Talk, raw_server, read_head

HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
HASTY = Timeouts(first_byte=0.05)
IMPATIENT = Timeouts(idle=0.05)


def run(test: Callable[[HttpTransport], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        http = HttpTransport({})
        try:
            await test(http)
        finally:
            await http.close()

    asyncio.run(main())


def respond_with(*pieces: bytes, then: Callable[[], Coroutine[Any, Any, object]] | None = None) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if then is not None:
            await then()

    return talk


async def failure(http: HttpTransport, url: str, **options: Any) -> tuple[ProviderError, bytes]:
    """The error of a request, and what had arrived before it."""
    got = b""
    with pytest.raises(ProviderError) as caught:
        async with http.open("POST", url, body=b"{}", **options) as response:
            async for chunk in response.chunks():
                got += chunk
    return caught.value, got


def failure_of(talk: Talk, **options: Any) -> tuple[ProviderError, bytes, str]:
    found: list[tuple[ProviderError, bytes, str]] = []

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where:
            found.append((*await failure(http, f"http://{where}/", **options), where))

    run(test)
    return found[0]


def forever() -> Coroutine[Any, Any, object]:
    return asyncio.sleep(3600)


@pytest.mark.parametrize("answer", [HELLO, CHUNKED], ids=["length", "chunked"])
def test_response_cut_at_any_byte_is_a_retryable_error(answer: bytes) -> None:
    async def test(http: HttpTransport) -> None:
        for length in range(len(answer)):
            async with raw_server(respond_with(answer[:length])) as where:
                error, got = await failure(http, f"http://{where}/")
                assert error.retryable
                expected = "without an answer" if length == 0 else "in the middle of its answer"
                assert str(error) == f"Connection lost: {where} closed it {expected}."
                assert b"hello".startswith(got)

    run(test)


def test_reset_is_retryable_even_if_the_body_ends_with_the_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
        await read.wait()
        linger = socket.SO_LINGER
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, linger, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    read = asyncio.Event()

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where:
            with pytest.raises(ProviderError, match=r"Connection lost.*reset") as caught:
                async with http.open("GET", f"http://{where}/") as response:
                    async for _ in response.chunks():
                        read.set()
            assert caught.value.retryable

    run(test)


def test_unresponsive_server_times_out() -> None:
    error, _, where = failure_of(respond_with(then=forever), timeouts=HASTY)
    assert (str(error), error.retryable) == (f"{where} did not answer within 0.05 s.", True)


def test_slowly_dripping_header_times_out() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"a: b\r\n")
            await asyncio.sleep(0.01)

    error, _, _ = failure_of(talk, timeouts=HASTY)
    assert "did not answer within 0.05 s" in str(error)


def test_server_that_stalls_in_mid_response_times_out() -> None:
    error, got, where = failure_of(respond_with(CHUNKED[:-7], then=forever), timeouts=IMPATIENT)
    assert (str(error), error.retryable) == (f"{where} sent nothing for 0.05 s during its answer.", True)
    assert got == b"hello"


def test_time_the_reader_takes_does_not_count() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        for at in range(0, len(CHUNKED), 60):
            writer.write(CHUNKED[at : at + 60])
            await wanted.get()

    wanted: asyncio.Queue[None] = asyncio.Queue()

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where:
            got = b""
            async with http.open("GET", f"http://{where}/", timeouts=IMPATIENT) as response:
                async for chunk in response.chunks():
                    got += chunk
                    wanted.put_nowait(None)
                    await asyncio.sleep(1.2 * IMPATIENT.idle)
            assert got == b"hello"

    run(test)


def test_refused_connection_names_host_and_port() -> None:
    with socket.socket() as taken:  # nothing listens there, and nobody else can take it
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        async def test(http: HttpTransport) -> None:
            for host in ("127.0.0.1", "localhost"):
                error, _ = await failure(http, f"http://{host}:{port}/")
                assert str(error) == f"Cannot connect to {host}:{port}: connection refused."
                assert error.retryable

        run(test)


def test_unresolvable_name_is_reported() -> None:
    async def test(http: HttpTransport) -> None:
        error, _ = await failure(http, "http://no-such-host.invalid/v1")
        assert str(error).startswith("Cannot connect to no-such-host.invalid:80: cannot resolve its address")
        assert error.retryable

    run(test)


def test_server_that_hangs_up_on_tls_is_retryable() -> None:
    async def test(http: HttpTransport) -> None:
        async with raw_server(hang_up) as where:
            error, _ = await failure(http, f"https://{where}/")
            assert where in str(error)
            assert error.retryable

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)

    run(test)


def test_slow_connect_times_out() -> None:
    async def test(http: HttpTransport) -> None:
        async with raw_server(respond_with(then=forever)) as where:  # it never begins with TLS
            error, _ = await failure(http, f"https://{where}/", timeouts=Timeouts(connect=0.05))
            assert str(error) == f"Cannot connect to {where}: no connection within 0.05 s."
            assert error.retryable

    run(test)


@pytest.mark.parametrize(
    ("answer", "retryable"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", False),
        (b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", False),
        (CHUNKED.replace(b"\r\n2\r\n", b"\r\nzz\r\n"), True),
    ],
    ids=["another protocol", "switched protocol", "broken chunk"],
)
def test_non_http_response_is_reported(answer: bytes, retryable: bool) -> None:
    error, _, where = failure_of(respond_with(answer))
    assert str(error).startswith(f"The answer of {where} is not valid HTTP")
    assert error.retryable == retryable


@pytest.mark.parametrize("line", [b"a: " + b"b" * 1000 + b"\r\n", b"b" * 1000], ids=["many", "one"])
def test_endless_header_is_refused(line: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nx: y")
        while True:
            writer.write(line)
            await writer.drain()

    error, _, where = failure_of(talk)
    assert str(error) == f"The answer of {where} has a head of more than 64 KiB."
    assert not error.retryable


def test_endless_trailer_is_refused() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(CHUNKED[:-2] + b"x: y")
        while True:
            writer.write(b"z" * 1000)
            await writer.drain()

    error, got, _ = failure_of(talk)
    assert "more than 64 KiB" in str(error)
    assert got == b"hello"


def test_response_before_the_request_is_read_is_accepted() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HELLO.replace(b"200 OK", b"413 Too Large"))
        await asked.wait()

    asked = asyncio.Event()

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where:
            body = bytes(50_000_000)
            async with http.open("POST", f"http://{where}/", body=body) as response:
                assert (response.status, await response.read()) == (413, b"hello")
            assert not http._idle
            asked.set()

    run(test)


Use = Callable[[HttpTransport, str, asyncio.Event], Coroutine[Any, Any, None]]


def eof_seen_when(use: Use, answer: bytes) -> bool:
    """Whether the server notices that the client left after `use`. The event: the server has written."""
    seen: list[bytes] = []

    async def test(http: HttpTransport) -> None:
        spoken, done = asyncio.Event(), asyncio.Event()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_head(reader)
            writer.write(answer)
            spoken.set()
            try:
                seen.append(await reader.read())
            finally:
                done.set()

        async with raw_server(talk) as where:
            await use(http, where, spoken)
            await done.wait()

    run(test)
    return seen == [b""]


@pytest.mark.parametrize(
    "answer", [b"", HELLO[:20], CHUNKED[:-7]], ids=["silent", "in the head", "in the body"]
)
def test_cancelling_closes_the_connection(answer: bytes) -> None:
    async def use(http: HttpTransport, where: str, spoken: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(failure(http, f"http://{where}/"))
            await spoken.wait()
            await asyncio.sleep(0.02)
            task.cancel()
        assert task.cancelled()

    assert eof_seen_when(use, answer)


def test_leaving_mid_response_closes_the_connection_at_once() -> None:
    async def use(http: HttpTransport, where: str, spoken: asyncio.Event) -> None:
        with pytest.raises(ZeroDivisionError):
            async with http.open("GET", f"http://{where}/") as response:
                async for _ in response.chunks():
                    raise ZeroDivisionError
        assert not http._idle

    assert eof_seen_when(use, CHUNKED[:-7])


def test_cancellation_while_connecting_propagates() -> None:
    async def test(http: HttpTransport) -> None:
        async with raw_server(respond_with(then=forever)) as where:
            entered = asyncio.Event()

            async def ask() -> None:
                entered.set()
                await failure(http, f"https://{where}/")

            async with asyncio.TaskGroup() as group:
                task = group.create_task(ask())
                await entered.wait()
                await asyncio.sleep(0.02)
                task.cancel()
            assert task.cancelled()

    run(test)


def test_slow_reader_applies_backpressure() -> None:
    total = 64 * 1024 * 1024
    sent = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % total)
        while sent < total:
            writer.write(bytes(65_536))
            await writer.drain()
            sent += 65_536

    async def test(http: HttpTransport) -> None:
        async with raw_server(talk) as where, http.open("GET", f"http://{where}/") as response:
            size = 0
            async for chunk in response.chunks():
                if not size:
                    before = -1
                    while sent != before:  # until the server can send no more
                        before = sent
                        await asyncio.sleep(0.02)
                    assert sent < total
                size += len(chunk)
            assert size == total

    run(test)
