"""What event streams cost: many readers of one session with dropped connections, to bare starlette. Ratios.

.venv/bin/python bench/serve.py [--json] [--readers N]
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

EVENTS = 1_000
DROPS = 5
LINE = (
    b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"%d "}}'
)

# Both servers send the same events to the same readers, and print their CPU time at the end.
BARE = """
import asyncio, resource, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
LINE, EVENTS = sys.argv[1].encode(), int(sys.argv[2])
frames, queues = [], set()

async def events(request):
    at = int(request.headers.get("last-event-id", "-1")) + 1
    queue = asyncio.Queue()
    for frame in frames[at:]:
        queue.put_nowait(frame)
    queues.add(queue)
    async def stream():
        try:
            yield b": connected\\n\\n"
            while True:
                yield await queue.get()
        finally:
            queues.discard(queue)
    return StreamingResponse(stream(), media_type="text/event-stream")

async def write(request):
    for number in range(EVENTS):
        frames.append(b"id: %d\\ndata: %b\\n\\n" % (number, LINE % number))
        for queue in queues:
            queue.put_nowait(frames[-1])
        if number % 10 == 0:
            await asyncio.sleep(0)
    return StreamingResponse(iter(()))

async def cpu(request):
    used = resource.getrusage(resource.RUSAGE_SELF)
    return StreamingResponse(iter([str(used.ru_utime + used.ru_stime).encode()]))

app = Starlette(routes=[Route("/events", events), Route("/write", write), Route("/cpu", cpu)])
uvicorn.run(app, port=int(sys.argv[3]), http="httptools", log_level="critical", access_log=False)
"""
OURS = """
import asyncio, resource, socket, sys
from pathlib import Path
from starlette.responses import StreamingResponse
from starlette.routing import Route
from tau.modes.serve import server
from tau.sdk import SessionOptions
LINE, EVENTS = sys.argv[1].encode(), int(sys.argv[2])

async def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", int(sys.argv[3])))
    root = Path.cwd().resolve()
    def started(running, pool):
        # The benchmark's own routes, in front of the others.
        async def go(request):
            ring = next(iter(pool.live.values())).ring
            for number in range(EVENTS):
                ring.append(LINE % number)
                if number % 10 == 0:
                    await asyncio.sleep(0)
            return StreamingResponse(iter(()))
        async def cpu(request):
            used = resource.getrusage(resource.RUSAGE_SELF)
            return StreamingResponse(iter([str(used.ru_utime + used.ru_stime).encode()]))
        routes = running.config.app._app.router.routes
        routes[:0] = [Route("/write", go), Route("/cpu", cpu)]
    options = server.ServeOptions(
        session=SessionOptions(save=False, provider="fake", model="fake-model"), root=root, token="0" * 64
    )
    await server.run(options, listener, started)

asyncio.run(main())
"""


def main() -> None:
    readers = int(sys.argv[sys.argv.index("--readers") + 1]) if "--readers" in sys.argv else 200
    with tempfile.TemporaryDirectory() as folder:
        bare = measure(BARE, folder, readers)
        ours = measure(OURS, folder, readers)
    results = {
        "events lost or repeated": float(bare[1] + ours[1]),
        "CPU to bare starlette (2)": ours[0] / bare[0],
    }
    if "--json" in sys.argv:
        print(json.dumps(results, indent=2))
        return
    for name, value in results.items():
        print(f"{name:48} {value:9.2f}")


def measure(program: str, folder: str, readers: int) -> tuple[float, int]:
    """The CPU time of the server from the first reader on, and the number of wrong events."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "x"}
    models = {"providers": {"fake": {**provider, "models": [{"id": "fake-model"}]}}}
    (Path(folder) / "models.json").write_text(json.dumps(models))
    child = subprocess.Popen(
        [sys.executable, "-c", program, LINE.decode(), str(EVENTS), str(port)],
        cwd=folder,
        env={**os.environ, "TAU_HOME": folder},
        stderr=subprocess.DEVNULL,  # asyncio warns of every dropped connection
    )
    try:
        return asyncio.run(_read_all(port, readers))
    finally:
        child.terminate()
        child.wait()


async def _read_all(port: int, readers: int) -> tuple[float, int]:
    for _ in range(600):
        with suppress(OSError):
            await _get(port, "/cpu")
            break
        await asyncio.sleep(0.05)
    path, start = "/events", b""
    if id := await _session(port):
        path = f"/v1/sessions/{id}/events"
        view = json.loads(await _get(port, f"/v1/sessions/{id}"))
        start = view["lastEventId"].encode()
    before = float(await _get(port, "/cpu"))
    found = await asyncio.gather(_get(port, "/write"), *(_follow(port, path, start) for _ in range(readers)))
    after = float(await _get(port, "/cpu"))
    wrong = sum(numbers != list(range(EVENTS)) for numbers in found[1:])
    return after - before, wrong


async def _session(port: int) -> str:
    body = b"{}"
    data = await _get(port, "/v1/sessions", b"POST", body)
    try:
        return str(json.loads(data)["id"])
    except ValueError:
        return ""


async def _open(
    port: int, path: str, method: bytes = b"GET", body: bytes = b"", last: bytes = b""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = b"%b %b HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nauthorization: Bearer %b\r\n" % (
        method,
        path.encode(),
        b"0" * 64,
    )
    head += b"last-event-id: %b\r\n" % last if last else b""
    head += b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body) if body else b""
    writer.write(head + b"\r\n" + body)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def _get(port: int, path: str, method: bytes = b"GET", body: bytes = b"") -> bytes:
    reader, writer = await _open(port, path, method, body)
    data = await reader.read()
    writer.close()
    if b"\r\n" in data and not data.startswith(b"{"):  # chunked
        _, _, data = data.partition(b"\r\n")
        data = data.split(b"\r\n")[0]
    return data


async def _follow(port: int, path: str, last: bytes) -> list[int]:
    """The numbers of all events, over connections that are dropped."""
    seen: list[int] = []
    for part in range(DROPS + 1):
        until = EVENTS * (part + 1) // (DROPS + 1)
        reader, writer = await _open(port, path, last=last)
        while len(seen) < until:
            line = await reader.readline()
            if line.startswith(b"id: "):
                last = line[4:].strip()
            elif line.startswith(b"data: "):
                seen.append(int(json.loads(line[6:])["assistantMessageEvent"]["delta"]))

        writer.close()
    return seen


if __name__ == "__main__":
    main()
