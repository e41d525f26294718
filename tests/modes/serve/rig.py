"""A real server on loopback with the scripted model, and a small client for it."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.ai.faux import Faux, FauxStep
from tau.modes.serve.server import HttpServer, ServeOptions, run
from tau.modes.serve.session_pool import SessionPool
from tau.sdk import SessionOptions
from tests.support.limits import HANG_S

TOKEN = "0123456789abcdef" * 4


class HttpAnswer(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def code(self) -> str:
        return str(self.json["code"])


class Event(Struct, frozen=True):
    id: str
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.data["type"])


class HttpClient:
    """One connection per request."""

    def __init__(self, port: int, token: str = TOKEN) -> None:
        self.port = port
        self.headers = {"host": f"127.0.0.1:{port}", "connection": "close"}
        if token:
            self.headers["authorization"] = f"Bearer {token}"

    async def get(self, path: str, **headers: str) -> HttpAnswer:
        return await self.send("GET", path, None, **headers)

    async def post(self, path: str, body: Any = None, **headers: str) -> HttpAnswer:
        return await self.send("POST", path, json.dumps({} if body is None else body).encode(), **headers)

    async def send(self, method: str, path: str, body: bytes | None, **headers: str) -> HttpAnswer:
        reader, writer = await self.open(method, path, body, **headers)
        try:
            status, answered = await read_head(reader)
            data = b"" if method == "HEAD" else await _read_body(reader, answered)
            return HttpAnswer(status, answered, data)
        finally:
            writer.close()

    async def open(
        self, method: str, path: str, body: bytes | None, **headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request; names in `headers` are written with underscores."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**24)
        sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body is not None:
            sent = {"content-type": "application/json", "content-length": str(len(body)), **sent}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (body or b""))
        return reader, writer

    @asynccontextmanager
    async def events(self, id: str, after: str = "", last: str = "") -> AsyncIterator["EventClient"]:
        path = f"/v1/sessions/{id}/events" + (f"?after={after}" if after else "")
        reader, writer = await self.open("GET", path, None, last_event_id=last)
        try:
            status, _ = await read_head(reader)
            assert status == 200, await reader.read()
            yield EventClient(reader)
        finally:
            writer.close()


class EventClient:
    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._text = b""
        self.last = ""

    async def next(self) -> Event | None:
        """The next event; None at the end. Comments are skipped."""
        async with asyncio.timeout(HANG_S):
            while True:
                frame, found, rest = self._text.partition(b"\n\n")
                if not found:
                    data = await _read_chunk(self._reader)
                    if not data:
                        return None
                    self._text += data
                    continue
                self._text = rest
                fields = dict(line.split(": ", 1) for line in frame.decode().split("\n") if line[:1] != ":")
                if fields:
                    self.last = fields["id"]
                    return Event(fields["id"], json.loads(fields["data"]))

    async def until(self, type: str) -> list[Event]:
        """The events up to one of this type."""
        found: list[Event] = []
        while not found or found[-1].type != type:
            event = await self.next()
            assert event is not None, f"The stream ended before {type}: {[one.type for one in found]}"
            found.append(event)
        return found


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    async with asyncio.timeout(HANG_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = (line.split(": ", 1) for line in head[1:] if line)
    return int(head[0].split()[1]), {name.lower(): value for name, value in fields}


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    async with asyncio.timeout(HANG_S):
        if "content-length" in headers:
            return await reader.readexactly(int(headers["content-length"]))
        data = b""
        while headers.get("transfer-encoding") == "chunked" and (chunk := await _read_chunk(reader)):
            data += chunk
        return data


async def _read_chunk(reader: asyncio.StreamReader) -> bytes:
    """Empty at the end, or when the connection breaks."""
    try:
        size = int(await reader.readuntil(b"\r\n"), 16)
        return (await reader.readexactly(size + 2))[:-2]
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


class Served(Struct, frozen=True):
    client: HttpClient
    pool: SessionPool
    server: HttpServer
    faux: Faux

    async def session(self, **body: Any) -> str:
        """The id of a new session."""
        answer = await self.client.post("/v1/sessions", body)
        assert answer.status == 201, answer.data
        return str(answer.json["id"])

    async def command(self, id: str, name: str, body: Any = None, **headers: str) -> HttpAnswer:
        return await self.client.post(f"/v1/sessions/{id}/commands/{name}", body, **headers)

    async def ask(self, id: str, text: str) -> None:
        """Send a prompt and wait until it is done."""
        view = (await self.client.get(f"/v1/sessions/{id}")).json
        async with self.client.events(id, view["lastEventId"]) as events:
            assert (await self.command(id, "prompt", {"message": text})).status == 200
            await events.until("agent_settled")


@asynccontextmanager
async def serving(
    root: Path,
    script: Sequence[Sequence[FauxStep]] = (),
    *,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    **options: Any,
) -> AsyncIterator[Served]:
    faux = Faux(script)
    settings = {"titles.enabled": False, "retry.enabled": False, **options.pop("settings", {})}
    session = SessionOptions(cwd=root, stream=faux.stream, settings=settings, **options)
    served: list[tuple[HttpServer, SessionPool]] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        chosen = ServeOptions(
            session=session,
            root=Path(os.path.realpath(root)),
            token=TOKEN,
            hosts=tuple(hosts),
            origins=tuple(origins),
        )
        ready = asyncio.Event()

        def started(server: HttpServer, pool: SessionPool) -> None:
            served.append((server, pool))
            ready.set()

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(run(chosen, listener, started))
            await ready.wait()
            server, pool = served[0]
            try:
                yield Served(HttpClient(listener.getsockname()[1]), pool, server, faux)
            finally:
                server.stop()
                await task


def drive(
    root: Path,
    script: Sequence[Sequence[FauxStep]],
    work: Callable[[Served], Awaitable[None]],
    **options: Any,
) -> Faux:
    """Run `work` with a server whose model follows the script."""

    async def main() -> Faux:
        async with serving(root, script, **options) as served:
            async with asyncio.timeout(HANG_S):
                await work(served)
            return served.faux

    return asyncio.run(main())
