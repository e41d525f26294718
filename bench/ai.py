"""What the model layer costs: decoding tables, `--list-models`, long streams. Ratios, in CPU time.

.venv/bin/python bench/ai.py [--json]
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from tau.ai import dialect as d
from tau.ai.apis import dialect
from tau.ai.assembler import Assembler
from tau.ai.catalog import DATA, ModelRow, load_catalog
from tau.ai.model import Compat, Model
from tau.ai.text_calls.answer import AnswerReader
from tau.base.errors import ProviderError

DELTAS = 20_000
WINDOW = 1_000
LIMIT = 1.2  # of the last deltas to the first


def main() -> None:
    results = {**decoding(), **listing(), **streaming(), **reading()}
    if "--json" in sys.argv:
        print(json.dumps(results, indent=2))
        return
    for name, value in results.items():
        print(f"{name:44} {value:9.3f}")


def best_ms(work: Callable[[], object], times: int = 25) -> float:
    """The shortest CPU time: the rest is noise of the machine."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found) * 1000


def decoding() -> dict[str, float]:
    tables = [path.read_bytes() for path in (DATA / "models").glob("*.json")]
    largest = max(tables, key=len)
    return {
        "decode largest table, ms (limit 0.8)": best_ms(lambda: decode(largest)),
        "decode all tables, ms (limit 5.6)": best_ms(lambda: [decode(table) for table in tables]),
        "find one model of the largest, ms": best_ms(
            lambda: load_catalog().model("openrouter", "openai/gpt-5.4")
        ),
        "all models, ms": best_ms(lambda: load_catalog().models, 10),
    }


def decode(table: bytes) -> list[ModelRow]:
    return msgspec.json.decode(table, type=list[ModelRow])


def listing() -> dict[str, float]:
    """CPU time of `tau --list-models`, and its ratio to `tau --list-models` of one provider."""
    return {
        "--list-models, ms of CPU": min(command_ms("--list-models") for _ in range(5)),
        "--list-models --provider anthropic, ms of CPU": min(
            command_ms("--list-models", "--provider", "anthropic") for _ in range(5)
        ),
    }


def command_ms(*flags: str) -> float:
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "TAU_HOME": home}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "tau", *flags]
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def streaming() -> dict[str, float]:
    """How much more the last deltas of a long stream cost than the first, by kind."""
    kinds: dict[str, tuple[list[d.Delta], d.Delta]] = {
        "text": ([], d.TextPiece("word ")),
        "thinking": ([], d.ThinkingPiece("word ")),
        "arguments": ([d.CallStart(0, "c", "write")], d.CallPiece(0, "word ")),
        "custom input": ([d.CallStart(0, "c", "edit", "apply_patch")], d.CallPiece(0, "word ")),
    }
    return {
        f"last {WINDOW:,} of {DELTAS:,} to the first, {kind} (limit {LIMIT})": min(
            growth(start, piece) for _ in range(7)
        )
        for kind, (start, piece) in kinds.items()
    }


def growth(start: list[d.Delta], piece: d.Delta) -> float:
    model = Model(id="m", name="M", api="a", provider="p", base_url="")
    assembler = Assembler(model, 0)
    for delta in start:
        assembler.feed(delta)
    costs = []
    for _ in range(DELTAS // WINDOW):
        began = time.process_time()
        for _ in range(WINDOW):
            assembler.feed(piece)
        costs.append(time.process_time() - began)
    return costs[-1] / costs[1]  # the very first ones warm up


class Lines:
    """A transport whose answer is these chunks."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks
        self.status = 200
        self.headers = {"content-type": "text/event-stream"}

    @asynccontextmanager
    async def open(self, *_: Any, **__: Any) -> AsyncIterator["Lines"]:
        yield self

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk

    async def read(self, limit: int = 0) -> bytes:
        return b""

    async def close(self) -> None:
        pass


def reading() -> dict[str, float]:
    """The same for whole dialects, from bytes to the message, and for calls that are written as text."""
    held = '<tool_call>{"name": "write", "arguments": {"text": "'
    call = {"index": 0, "id": "c", "function": {"name": "write", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": "word "}}
    kinds: dict[str, tuple[str, list[bytes], bytes]] = {
        "ollama-chat text": ("ollama-chat", [], line({"content": "word "})),
        "ollama-chat thinking": ("ollama-chat", [], line({"thinking": "word "})),
        "ollama-chat written call": ("ollama-chat", [line({"content": held})], line({"content": "word "})),
        "openai-completions text": ("openai-completions", [], chunk({"content": "word "})),
        "openai-completions thinking": ("openai-completions", [], chunk({"reasoning": "word "})),
        "openai-completions arguments": (
            "openai-completions",
            [chunk({"tool_calls": [call]})],
            chunk({"tool_calls": [more]}),
        ),
    }
    return {
        f"last {WINDOW:,} of {DELTAS:,} to the first, {kind} (limit {LIMIT})": min(
            asyncio.run(read_growth(*parts)) for _ in range(5)
        )
        for kind, parts in kinds.items()
    }


def line(message: dict[str, Any]) -> bytes:
    return json.dumps({"message": message, "done": False}).encode() + b"\n"


def chunk(delta: dict[str, Any]) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


async def read_growth(api: str, start: list[bytes], piece: bytes) -> float:
    compat = Compat(text_calls=True, think_tags="written", thinking_field="same")
    model = Model(id="m", name="M", api=api, provider="p", base_url="http://x", compat=compat)
    tool = d.ToolSpec("write", "", {"type": "object", "properties": {"text": {"type": "string"}}})
    request = d.Request(system="", messages=[], tools=[tool], max_tokens=9)
    endpoint = d.Endpoint(base_url="http://x", key=None)
    reader, assembler = AnswerReader(model, request), Assembler(model, 0)
    lines = Lines([*start, *[piece] * DELTAS])
    costs, seen, began = [], 0, time.process_time()
    with suppress(ProviderError):  # the answer has no end
        async for delta in dialect(api)(model, request, endpoint, lines):
            for found in reader.read(delta):
                assembler.feed(found)
            seen += 1
            if seen % WINDOW == 0:
                costs.append(time.process_time() - began)
                began = time.process_time()
    return costs[-1] / min(costs[1:4])  # the very first ones warm up


if __name__ == "__main__":
    main()
