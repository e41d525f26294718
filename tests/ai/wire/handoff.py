"""A conversation that moves from one dialect to another, with everything that a history can hold."""

import asyncio
import importlib
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai.apis.request import encode
from tau.ai.catalog import load_catalog
from tau.ai.model import Compat, Model
from tau.ai.normalization import HistoryNormalizer
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    ImageContent,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from tests.ai.dialect_client import HELLO, message, model
from tests.ai.wire.byte_stream import ENDPOINT, deltas_of
from tests.support.fake_answers import Answer, Call, Part, Text, Thinking
from tests.support.fake_dialects import BY_API

IMAGE = ImageContent("iVBORw0KGgo=", "image/png")
READ = d.ToolSpec(
    "read",
    "Reads.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
EDIT = d.ToolSpec(
    "edit",
    "Edits.",
    {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
    d.CustomFormat("apply_patch", "start: /.+/"),
)
TOOLS = [READ, EDIT]
PATCH = '*** Begin Patch\n*** Update File: a\n-"x"\n+é\n*** End Patch'


def _speaker(api: str, name: str = "", **fields: Any) -> Model:
    return model(
        api,
        id=f"model-of-{name or api}",
        provider=name or api,
        base_url=ENDPOINT.base_url,
        input=("text", "image"),
        context_window=1_000_000,
        **fields,
    )


LEVELS = {"off": None, "minimal": None, "low": "low", "medium": "medium", "high": "high"}
SPEAKERS: dict[str, Model] = {
    "anthropic-messages": _speaker("anthropic-messages"),
    "openai-completions": _speaker("openai-completions", compat=Compat(thinking_field="same")),
    "openai-responses": _speaker("openai-responses", compat=Compat(grammar_tools=True)),
    "google-generative-ai": _speaker("google-generative-ai", thinking_level_map=LEVELS),
    "bedrock-converse-stream": _speaker("bedrock-converse-stream"),
    "ollama-chat": _speaker("ollama-chat"),
    "mistral": _speaker("openai-completions", "mistral", compat=load_catalog().providers["mistral"].compat),
}
LISTS = {"google-generative-ai": "contents", "openai-responses": "input"}  # of messages; else "messages"


def body_of(speaker: Model, history: list[AppMessage], normalizer: HistoryNormalizer) -> dict[str, Any]:
    """The request of this model in this conversation."""
    request = replace(
        HELLO,
        messages=normalizer.normalize(history, speaker),
        tools=TOOLS,
        thinking=speaker.clamp_thinking("medium"),
    )
    module: Any = importlib.import_module(f"tau.ai.apis.{speaker.api.replace('-', '_')}")
    body: dict[str, Any] = msgspec.json.decode(encode(module.build_body(speaker, request)))
    return body


def answer_of(speaker: Model, *parts: Part, aborted: bool = False) -> AssistantMessage:
    """What the dialect reads of such an answer; of an aborted one, all but its end."""
    asked = {"tools": [{"type": "custom", "name": "apply_patch"}], "stream_options": {"include_usage": True}}
    events = list(BY_API[speaker.api].events(Answer(parts), asked))
    read = message(speaker, asyncio.run(deltas_of(speaker, replace(HELLO, tools=TOOLS), b"".join(events))))
    return replace(read, stop_reason="aborted") if aborted else read


def turn(speaker: Model, number: int) -> Iterator[AppMessage]:
    """Thinking, text, parallel calls with an image and an error, a patch, and an answer that is aborted."""
    yield UserMessage([TextContent(f"Look at this, {number}."), IMAGE], 1)
    patch = "apply_patch" if speaker.compat.grammar_tools else "edit"
    first = answer_of(
        speaker,
        Thinking("Hm, é.", "c2lnbmVk", deltas=2),
        Text('Let "me" see.', deltas=2),
        Call("read", {"path": "a.png"}, id=f"call1of{number}"),
        Call("read", {"path": "b\n"}, id=f"call2of{number}"),
    )
    yield first
    one, two = first.tool_calls
    yield ToolResultMessage(two.id, two.name, [TextContent("no such file")], True, 2)
    yield ToolResultMessage(one.id, one.name, [TextContent("a.png:"), IMAGE], False, 2)
    second = answer_of(speaker, Call(patch, {"input": PATCH}, id=f"call3of{number}"))
    yield second
    yield ToolResultMessage(second.tool_calls[0].id, "edit", [TextContent("Changed a.")], False, 2)
    yield answer_of(
        speaker,
        Thinking("More?", "c2lnbmVk"),
        Text("Let me "),
        Call("read", {"path": "c"}, id=f"call4of{number}"),
        aborted=True,
    )
    yield UserMessage("Never mind.", 3)
    yield answer_of(speaker, Thinking("Fine.", "c2lnbmVk"), Text("Fine."))
