"""Random requests with everything that a history can hold, in every dialect; the same for the same seed."""

from base64 import b64encode
from random import Random
from typing import Any

from tau.ai import dialect as d
from tau.ai.model import THINKING_LEVELS, Compat, Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AppMessage,
    AssistantContent,
    AssistantMessage,
    ImageContent,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserContent,
    UserMessage,
    issuer_address,
)
from tests.ai.dialect_client import model

WORDS = (
    *("read", "né", "\U0001f600", 'a "b"\n', "\t", "*** Begin Patch\n*** End Patch", " ", "<x>", "\u2028"),
    *("\ud800", "{}", "null", "x" * 300),
)
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff", "image/odd")
NAMES = ("read", "bash", "job")
PATCH = d.CustomFormat("apply_patch", "start: /.+/")
STOPS: tuple[StopReason, ...] = ("toolUse", "stop", "aborted", "error", "length")
LEAVES: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": ["string", "null"], "default": None},
    {"type": "integer", "minimum": 0, "exclusiveMaximum": 9},
    {"enum": ["a", "b"]},
    {"const": "a", "type": "string"},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    {"$ref": "#/$defs/Node"},
    {"description": "anything"},
    {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    {"type": "object", "additionalProperties": {"type": "string"}},
)
NODE = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}}
SIGNATURES: dict[str, tuple[str, str, str]] = {  # of thinking, text and calls; random ones elsewhere
    "anthropic-messages": ("sig", "", ""),
    "openai-completions": ('[{"type":"reasoning.text","text":"x"}]', "", ""),
    "openai-responses": (
        '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x","status":"completed"}',
        '{"v":1,"id":"msg_1","phase":"commentary"}',
        '{"id":"fc_1"}',
    ),
}


class RandomRequests:
    """Requests to random models of one dialect."""

    def __init__(self, api: str, seed: int) -> None:
        self._random = Random(f"{api} {seed}")
        self._api = api

    def next(self) -> tuple[Model, d.Request]:
        speaker = random_model(self._random, self._api)
        return speaker, random_request(self._random, speaker)


def random_model(random: Random, api: str) -> Model:
    flags = (
        *("grammar_tools", "supports_parallel_tool_calls", "supports_prompt_cache_key"),
        *("supports_long_cache_retention", "adaptive_thinking"),
    )
    return model(
        api,
        base_url="https://acme.example/v1",
        input=("text", "image") if random.random() < 0.8 else ("text",),
        reasoning=random.random() < 0.8,
        compat=Compat(**{flag: random.random() < 0.5 for flag in flags}),
    )


def random_request(random: Random, speaker: Model) -> d.Request:
    """A request to `speaker`, in a conversation that other models have taken part in."""
    other = model("openai-completions", id="other", provider="elsewhere")
    history: list[AppMessage] = []
    for number in range(random.randint(1, 5)):
        history.append(UserMessage(parts(random) if random.random() < 0.5 else text(random), number))
        for _ in range(random.randint(0, 3)):
            history += random_answer(random, random.choice((speaker, speaker, other)), len(history))
    history.append(UserMessage("Go on.", 99))
    if random.random() < 0.3:
        call = ToolCall("last", "read", {})
        answer = AssistantMessage([call], other.api, other.provider, other.id, Usage(), "toolUse", 99)
        history += [answer, ToolResultMessage("last", "read", [TextContent("x")], False, 99)]
    tools = [d.ToolSpec(name, text(random), schema(random)) for name in NAMES[: random.randint(0, 3)]]
    if random.random() < 0.5:
        tools.append(d.ToolSpec("edit", "Edits.", {"type": "object"}, PATCH))
    return d.Request(
        system=text(random),
        messages=normalize_history(history, speaker),
        tools=tools,
        max_tokens=random.choice((1, 1000, 100_000)),
        thinking=speaker.clamp_thinking(random.choice(THINKING_LEVELS)),
        temperature=random.choice((None, 0.0, 0.5, 1.0)),
        cache_key=random.choice((None, "key", "k" * 99)),
        cache_retention=random.choice(("none", "short", "long")),
        tool_choice=random.choice(("auto", "auto", "none", "required", *(tool.name for tool in tools))),
    )


def random_answer(random: Random, speaker: Model, number: int) -> list[AppMessage]:
    """An answer and the results of its calls, some of which are missing."""
    signatures = SIGNATURES.get(speaker.api) or (blob(random), blob(random), blob(random))
    if speaker.compat.thinking_format == "mistral":
        signatures = ("", "", "")
    thought, said, called = signatures
    content: list[AssistantContent] = []
    results: list[AppMessage] = []
    for place in range(random.randint(0, 5)):
        kind = random.random()
        if kind < 0.2:
            content.append(ThinkingContent(text(random), thought))
        elif kind < 0.3 and speaker.api not in SIGNATURES:
            content.append(ThinkingContent("", thought, True))
        elif kind < 0.4:
            content.append(ThinkingContent(text(random)))
        elif kind < 0.6:
            content.append(TextContent(text(random), *([said] if said and kind < 0.5 else [])))
        else:
            call = random_call(random, f"call_{number}_{place}", called)
            content.append(call)
            if random.random() < 0.9:
                failed = random.random() < 0.3
                results.append(ToolResultMessage(call.id, call.name, parts(random), failed, number))
    random.shuffle(results)
    answer = AssistantMessage(
        content,
        *(speaker.api, speaker.provider, speaker.id),
        Usage(),
        random.choice(STOPS),
        number,
        address=issuer_address(speaker.base_url),
    )
    return [answer, *results]


def random_call(random: Random, id: str, signature: str) -> ToolCall:
    if random.random() < 0.2:
        return ToolCall(id, "edit", {"input": text(random)}, custom_wire_name=PATCH.name)
    arguments = {text(random) or "a": text(random), "n": [1, None, {"x": 1.5}]}
    signed = [signature] if signature and random.random() < 0.5 else []
    return ToolCall(id, random.choice((*NAMES, "no such tool")), arguments, *signed)


def text(random: Random) -> str:
    return "".join(random.choices(WORDS, k=random.randint(0, 4)))


def blob(random: Random) -> str:
    return b64encode(random.randbytes(random.randint(1, 40))).decode()


def parts(random: Random) -> list[UserContent]:
    return [
        ImageContent(blob(random), random.choice(IMAGES))
        if random.random() < 0.3
        else TextContent(text(random))
        for _ in range(random.randint(0, 3))
    ]


def schema(random: Random) -> dict[str, Any]:
    names = random.sample(("path", "limit", "mode", "nodes"), random.randint(0, 4))
    return {
        "type": "object",
        "properties": {name: random.choice(LEAVES) for name in names},
        "required": names[:1],
        "additionalProperties": False,
        "$defs": {"Node": NODE},
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
