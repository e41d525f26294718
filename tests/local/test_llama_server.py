"""The real llama.cpp server with the demo weights: the protocol our dialects rely on, never its prose.

A grammar or a one-value enum leaves the sampler a single path, so that the text is known in advance.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from tau.ai.apis import anthropic_messages, openai_completions, openai_responses
from tau.ai.dialect import (
    CallEnd,
    CallPiece,
    CallStart,
    Delta,
    Done,
    Endpoint,
    Request,
    TextPiece,
    Tokens,
    ToolSpec,
)
from tau.ai.http import HttpTransport
from tau.ai.local.discovery import discover
from tau.ai.local.embedded import EmbeddedServer
from tau.ai.model import Model
from tau.ai.transport import Response, Timeouts
from tau.ai.wire import UserMessage
from tau.base.errors import ProviderError
from tau.base.run import LocalRunner

pytestmark = pytest.mark.local

READ = ToolSpec(
    "read",
    "Read a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string", "enum": ["notes.txt"]}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
READ_TOOL = {
    "type": "function",
    "function": {"name": "read", "description": "Read a file.", "parameters": READ.parameters},
}
QUESTION = [{"role": "user", "content": "Hi"}]
FORCED_CALL = {
    "tool_choice": "required",
    "messages": [*QUESTION, {"role": "assistant", "content": "<tool_call>"}],
}
PREFILLED = [*QUESTION, {"role": "assistant", "content": "<tool_call>"}]
PREFILL = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "<tool_call>", "annotations": []}],
}
DIALECTS = [openai_completions, openai_responses, anthropic_messages]
TOO_LONG = "a b " * 5_000  # tokens: 10,000


@pytest.fixture(scope="session")
def server(demo_weights: Path) -> Iterator[EmbeddedServer]:
    """One server for all tests, run by an event loop in a separate thread."""
    started: list[EmbeddedServer | BaseException] = []
    ready, over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with EmbeddedServer(demo_weights, LocalRunner()) as server:
            started.append(server)
            ready.set()
            await asyncio.to_thread(over.wait)

    def look_after() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            started.append(error)
            ready.set()

    thread = threading.Thread(target=look_after)
    thread.start()
    ready.wait()
    if isinstance(started[0], EmbeddedServer):
        yield started[0]
    over.set()
    thread.join()
    for outcome in started:
        if isinstance(outcome, BaseException):
            raise outcome


class Client:
    """Queries the server like an independent program."""

    def __init__(self, server: EmbeddedServer, http: HttpTransport) -> None:
        self.root = server.model.base_url.removesuffix("/v1")
        self.key = server.key
        self.http = http

    def open(self, path: str, body: object = None) -> AbstractAsyncContextManager[Response]:
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        sent = None if body is None else json.encode(body)
        return self.http.open("POST" if sent else "GET", self.root + path, headers=headers, body=sent)

    async def ask(self, path: str, body: object = None) -> tuple[int, Any]:
        async with self.open(path, body) as response:
            return response.status, json.decode(await response.read())

    async def events(self, path: str, body: object) -> list[str]:
        """The data of each event."""
        async with self.open(path, body) as response:
            assert (response.status, response.headers["content-type"]) == (200, "text/event-stream")
            text = (await response.read()).decode()
        assert text.endswith("\n\n")
        return [
            line[6:]
            for event in text.split("\n\n")
            for line in event.split("\n")
            if line.startswith("data: ")
        ]


def with_client(server: EmbeddedServer, work: Any) -> Any:
    async def main() -> Any:
        http = HttpTransport({})
        try:
            return await work(Client(server, http))
        finally:
            await http.close()

    return asyncio.run(main())


def text_of(events: list[str]) -> str:
    chunks = [json.decode(event) for event in events if event != "[DONE]"]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def test_answer_is_a_stream_of_chunks_with_finish_reason_and_usage(server: EmbeddedServer) -> None:
    body = {
        "messages": QUESTION,
        "grammar": 'root ::= "ping pong"',
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    *chunks, last = with_client(server, lambda client: client.events("/v1/chat/completions", body))
    assert last == "[DONE]"
    decoded = [json.decode(chunk) for chunk in chunks]
    assert {chunk["object"] for chunk in decoded} == {"chat.completion.chunk"}
    assert {chunk["model"] for chunk in decoded} == {"smollm2-135m"}
    choices = [chunk["choices"][0] for chunk in decoded if chunk["choices"]]
    assert choices[0]["delta"] == {"role": "assistant", "content": None}
    assert text_of(chunks) == "ping pong"
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]
    usage = decoded[-1]["usage"]
    assert decoded[-1]["choices"] == [] and usage["prompt_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_tool_call_is_parsed_into_a_native_one(server: EmbeddedServer) -> None:
    body = {"tools": [READ_TOOL], "stream": True, "max_tokens": 60, **FORCED_CALL}
    *chunks, _ = with_client(server, lambda client: client.events("/v1/chat/completions", body))
    choices = [choice for chunk in chunks for choice in json.decode(chunk)["choices"]]
    parts = [part for choice in choices for part in choice["delta"].get("tool_calls", [])]
    first = [part for part in parts if part["index"] == 0]
    assert first[0]["type"] == "function" and first[0]["id"] and first[0]["function"]["name"] == "read"
    arguments = "".join(part["function"].get("arguments", "") for part in first)
    assert json.decode(arguments) == {"path": "notes.txt"}
    assert not any(choice["delta"].get("content") for choice in choices)


def test_our_template_shows_tools_calls_and_results_to_the_model(server: EmbeddedServer) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "read", "arguments": '{"path": "notes.txt"}'}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Read"}, {"type": "text", "text": "it"}]},
        {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "2"}]},
        {"role": "tool", "tool_call_id": "1", "content": "milk"},
        {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "bread"}]},
        {"role": "assistant", "content": "Milk, bread."},
        {"role": "user", "content": "Thanks"},
    ]
    status, answer = with_client(
        server, lambda client: client.ask("/apply-template", {"messages": messages, "tools": [READ_TOOL]})
    )
    assert status == 200
    head, _, talk = answer["prompt"].partition("<|im_end|>\n")
    assert head.startswith("<|im_start|>system\nBe brief.\n\n")
    assert '<tools>\n{"name": "read", "description": "Read a file.", "parameters": {"type": "object"' in head
    shown = '<tool_call>{"name": "read", "arguments": {"path": "notes.txt"}}</tool_call>'
    assert talk == (
        "<|im_start|>user\nRead\nit<|im_end|>\n"
        f"<|im_start|>assistant\n{shown}\n{shown}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nmilk\n</tool_response>\n<tool_response>\nbread\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\nMilk, bread.<|im_end|>\n"
        "<|im_start|>user\nThanks<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_without_tools_the_prompt_mentions_none(server: EmbeddedServer) -> None:
    _, answer = with_client(server, lambda client: client.ask("/apply-template", {"messages": QUESTION}))
    assert "tool" not in answer["prompt"]


async def free_slot(client: Client) -> dict[str, Any]:
    while True:
        _, (slot,) = await client.ask("/slots")
        if not slot["is_processing"]:
            assert isinstance(slot, dict)
            return slot
        await asyncio.sleep(0.02)


def test_hanging_up_in_mid_stream_frees_the_only_slot(server: EmbeddedServer) -> None:
    async def main(client: Client) -> tuple[dict[str, Any], list[str]]:
        endless = {
            "messages": QUESTION,
            "grammar": 'root ::= ("ping ")+',
            "stream": True,
            "max_tokens": 7_000,
        }
        async with client.open("/v1/chat/completions", endless) as response:
            async for _ in response.chunks():
                break
        slot = await free_slot(client)
        after = {"messages": QUESTION, "grammar": 'root ::= "pong"', "stream": True}
        return slot, await client.events("/v1/chat/completions", after)

    slot, events = with_client(server, main)
    assert slot["next_token"][0]["n_decoded"] < 1_000
    assert text_of(events) == "pong"


def test_prompt_larger_than_the_context_is_refused_with_its_size(server: EmbeddedServer) -> None:
    body = {"messages": [{"role": "user", "content": TOO_LONG}], "stream": True}
    status, answer = with_client(server, lambda client: client.ask("/v1/chat/completions", body))
    error = answer["error"]
    assert (status, error["type"], error["n_ctx"]) == (400, "exceed_context_size_error", 8192)
    assert error["message"] == (
        f"request ({error['n_prompt_tokens']} tokens) exceeds the available context size (8192 tokens), "
        "try increasing it"
    )


@pytest.mark.parametrize("path", ["/v1/models", "/props", "/slots", "/metrics"])
def test_without_the_key_nothing_is_disclosed(server: EmbeddedServer, path: str) -> None:
    async def main(client: Client) -> tuple[int, Any]:
        client.key = "wrong"
        return await client.ask(path)

    status, answer = with_client(server, main)
    assert (status, answer["error"]["type"]) == (401, "authentication_error")


def test_browsers_are_rejected(server: EmbeddedServer) -> None:
    async def main(client: Client) -> list[tuple[int, str]]:
        seen = []
        for path in ("/v1/models", "/"):
            headers = {"origin": "http://127.0.0.1:3000", "authorization": f"Bearer {client.key}"}
            async with client.http.open("GET", client.root + path, headers=headers) as response:
                seen.append((response.status, response.headers.get("access-control-allow-origin", "")))
        return seen

    assert with_client(server, main) == [(200, ""), (404, "")]


def test_server_is_discovered_like_any_other_llama_cpp(server: EmbeddedServer) -> None:
    class WithKey:
        """Adds what a server without a key does not need."""

        def __init__(self, client: Client) -> None:
            self.client = client

        def open(self, method: str, url: str, **options: Any) -> AbstractAsyncContextManager[Response]:
            return self.client.open(url.removeprefix(self.client.root))

        async def close(self) -> None: ...

    async def main(client: Client) -> Any:
        return await discover(WithKey(client), {}, 20, {"llama.cpp": client.root})

    (found,) = with_client(server, main)
    (model,) = found.models
    assert (model.id, model.context_window) == ("smollm2-135m", 8192)
    assert "--jinja" not in found.note


class Forcing:
    """Our transport, with test-only fields added to each request."""

    def __init__(self, http: HttpTransport, more: Mapping[str, object]) -> None:
        self.http = http
        self.more = more

    def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeouts: Timeouts | None = None,
    ) -> AbstractAsyncContextManager[Response]:
        changed = json.encode({**json.decode(body or b"{}"), **self.more})
        return self.http.open(method, url, headers=headers, body=changed, timeouts=timeouts)

    async def close(self) -> None:
        await self.http.close()


def answer(
    server: EmbeddedServer, dialect: Any, more: Mapping[str, object], *, tools: bool = False, key: str = ""
) -> list[Delta]:
    """What one of our dialects makes of the server's answer."""
    model: Model = server.model
    request = Request(
        system="Be brief.", messages=[UserMessage("Hi", 0)], tools=[READ] if tools else [], max_tokens=60
    )
    endpoint = Endpoint(base_url=model.base_url, key=key or server.key)

    async def main() -> list[Delta]:
        http = Forcing(HttpTransport({}), more)
        stream: AsyncIterator[Delta] = dialect.stream(model, request, endpoint, http)
        try:
            return [delta async for delta in stream]
        finally:
            await http.close()

    return run(main())


def run(work: Coroutine[Any, Any, list[Delta]]) -> list[Delta]:
    return asyncio.run(work)


def total(deltas: list[Delta]) -> tuple[int, int]:
    """Tokens read and written, from the last usage reported."""
    read = written = 0
    for tokens in deltas:
        if isinstance(tokens, Tokens):
            if tokens.input is not None:
                read = tokens.input + (tokens.cache_read or 0)
            written = tokens.output if tokens.output is not None else written
    return read, written


def test_our_completions_dialect_reads_text_and_counts(server: EmbeddedServer) -> None:
    deltas = answer(server, openai_completions, {"grammar": 'root ::= "ping pong"'})
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextPiece)) == "ping pong"
    assert deltas[-1] == Done("stop")
    read, written = total(deltas)
    assert read > 5 and written > 1


def test_our_completions_dialect_keeps_the_first_tool_call(server: EmbeddedServer) -> None:
    deltas = answer(server, openai_completions, FORCED_CALL, tools=True)
    (start,) = [delta for delta in deltas if isinstance(delta, CallStart)]
    assert start.name == "read" and start.id
    pieces = "".join(delta.json for delta in deltas if isinstance(delta, CallPiece))
    assert json.decode(pieces) == {"path": "notes.txt"}
    assert CallEnd(start.key) in deltas and isinstance(deltas[-1], Done)


@pytest.mark.parametrize(
    ("dialect", "limit"), [(openai_responses, "max_output_tokens"), (anthropic_messages, "max_tokens")]
)
def test_our_other_dialects_read_the_same_server(server: EmbeddedServer, dialect: Any, limit: str) -> None:
    """The server ignores a grammar here: only the shape counts."""
    deltas = answer(server, dialect, {limit: 4})
    assert [delta for delta in deltas if isinstance(delta, TextPiece)]
    assert isinstance(deltas[-1], Done)
    read, written = total(deltas)
    assert read > 5 and 1 <= written <= 4


@pytest.mark.parametrize(
    ("dialect", "forced"),
    [
        (openai_responses, {"tool_choice": "required", "input": [*QUESTION, PREFILL]}),
        (anthropic_messages, {"tool_choice": {"type": "any"}, "messages": PREFILLED}),
    ],
)
def test_our_other_dialects_read_a_tool_call(server: EmbeddedServer, dialect: Any, forced: Any) -> None:
    deltas = answer(server, dialect, forced, tools=True)
    start = next(delta for delta in deltas if isinstance(delta, CallStart))
    assert start.name == "read" and start.id
    pieces = [delta.json for delta in deltas if isinstance(delta, CallPiece) and delta.key == start.key]
    assert json.decode("".join(pieces)) == {"path": "notes.txt"}
    (end,) = [delta for delta in deltas if isinstance(delta, CallEnd) and delta.key == start.key]
    assert end.problem == "" and isinstance(deltas[-1], Done)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_leaving_our_dialects_in_mid_stream_frees_the_slot(server: EmbeddedServer, dialect: Any) -> None:
    request = Request(system="", messages=[UserMessage("Count to 9000.", 0)], tools=[], max_tokens=7_000)
    endpoint = Endpoint(base_url=server.model.base_url, key=server.key)

    async def main(client: Client) -> dict[str, Any]:
        model = replace(server.model, max_tokens=7_000)
        stream = dialect.stream(model, request, endpoint, Forcing(client.http, {"ignore_eos": True}))
        async for delta in stream:
            if isinstance(delta, TextPiece):
                break
        await stream.aclose()
        return await free_slot(client)

    assert with_client(server, main)["next_token"][0]["n_decoded"] < 1_000


@pytest.mark.parametrize("dialect", DIALECTS)
def test_our_dialects_recognize_an_overflow(server: EmbeddedServer, dialect: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        field = "input" if dialect is openai_responses else "messages"
        answer(server, dialect, {field: [{"role": "user", "content": TOO_LONG}]})
    assert caught.value.overflow and not caught.value.retryable


@pytest.mark.parametrize("dialect", DIALECTS)
def test_our_dialects_report_a_wrong_key(server: EmbeddedServer, dialect: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        answer(server, dialect, {}, key="wrong")
    assert (caught.value.status, caught.value.retryable) == (401, False)
    assert "wrong" not in str(caught.value)


PARENT = """
import asyncio, sys
from pathlib import Path
from tau.ai.local.embedded import EmbeddedServer
from tau.base.run import LocalRunner

class Telling(LocalRunner):
    async def start(self, *args, **options):
        process = await super().start(*args, **options)
        print(process.pid, flush=True)
        return process

async def main():
    async with EmbeddedServer(Path(sys.argv[1]), Telling()):
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["loading", "serving"])
def test_server_ends_with_a_killed_parent(demo_weights: Path, moment: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(demo_weights)], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        if moment == "serving":
            assert parent.stdout.readline() == b"ready\n"
        parent.kill()
    assert gone_within(child, 2), "the server outlived its parent"


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if is_zombie(pid):
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def is_zombie(pid: int) -> bool:
    """Dead, and waiting for a process 1 that does not reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
