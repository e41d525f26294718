"""Which address of a server is used, and that a hanging resolver blocks nobody."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tau.ai import http_connect
from tau.ai.http_connect import dial
from tests.support.raw_server import raw_server

V4, V6 = socket.AF_INET, socket.AF_INET6


def address(family: int, host: str, port: int) -> Any:
    return (family, socket.SOCK_STREAM, 0, "", (host, port))


@contextmanager
def unused_port() -> Iterator[int]:
    """A port that is taken, but nothing listens there."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


def test_ip_addresses_and_names_connect() -> None:
    async def main() -> None:
        async with raw_server(hang_up) as where:
            port = int(where.rpartition(":")[2])
            for host in ("127.0.0.1", "localhost"):
                with await dial(host, port) as sock:
                    assert sock.getpeername()[1] == port

    asyncio.run(main())


def test_refusing_address_falls_back_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with raw_server(hang_up) as where:
            port = int(where.rpartition(":")[2])
            with unused_port() as dead:
                found = [address(V4, "127.0.0.1", place) for place in (dead, dead, port)]
                monkeypatch.setattr(socket, "getaddrinfo", named(found))
                with await dial("two.example", 80) as sock:
                    assert sock.getpeername()[1] == port

    asyncio.run(main())


def named(found: list[Any]) -> Any:
    """A lookup for a name that is not a number."""

    def look_up(host: str, port: int, *, type: int, flags: int = 0) -> list[Any]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror
        return found

    return look_up


def test_first_reason_is_reported_when_no_address_responds(monkeypatch: pytest.MonkeyPatch) -> None:
    with unused_port() as dead:
        monkeypatch.setattr(socket, "getaddrinfo", named([address(V4, "127.0.0.1", dead)] * 2))
        with pytest.raises(ConnectionRefusedError):
            asyncio.run(dial("two.example", 80))


def test_impossible_name_is_not_found() -> None:
    with pytest.raises(socket.gaierror):
        asyncio.run(dial("a" * 70 + ".\u0133", 80))


def test_address_families_alternate() -> None:
    six, four = [address(V6, f"::{n}", 1) for n in range(3)], [address(V4, "127.0.0.1", 1)]
    assert http_connect._alternate_families([*six, *four]) == [six[0], four[0], six[1], six[2]]


def test_hanging_resolver_does_not_block_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answer = threading.Event(), threading.Event()

    def stuck(host: str, port: int, *, type: int, flags: int = 0) -> list[Any]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror
        asked.set()
        answer.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stuck)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await dial("slow.example", 80)

    asyncio.run(main())  # would wait for the thread if it were one of the loop's own
    assert asked.is_set() and not answer.is_set()
    answer.set()
