"""Requests in the dialect `anthropic-messages`."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from tau.ai import wire as w
from tau.ai.apis.request import max_answer_tokens
from tau.ai.dialect import Request
from tau.ai.model import Model, ThinkingLevel

BUDGET_TOKENS: dict[ThinkingLevel, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
}
MIN_BUDGET_TOKENS = 1024
MIN_TOKENS_AFTER_THINKING = 1024
EFFORT: dict[ThinkingLevel, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "max",
}

CACHED = {"type": "ephemeral"}
CACHED_MESSAGES = 2  # with the system prompt and the tools, the four cache marks a request may have


def build_body(model: Model, request: Request) -> dict[str, Any]:
    """Build the request body. Parts that stay the same between requests come first."""
    mark = model.compat.cache_control
    body: dict[str, Any] = {"model": model.id}
    if request.tools:
        body["tools"] = tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        if mark:
            tools[-1]["cache_control"] = CACHED
    if request.system.strip():
        system: dict[str, Any] = {"type": "text", "text": request.system}
        if mark:
            system["cache_control"] = CACHED
        body["system"] = [system]
    body["messages"] = messages = list(_messages(request.messages))
    if mark:
        _add_cache_marks(messages)
    body["max_tokens"] = max_answer_tokens(model, request, request.max_tokens)
    body["stream"] = True
    if request.tools and not model.compat.supports_parallel_tool_calls:
        body["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    body.update(_thinking(model, request, messages))
    if request.temperature is not None and "thinking" not in body:
        body["temperature"] = request.temperature
    return body


def _thinking(model: Model, request: Request, messages: list[dict[str, Any]]) -> dict[str, Any]:
    level = request.thinking
    if level == "off" or not model.reasoning:
        return {}
    if model.compat.adaptive_thinking:
        return {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": EFFORT[level]},
        }
    wanted = BUDGET_TOKENS[level]
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


def _add_cache_marks(messages: list[dict[str, Any]]) -> None:
    """Ask the server to cache everything before the last user messages."""
    last = [message for message in messages if message["role"] == "user"][-CACHED_MESSAGES:]
    for message in last:
        message["content"][-1]["cache_control"] = CACHED


def _messages(messages: Sequence[w.Message]) -> Iterator[dict[str, Any]]:
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
                blocks = list(_assistant(message))
                while blocks and "thinking" in blocks[-1]["type"]:
                    blocks.pop()  # rejected at the end of an answer
                if blocks:
                    yield {"role": "assistant", "content": blocks}
            case _:
                assert_never(message)
    if results:
        yield {"role": "user", "content": results}


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


def _assistant(message: w.AssistantMessage) -> Iterator[dict[str, Any]]:
    for part in message.content:
        match part:
            case w.TextContent():
                if part.text.strip():
                    yield {"type": "text", "text": part.text}
            case w.ThinkingContent():
                if not part.thinking_signature:
                    continue  # rejected without its signature
                if part.redacted is True:
                    yield {"type": "redacted_thinking", "data": part.thinking_signature}
                else:
                    yield {
                        "type": "thinking",
                        "thinking": part.thinking,
                        "signature": part.thinking_signature,
                    }
            case w.ToolCall():
                yield {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
            case _:
                assert_never(part)
