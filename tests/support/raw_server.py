"""A TCP server on loopback whose every byte the test controls, in the test's own event loop."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

Talk: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(talk: Talk, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Runs `talk` for each connection and then closes it; yields host:port. Its errors fail the test."""
    failures: list[Exception] = []
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await talk(reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        except Exception as error:
            failures.append(error)
        finally:
            running.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        host, port = server.sockets[0].getsockname()[:2]
        yield f"{host}:{port}"
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.sleep(0)
    if failures:
        raise failures[0]


async def read_head(reader: asyncio.StreamReader) -> str:
    """The head of a request, after reading its body too."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    for line in head.split("\r\n"):
        if line.startswith("content-length:"):
            await reader.readexactly(int(line.partition(":")[2]))
    return head
