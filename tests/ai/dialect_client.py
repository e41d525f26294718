"""Speaks a dialect with the fake server over a real socket."""

import asyncio
from contextlib import aclosing
from typing import Any

from tau.ai import dialect as d
from tau.ai.apis import dialect
from tau.ai.assembler import Assembler
from tau.ai.http import HttpTransport
from tau.ai.model import Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tau.ai.wire import Usage as Counted
from tau.base.errors import ProviderError
from tests.support.fake_answers import Answer, Raw, Scriptable, Text
from tests.support.fake_server import FakeServer

HELLO = d.Request(system="Be brief.", messages=[UserMessage("hi", 1)], tools=[], max_tokens=1000)


def model(api: str, **fields: Any) -> Model:
    known: dict[str, Any] = {"id": "m", "name": "M", "provider": "acme", "base_url": "", "reasoning": True}
    return Model(**{**known, "api": api, "max_tokens": 64_000, **fields})


def conversation(speaker: Model) -> d.Request:
    """A request in the middle of work: images, thinking, parallel calls, a failed one."""
    image = ImageContent("iVBORw0KGgo=", "image/png")
    content = [
        ThinkingContent("Hm.", "sig"),
        TextContent("Reading."),
        ToolCall("call_1", "read", {"path": "a.png"}),
        ToolCall("call_2", "bash", {"command": "false"}),
    ]
    history = [
        UserMessage([TextContent("What is this?"), image], 1),
        AssistantMessage(content, speaker.api, speaker.provider, speaker.id, Counted(), "toolUse", 2),
        ToolResultMessage("call_2", "bash", [TextContent("exit code 1")], True, 3),
        ToolResultMessage("call_1", "read", [image], False, 4),
        UserMessage("Go on.", 5),
    ]
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return d.Request(
        system="Be brief.",
        messages=normalize_history(history, speaker),
        tools=[d.ToolSpec("read", "Reads.", schema), d.ToolSpec("bash", "Runs.", schema)],
        max_tokens=1000,
        thinking="medium",
    )


async def talk(
    url: str, speaker: Model, request: d.Request = HELLO, key: str | None = "key-1", **headers: str
) -> list[d.Delta]:
    """All deltas of one answer."""
    endpoint = d.Endpoint(base_url=url, key=key, headers=headers)
    http = HttpTransport({})
    try:
        async with aclosing(dialect(speaker.api)(speaker, request, endpoint, http)) as deltas:
            return [delta async for delta in deltas]
    finally:
        await http.close()


def answer(speaker: Model, scripted: Scriptable, request: d.Request = HELLO, **more: Any) -> list[d.Delta]:
    """The deltas of a scripted answer."""
    with FakeServer() as server:
        server.script(scripted)
        return asyncio.run(talk(server.url, speaker, request, **more))


def message(speaker: Model, deltas: list[d.Delta]) -> AssistantMessage:
    """The assembled deltas; the last of them must be the only `Done`."""
    assembler = Assembler(speaker, 1)
    for delta in deltas:
        assembler.feed(delta)
    assert [delta for delta in deltas if isinstance(delta, d.Done)] == deltas[-1:]
    assert assembler.done is not None
    return assembler.message(assembler.done.reason)


def failed(speaker: Model, scripted: Scriptable, **more: Any) -> ProviderError:
    """The error a scripted fault becomes."""
    try:
        deltas = answer(speaker, scripted, **more)
    except ProviderError as error:
        return error
    raise AssertionError(f"no error, but {deltas}")


def stream_of(*events: str) -> Raw:
    """A raw stream of events."""
    return Raw("".join(f"data: {event}\n\n" for event in events), 200, "text/event-stream")


def leave_in_the_middle(speaker: Model) -> None:
    """Close the answer after its first text; the server must see the connection end."""
    with FakeServer() as server:
        server.script(Answer((Text("word " * 500, deltas=500),), delay_s=0.01))

        async def main() -> None:
            http = HttpTransport({})
            endpoint = d.Endpoint(base_url=server.url, key=None)
            deltas = dialect(speaker.api)(speaker, HELLO, endpoint, http)
            async for delta in deltas:
                if isinstance(delta, d.TextPiece):
                    break
            await deltas.aclose()
            await asyncio.to_thread(server.wait, lambda: server.requests[0].outcome != "")
            await http.close()

        asyncio.run(main())
        assert server.requests[0].outcome == "left"
