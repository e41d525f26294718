"""Requests as the dialects share them: the body, headers the user may override, the refusal of a server."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tau.ai.dialect import Endpoint, Request, ToolSpec
from tau.ai.model import Model, ThinkingLevel
from tau.ai.normalization import cleaned
from tau.ai.transport import Response, Transport
from tau.ai.wire import AssistantMessage, CacheMiss, ImageContent, TextContent, ThinkingContent
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")
schema = late("tau.ai.apis.schema")

BYTES_PER_TOKEN = 3  # fewer than real, so the estimate errs on the safe side
IMAGE_TOKENS = 1600  # the most that one takes: the answer must fit beside it
MIN_ANSWER_TOKENS = 4096
MAX_COUNT = 10**9  # of tokens in one answer

# Only the words that every server with levels knows.
USUAL_EFFORT: dict[ThinkingLevel, ThinkingLevel] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}

_encode = msgspec.json.Encoder().encode


class PlainMessage(msgspec.Struct, frozen=True, gc=False):
    """A text-only message, as most are: a dict takes six times the memory."""

    role: str
    content: str


def effort_word(model: Model, level: ThinkingLevel) -> str | None:
    """The server's word for a thinking level; None to leave the field out.

    "off" has a word only where a model thinks by default.
    """
    if not model.reasoning:
        return None
    words, usual = model.thinking_level_map, USUAL_EFFORT.get(level)
    return words.get(level) or (words.get(usual, usual) if usual else None)


def tool_schema(tool: ToolSpec, model: Model) -> dict[str, Any]:
    """The schema of a tool's parameters, as the model's server understands it."""
    rules = model.compat.schema_rules
    return schema.clean_schema(tool.parameters, rules) if rules else tool.parameters


def encode(body: Any) -> bytes:
    """Encode the body as JSON with fields in order: servers cache the common prefix of requests."""
    try:
        return _encode(body)
    except UnicodeEncodeError:
        return _encode(cleaned(msgspec.to_builtins(body)))


def max_answer_tokens(model: Model, request: Request, wanted: int) -> int:
    """The maximum answer length: as requested, as the model allows, and within the remaining window.

    Many servers reject a request whose prompt and answer would not fit together.
    """
    most = min(wanted, model.max_tokens)
    left = model.context_window - _prompt_tokens(request)
    return min(most, max(left, min(MIN_ANSWER_TOKENS, model.context_window // 8)))


def compared_response(model: Model, request: Request) -> str | None:
    """The id of the server's last answer, which it compares the request with to say why its cache missed."""
    for message in reversed(request.messages):
        if (
            isinstance(message, AssistantMessage)
            and message.response_id
            and (message.provider, message.api) == (model.provider, model.api)
        ):
            return message.response_id
    return None


def _prompt_tokens(request: Request) -> int:
    """An estimate on the high side."""
    images = 0
    size = _bytes(request.system) + sum(len(encode(tool)) for tool in request.tools)
    for message in request.messages:
        for part in [message.content] if isinstance(message.content, str) else message.content:
            match part:
                case str():
                    size += _bytes(part)
                case TextContent():
                    size += _bytes(part.text)
                case ThinkingContent():
                    size += _bytes(part.thinking)
                case ImageContent():
                    images += 1
                case _:
                    size += len(_encode(part.arguments))
    return size // BYTES_PER_TOKEN + images * IMAGE_TOKENS


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def headers(endpoint: Endpoint, ours: Mapping[str, str]) -> dict[str, str]:
    """Merge our headers with the endpoint's, which win. Names are in lower case."""
    theirs = {name.lower(): value for name, value in endpoint.headers.items()}
    return {"content-type": "application/json", "accept": "text/event-stream", **ours, **theirs}


@asynccontextmanager
async def post(
    http: Transport,
    url: str,
    headers: Mapping[str, str],
    body: Any,
    *,
    model: Model,
    endpoint: Endpoint,
    answer_tokens: int,
) -> AsyncGenerator[Response, None]:
    """Send a request, encoded or not, for at most `answer_tokens`. Raises an error if the server refuses it.

    Callers drop the body when the response begins: it may be a long conversation, and the answer takes time.
    """
    sent = body if isinstance(body, bytes) else encode(body)
    del body
    async with http.open("POST", url, headers=headers, body=sent) as response:
        del sent
        if response.status >= 300:
            raise await error_response.error_from_response(
                response,
                provider=model.provider,
                key=endpoint.key,
                answer_tokens=answer_tokens,
                utc_offset_h=model.compat.utc_offset_h,
            )
        yield response


def known_miss(reason: object, tokens: object) -> CacheMiss | None:
    """None if the server cannot say why: it gives no number of tokens then."""
    return CacheMiss(reason, as_count(tokens)) if isinstance(reason, str) and as_count(tokens) else None


def as_count(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    return reported_count(value) or 0


def reported_count(value: object) -> int | None:
    """A number of tokens; None for anything else. An odd figure is no reason to lose the answer."""
    return int(value) if isinstance(value, (int, float)) and 0 <= value <= MAX_COUNT else None


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""
