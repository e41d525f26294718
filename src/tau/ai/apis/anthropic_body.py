"""Requests in the dialect `anthropic-messages`."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from tau.ai import wire as w
from tau.ai.apis.request import compared_response, max_answer_tokens, tool_schema
from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import FAST_TIER, Model, ThinkingLevel, UpstreamRouting

MIN_BUDGET_TOKENS = 1024
OFF = {"type": "disabled"}
MIN_TOKENS_AFTER_THINKING = 1024
EFFORT: dict[ThinkingLevel, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "max",
    "max": "max",
}

CACHED: dict[str, str] = {"type": "ephemeral"}
CACHED_LONG = {**CACHED, "ttl": "1h"}
CACHED_MESSAGES = 2  # with the system prompt and the tools, the four cache marks a request may have


def build_body(model: Model, request: Request) -> dict[str, Any]:
    """Build the request body. Parts that stay the same between requests come first."""
    mark = _cache_mark(model, request)
    body: dict[str, Any] = {"model": model.id}
    if request.tools:
        body["tools"] = tools = [_tool(tool, model) for tool in request.tools]
        if mark:
            tools[-1]["cache_control"] = mark
    if request.system.strip():
        system: dict[str, Any] = {"type": "text", "text": request.system}
        if mark:
            system["cache_control"] = mark
        body["system"] = [system]
    body["messages"] = messages = list(_messages(request.messages, model))
    if mark:
        _add_cache_marks(messages, mark)
    body["max_tokens"] = max_answer_tokens(model, request, request.max_tokens)
    body["stream"] = True
    if model.compat.routing != UpstreamRouting():
        body["provider"] = model.compat.routing
    if request.tools and (choice := _choice(model, request)) != {"type": "auto"}:
        body["tool_choice"] = choice
    body.update(_thinking(model, request, messages))
    thinks = body.get("thinking", OFF) != OFF
    if request.temperature is not None and model.compat.supports_temperature and not thinks:
        body["temperature"] = request.temperature
    if is_fast(model, request):
        body["speed"] = "fast"
    elif request.service_tier and model.takes_tier(request.service_tier):
        body["service_tier"] = request.service_tier
    if mark and model.compat.cache_diagnostics and not model.custom_address:
        body["diagnostics"] = {"previous_message_id": compared_response(model, request)}
    return body


def is_fast(model: Model, request: Request) -> bool:
    return request.service_tier == FAST_TIER and model.compat.fast_mode != ""


def _cache_mark(model: Model, request: Request) -> dict[str, str] | None:
    if not model.compat.cache_control or request.cache_retention == "none":
        return None
    long = request.cache_retention == "long" and model.compat.supports_long_cache_retention
    return CACHED_LONG if long else CACHED


def _tool(tool: ToolSpec, model: Model) -> dict[str, Any]:
    sent = {"name": tool.name, "description": tool.description, "input_schema": tool_schema(tool, model)}
    return {**sent, "eager_input_streaming": True} if model.compat.eager_input_streaming else sent


def _choice(model: Model, request: Request) -> dict[str, Any]:
    words = {"auto": "auto", "none": "none", "required": "any"}
    word = words.get(request.tool_choice)
    choice: dict[str, Any] = {"type": word} if word else {"type": "tool", "name": request.tool_choice}
    if not model.compat.supports_parallel_tool_calls and word != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


def _thinking(model: Model, request: Request, messages: list[dict[str, Any]]) -> dict[str, Any]:
    level = request.thinking
    word = model.thinking_level_map.get(level)
    if not model.reasoning or request.tool_choice not in ("auto", "none"):
        return {}  # a call cannot be forced on a model that thinks
    if level == "off":
        return {"thinking": OFF} if word else {}
    if model.compat.adaptive_thinking:
        return {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": word or EFFORT[level]},
        }
    wanted = request.thinking_budget
    max_tokens = max_answer_tokens(model, request, request.max_tokens + wanted)
    budget = min(wanted, max_tokens - MIN_TOKENS_AFTER_THINKING)
    if budget < MIN_BUDGET_TOKENS or _last_calls_lack_thinking(messages):
        return {}
    return {"max_tokens": max_tokens, "thinking": {"type": "enabled", "budget_tokens": budget}}


def _last_calls_lack_thinking(messages: list[dict[str, Any]]) -> bool:
    """Whether the last calls were made without thinking, such as by another model: too late to enable it."""
    turn: list[str] = []  # consecutive messages of a role are one turn
    for message in reversed(messages):
        if message["role"] == "assistant":
            turn = [block["type"] for block in message["content"]] + turn
        elif turn:
            break
    return "tool_use" in turn and "thinking" not in turn[0]


def _add_cache_marks(messages: list[dict[str, Any]], mark: dict[str, str]) -> None:
    """Ask the server to cache everything before the last user messages."""
    last = [message for message in messages if message["role"] == "user"][-CACHED_MESSAGES:]
    for message in last:
        message["content"][-1]["cache_control"] = mark


def _messages(messages: Sequence[w.Message], model: Model) -> Iterator[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for message in messages:
        if results and not isinstance(message, w.ToolResultMessage):
            yield {"role": "user", "content": results}
            results = []
        match message:
            case w.ToolResultMessage():
                results.append(_result(message))
            case w.UserMessage():
                if blocks := _blocks(message.content):
                    yield {"role": "user", "content": blocks}
            case w.AssistantMessage():
                blocks = list(_assistant(message, model))
                if message is messages[-1]:
                    _insert_unknown(blocks, message.provider_payload)
                while blocks and "thinking" in blocks[-1]["type"]:
                    blocks.pop()  # rejected at the end of an answer
                if blocks:
                    yield {"role": "assistant", "content": blocks}
            case _:
                assert_never(message)
    if results:
        yield {"role": "user", "content": results}


def _insert_unknown(blocks: list[dict[str, Any]], payload: Any) -> None:
    """Complete an answer that the server paused: it continues from all of its blocks, known here or not."""
    unknown = payload if isinstance(payload, list) else []
    for place, item in enumerate(unknown):
        blocks.insert(item["index"] + place, item["block"])


def _blocks(content: str | Sequence[w.UserContent]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in [w.TextContent(content)] if isinstance(content, str) else content:
        if isinstance(part, w.ImageContent):
            source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
            blocks.append({"type": "image", "source": source})
        elif part.text.strip():
            blocks.append({"type": "text", "text": part.text})
    return blocks


def _result(message: w.ToolResultMessage) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    if content := _blocks(message.content):
        block["content"] = content
    if message.is_error:
        block["is_error"] = True
    return block


def _assistant(message: w.AssistantMessage, model: Model) -> Iterator[dict[str, Any]]:
    for part in message.content:
        match part:
            case w.TextContent():
                if part.text.strip():
                    yield {"type": "text", "text": part.text}
            case w.ThinkingContent():
                signature = w.signature_of(part)
                if not signature and not model.compat.allow_empty_signature:
                    continue  # rejected without its signature
                if part.redacted is True:
                    yield {"type": "redacted_thinking", "data": signature}
                else:
                    yield {"type": "thinking", "thinking": part.thinking, "signature": signature}
            case w.ToolCall():
                yield {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
            case _:
                assert_never(part)
