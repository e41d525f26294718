"""A stateful Hindsight server on loopback that checks the shape of every request, as version 1.1.0 does."""

import asyncio
import json
import queue
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Meta, Struct

from tests.support.raw_server import raw_server

Tags = Literal["any", "all", "any_strict", "all_strict", "exact"]
ROUTE = re.compile(r"/v1/default/banks/([^/]+)(/.*)?")


class Profile(Struct, forbid_unknown_fields=True):
    name: str | None = None
    reflect_mission: str | None = None
    retain_mission: str | None = None


class Item(Struct, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1)]
    timestamp: str | None = None
    context: str | None = None
    metadata: dict[str, str] | None = None
    document_id: str | None = None
    tags: list[str] | None = None
    update_mode: Literal["replace", "append"] | None = None


class Retain(Struct, forbid_unknown_fields=True):
    items: list[Item]
    is_async: bool = msgspec.field(name="async", default=False)


class Recall(Struct, forbid_unknown_fields=True):
    query: str
    types: list[Literal["world", "experience", "observation"]] | None = None
    budget: Literal["low", "mid", "high"] | None = None
    max_tokens: int = 4096
    tags: list[str] | None = None
    tags_match: Tags = "any"


class Reflect(Struct, forbid_unknown_fields=True):
    query: str
    budget: Literal["low", "mid", "high"] | None = None
    context: str | None = None
    tags: list[str] | None = None
    tags_match: Tags = "any"


class NewModel(Struct, forbid_unknown_fields=True):
    name: str
    source_query: str
    id: str | None = None
    tags: list[str] | None = None


class Asked(Struct):
    """A request as it came."""

    method: str
    bank: str
    path: str
    body: Any
    key: str


class FakeHindsight:
    """`fail` may answer a request itself, with a status and a body; `key` is the one that it accepts."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.url = ""
        self.requests: list[Asked] = []
        self.banks: dict[str, Profile] = {}
        self.documents: dict[tuple[str, str], Item] = {}
        self.models: dict[tuple[str, str], dict[str, Any]] = {}
        self.pause_s = 0.0
        self.fail: Callable[[Asked], tuple[int, bytes] | None] = lambda asked: None

    @property
    def texts(self) -> list[str]:
        return [item.content for item in self.documents.values()]

    def asked(self, path: str) -> list[Asked]:
        return [each for each in self.requests if each.path == path]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split(" ", 2)
            lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
            body = await reader.readexactly(int(lines.get("content-length", "0")))
            url = urlsplit(target)
            route = ROUTE.fullmatch(url.path)
            bank, path = (unquote(route[1]), route[2] or "") if route else ("", url.path)
            asked = Asked(
                method, bank, path, json.loads(body) if body else None, lines.get("authorization", "")
            )
            self.requests.append(asked)
            await asyncio.sleep(self.pause_s)
            status, said = self.fail(asked) or self._answer(asked, body, parse_qs(url.query))
            writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(said)}\r\n\r\n".encode() + said)
            await writer.drain()

    def _answer(self, asked: Asked, body: bytes, query: dict[str, list[str]]) -> tuple[int, bytes]:
        if self.key and asked.key != f"Bearer {self.key}":
            return 401, b'{"detail": "Invalid API key"}'
        if not asked.bank:
            return 404, b'{"detail": "Not Found"}'
        try:
            return 200, json.dumps(self._act(asked, body, query)).encode()
        except msgspec.ValidationError as error:
            detail = [{"loc": ["body"], "msg": str(error), "type": "value_error"}]
            return 422, json.dumps({"detail": detail}).encode()
        except KeyError as error:
            return 404, json.dumps({"detail": f"No {error}"}).encode()
        except FileExistsError:
            return 409, b'{"detail": "It exists already"}'

    def _act(self, asked: Asked, body: bytes, query: dict[str, list[str]]) -> Any:
        bank = asked.bank
        match asked.method, asked.path.strip("/").split("/"):
            case "PUT", [""]:
                self.banks[bank] = msgspec.json.decode(body, type=Profile)
                return {"bank_id": bank, "name": bank, "disposition": {}, "mission": ""}
            case "POST", ["memories"]:
                self.banks[bank]
                wanted = msgspec.json.decode(body, type=Retain)
                for item in wanted.items:
                    self.documents[bank, item.document_id or str(len(self.documents))] = item
                count = len(wanted.items)
                return {"success": True, "bank_id": bank, "items_count": count, "async": wanted.is_async}
            case "POST", ["memories", "recall"]:
                return {"results": list(self._find(bank, msgspec.json.decode(body, type=Recall)))}
            case "POST", ["reflect"]:
                found = self._find(bank, msgspec.json.decode(body, type=Reflect))
                return {"text": " ".join(f"Known: {one['text']}" for one in found)}
            case "GET", ["stats"]:
                return {"bank_id": bank, "total_nodes": len(self.documents), "pending_operations": 0}
        return self._act_on_models(asked, body, query)

    def _act_on_models(self, asked: Asked, body: bytes, query: dict[str, list[str]]) -> Any:
        bank = asked.bank
        match asked.method, asked.path.strip("/").split("/"):
            case "GET", ["mental-models"]:
                tags = set(query.get("tags", []))
                shown = [
                    model if query.get("detail") == ["content"] else {**model, "content": None}
                    for (place, _), model in self.models.items()
                    if place == bank and (not tags or tags & set(model["tags"]))
                ]
                return {"items": shown, "total": len(shown), "limit": 100, "offset": 0}
            case "POST", ["mental-models"]:
                new = msgspec.json.decode(body, type=NewModel)
                id = new.id or new.name
                if (bank, id) in self.models:
                    raise FileExistsError
                self.models[bank, id] = {
                    "id": id,
                    "bank_id": bank,
                    "name": new.name,
                    "source_query": new.source_query,
                    "content": f"Answer to: {new.source_query}",
                    "tags": new.tags or [],
                }
                return {"mental_model_id": id, "operation_id": "1"}
            case "GET", ["mental-models", id]:
                return self.models[bank, id]
            case "POST", ["mental-models", id, "refresh"]:
                self.models[bank, id]["content"] += " Refreshed."
                return {"operation_id": "2", "status": "queued"}
            case "GET", ["mental-models", id, "history"]:
                model = self.models[bank, id]
                return [
                    {"previous_content": "Earlier", "changed_at": "2026-01-01T00:00:00Z", "now": model["id"]}
                ]
            case "DELETE", ["mental-models", id]:
                del self.models[bank, id]
                return {}
        raise KeyError(asked.path)

    def _find(self, bank: str, wanted: Recall | Reflect) -> list[dict[str, Any]]:
        self.banks[bank]
        words = set(re.findall(r"\w{3,}", wanted.query.lower()))
        return [
            {
                "id": document,
                "text": item.content,
                "type": "world",
                "tags": item.tags or [],
                "mentioned_at": item.timestamp,
                "document_id": document,
                "entities": None,
            }
            for (place, document), item in self.documents.items()
            if place == bank
            and words & set(re.findall(r"\w{3,}", item.content.lower()))
            and (not wanted.tags or not item.tags or set(wanted.tags) & set(item.tags))
        ]


@asynccontextmanager
async def fake_hindsight(key: str = "") -> AsyncIterator[FakeHindsight]:
    server = FakeHindsight(key)
    async with raw_server(server.talk) as place:
        server.url = f"http://{place}"
        yield server


@contextmanager
def hindsight_thread() -> Iterator[FakeHindsight]:
    """The server in a thread with its own event loop, for commands that run a loop themselves."""
    ready: queue.Queue[tuple[FakeHindsight, asyncio.AbstractEventLoop, asyncio.Event]] = queue.Queue()

    async def main() -> None:
        async with fake_hindsight() as server:
            done = asyncio.Event()
            ready.put((server, asyncio.get_running_loop(), done))
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    server, loop, done = ready.get(timeout=10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
