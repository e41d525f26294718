"""A real HTTP server on loopback that speaks the dialects with scripted answers and faults.

In a test:

    with FakeServer() as server:
        server.script(Call("bash", {"command": "ls"}), "done")
        ...  # talk to server.url
        assert server.requests[1].body["messages"][-1]["role"] == "user"

As a process: `python -m tests.support.fake_server [--port N] [--script FILE.json] [--cert FILE.pem]` prints
its URL. `POST /_ctl` takes `{"script": [...]}` or a scenario and clears the log; `GET /_log` gives the log.
"""

import argparse
import asyncio
import functools
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tests.support.fake_answers import (
    Answer,
    Overflow,
    Raw,
    Scenario,
    Scriptable,
    Scripted,
    Silence,
    Status,
    Text,
    scripted,
)
from tests.support.fake_dialects import Dialect, dialect_of
from tests.support.fake_play import Document, Step, document, play
from tests.support.limits import HANG_S

FLOOD_EVENTS = 64  # in one write
SCRIPT = msgspec.json.Decoder(list[Scripted])
dump = msgspec.json.encode


class Recorded(Struct):
    """A request and the outcome of its answer: `sent`, `cut` (by us) or `left` (the client went away)."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    body: Any
    connection: int  # the same number for requests on the same connection
    first_byte_s: float  # CLOCK_MONOTONIC
    done_s: float = 0
    outcome: str = ""
    answer: str = ""

    @property
    def model(self) -> str:
        """The id of the model it is for."""
        dialect = dialect_of(self.path)
        return "" if dialect is None else dialect.model(self.path, self.body)

    @property
    def key(self) -> str:
        """The key it carries; empty if none."""
        named = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")
        return named or self.headers.get("authorization", "").removeprefix("Bearer ")

    def summary(self) -> dict[str, Any]:
        """Its form in the log served over HTTP."""
        known = {
            "t": self.first_byte_s,
            "t_done": self.done_s,
            "method": self.method,
            "path": self.path,
            "bytes": len(self.raw),
            "outcome": self.outcome,
            "answer": self.answer,
        }
        dialect = dialect_of(self.path)
        if dialect is None or not isinstance(self.body, dict) or dialect.validate(self.body):
            return known
        tools = self.body.get("tools")
        sizes = {
            "sys_bytes": dialect.system_bytes(self.body),
            "tools_bytes": len(dump(tools)) if tools else 0,
            "results": dialect.results(self.body),
        }
        return {**known, **sizes}


class FakeServer:
    """`requests` and `problems` (what was wrong with requests) fill as it runs.

    Each request takes the next answer of the script; the last one repeats. `key` is the only accepted key, if
    given. With `tls` it creates a certificate: trust `ca_file`. `certificate` is a file with key and
    certificate to use instead. A `lenient` server also answers invalid requests.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        tls: bool = False,
        certificate: Path | None = None,
        key: str | None = None,
        lenient: bool = False,
    ) -> None:
        self.requests: list[Recorded] = []
        self.problems: list[str] = []
        self.url = ""
        self.ca_file: Path | None = certificate
        self._port, self._tls, self._key, self._lenient = port, tls, key, lenient
        self._script: list[Scripted] = [Answer((Text("ok"),))]
        self._connections = 0
        self._changed = threading.Condition()
        self._stack = ExitStack()
        self._writers: set[asyncio.StreamWriter] = set()

    def script(self, *answers: Scriptable) -> None:
        """Set the answers to the next requests."""
        self._script = [scripted(answer) for answer in answers] or [Answer((Text("ok"),))]

    def wait(self, condition: Callable[[], bool], timeout_s: float = HANG_S) -> None:
        """Wait for something that depends on the clients, such as `server.requests[0].outcome`."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout_s):
                raise TimeoutError(f"the fake server waited {timeout_s} s in vain; it saw {self.requests}")

    def __enter__(self) -> "FakeServer":
        if self._tls and self.ca_file is None:
            self.ca_file = certificate(Path(self._stack.enter_context(tempfile.TemporaryDirectory())))
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(started.set)), name="fake-server", daemon=True
        )
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._stack.close()

    async def _serve(self, started: Callable[[], object]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        context = None
        if self.ca_file is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.ca_file)
        server = await asyncio.start_server(
            self._connected, "127.0.0.1", self._port, ssl=context, limit=1 << 20
        )
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started()
        await self._stop.wait()
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        connection = self._connections
        self._writers.add(writer)
        try:
            while (request := await self._read(reader, connection)) is not None:
                await self._respond(request, reader, writer)
                await writer.drain()
                if request.headers.get("connection") == "close" or request.outcome != "sent":
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Recorded | None:
        first = await reader.read(1)
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        if not first:
            return None
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.rstrip().split("\r\n")
        method, path, _ = line.split(" ")
        headers = {
            name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)
        }
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        try:
            body = msgspec.json.decode(raw) if raw else None
        except msgspec.DecodeError:
            body = None
        return Recorded(method, path, headers, raw, body, connection, now)

    async def _respond(
        self, request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        bare = request.path.partition("?")[0]
        if bare.startswith("/_"):
            request.outcome = "sent"
            send_document(writer, self._control(bare, request))
            return
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        try:
            answer = self._answer(request, dialect_of(bare))
            if isinstance(answer, Document):
                send_document(writer, answer, head_only=request.method == "HEAD")
                await writer.drain()
                request.outcome = "sent"
            else:
                request.outcome = await send_steps(answer, reader, writer)
        except OSError:
            request.outcome = "left"
        finally:
            request.done_s = time.clock_gettime(time.CLOCK_MONOTONIC)
            with self._changed:
                self._changed.notify_all()

    def _control(self, path: str, request: Recorded) -> Document:
        if path == "/_log":
            log = [recorded.summary() for recorded in self.requests]
            return json_document(200, {"log": log, "problems": self.problems})
        wanted = request.body or {}
        try:
            if "script" in wanted:
                self.script(*SCRIPT.decode(dump(wanted["script"])))
            else:
                self.script(msgspec.convert({"type": "Scenario", **wanted}, Scenario))
        except msgspec.ValidationError as error:
            return json_document(400, {"error": str(error)})
        self.requests.clear()
        self.problems.clear()
        return json_document(200, {})

    def _answer(self, request: Recorded, dialect: Dialect | None) -> Document | Iterable[Step]:
        if dialect is None or request.method != "POST":
            known = request.path.endswith("/models")
            models = {"object": "list", "data": [{"id": "fake-model", "object": "model"}]}
            return json_document(200, models) if known else json_document(404, {"error": "no such page"})
        if self._key is not None and self._key != request.key:
            return json_document(401, dialect.error(401, "", "invalid x-api-key"))
        body = request.body
        problems = dialect.validate(body) if isinstance(body, dict) else ["the body is not a JSON object"]
        self.problems += problems
        if problems and not self._lenient:
            return json_document(400, dialect.error(400, "", "; ".join(problems)))
        answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        request.answer = type(answer).__name__
        if isinstance(answer, Scenario):
            request.answer = answer.scenario
            if answer.scenario == "flood":
                wanted = (body.get("stream_options") or {}).get("include_usage")
                return flood(dialect, dialect.model(request.path, body), answer.deltas, bool(wanted))
            answer = answer.answer(dialect.results(body), dialect.tools(body))
        if isinstance(answer, Status | Overflow | Raw):
            return document(answer, dialect)
        if isinstance(answer, Answer) and not dialect.streams(request.path, body):
            return json_document(200, dialect.whole(answer, body))
        if isinstance(answer, Silence) and answer.before_head:
            return ["hold"]
        return play(answer, dialect, body)


@functools.lru_cache(maxsize=4)
def flood(dialect: Dialect, model: str, deltas: int, with_usage: bool) -> list[Step]:
    """Encoded once, so that the client is what gets measured."""
    body = {"model": model, "stream_options": {"include_usage": with_usage}}
    events = list(dialect.events(Scenario("flood", deltas).answer(0, []), body))
    starts = range(0, len(events), FLOOD_EVENTS)
    return [b"".join(events[start : start + FLOOD_EVENTS]) for start in starts]


def json_document(status: int, content: Any) -> Document:
    return Document(status, dump(content), {"content-type": "application/json"})


def send_document(writer: asyncio.StreamWriter, answer: Document, *, head_only: bool = False) -> None:
    headers = {**answer.headers, "content-length": str(len(answer.content))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(
        f"HTTP/1.1 {answer.status} Fake\r\n{head}\r\n".encode() + (b"" if head_only else answer.content)
    )


async def send_steps(
    steps: Iterable[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> str:
    """Send a stream; returns its outcome."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    for step in steps:
        if step == "cut":
            return "cut"
        if isinstance(step, bytes):
            writer.write(head + b"%x\r\n%b\r\n" % (len(step), step))
            head = b""
            await writer.drain()
        elif await leaves(reader, None if step == "hold" else float(step)):
            return "left"
    writer.write(head + b"0\r\n\r\n")
    await writer.drain()
    return "sent"


async def leaves(reader: asyncio.StreamReader, within_s: float | None) -> bool:
    """Whether the client goes away. It sends nothing while it waits for its answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            return await reader.read(1) == b""
    return False


def certificate(folder: Path, *, name: str = "localhost") -> Path:
    """A self-signed certificate for loopback and for `name`, with its key, in one file."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:{name}"]
    files = ["-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + cert.read_bytes())
    return both


def main() -> int:
    parser = argparse.ArgumentParser(description="A model server with scripted answers, on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, metavar="FILE.json", help="answers, as a list")
    parser.add_argument(
        "--cert", type=Path, metavar="FILE.pem", help="speak https with this key and certificate"
    )
    parser.add_argument("--lenient", action="store_true", help="answer invalid requests too")
    arguments = parser.parse_args()
    server = FakeServer(port=arguments.port, certificate=arguments.cert, lenient=arguments.lenient)
    if arguments.script is not None:
        server.script(*SCRIPT.decode(arguments.script.read_bytes()))
    with suppress(KeyboardInterrupt):
        asyncio.run(server._serve(lambda: print(server.url, flush=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
