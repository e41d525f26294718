"""Random requests with everything that a history can hold, the same for the same seed."""

from base64 import b64encode
from random import Random
from typing import Any

from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import THINKING_LEVELS, Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AppMessage,
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
)
from tests.ai.dialect_client import model

WORDS = (
    "read",
    "ä",
    "\U0001f600",
    "a\nb",
    "<x>",
    '"quoted"',
    " ",
    "\u2028",
    "\ud800",
    "{}",
    "null",
    "x" * 300,
)
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff")
NAMES = ("read", "bash", "job")
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


def text(random: Random) -> str:
    return "".join(random.choices(WORDS, k=random.randint(0, 4)))


def blob(random: Random) -> str:
    return b64encode(random.randbytes(random.randint(1, 40))).decode()


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


def parts(random: Random) -> list[UserContent]:
    return [
        ImageContent(blob(random), random.choice(IMAGES))
        if random.random() < 0.3
        else TextContent(text(random))
        for _ in range(random.randint(0, 3))
    ]


def random_answer(random: Random, speaker: Model, number: int) -> list[AppMessage]:
    """An answer and the results of its calls, some of which are missing."""
    content: list[Any] = []
    results: list[AppMessage] = []
    for place in range(random.randint(0, 5)):
        kind = random.random()
        if kind < 0.2:
            content.append(ThinkingContent(text(random), blob(random)))
        elif kind < 0.3:
            content.append(ThinkingContent("", blob(random), True))
        elif kind < 0.4:
            content.append(ThinkingContent(text(random)))
        elif kind < 0.6:
            content.append(TextContent(text(random), *([blob(random)] if kind < 0.5 else [])))
        else:
            id, name = f"call_{number}_{place}", random.choice(NAMES)
            arguments = {text(random) or "a": text(random), "n": [1, None, {"x": 1.5}]}
            content.append(ToolCall(id, name, arguments, *([blob(random)] if kind < 0.8 else [])))
            if random.random() < 0.9:
                results.append(ToolResultMessage(id, name, parts(random), random.random() < 0.3, number))
    random.shuffle(results)
    stop = random.choice(STOPS)
    answer = AssistantMessage(content, speaker.api, speaker.provider, speaker.id, Usage(), stop, number)
    return [answer, *results]


def random_request(random: Random, speaker: Model) -> Request:
    """A request to `speaker`, in a conversation that other models have taken part in."""
    other = model("openai-completions", id="other", provider="elsewhere")
    history: list[AppMessage] = []
    for number in range(random.randint(1, 5)):
        history.append(UserMessage(parts(random) if random.random() < 0.5 else text(random), number))
        for _ in range(random.randint(0, 3)):
            history += random_answer(random, random.choice((speaker, other)), len(history))
    history.append(UserMessage("Go on.", 99))
    if random.random() < 0.3:
        call = ToolCall("last", "read", {})
        answer = AssistantMessage([call], other.api, other.provider, other.id, Usage(), "toolUse", 99)
        history += [answer, ToolResultMessage("last", "read", [TextContent("x")], False, 99)]
    tools = [ToolSpec(name, text(random), schema(random)) for name in NAMES[: random.randint(0, 3)]]
    return Request(
        system=text(random),
        messages=normalize_history(history, speaker),
        tools=tools,
        max_tokens=random.choice((1, 1000, 100_000)),
        thinking=speaker.clamp_thinking(random.choice(THINKING_LEVELS)),
        temperature=random.choice((None, 0.0, 1.0)),
        cache_retention=random.choice(("none", "short", "long")),
        tool_choice=random.choice(("auto", "auto", "none", "required", *(tool.name for tool in tools))),
    )
