"""Requests in the dialect `bedrock-converse-stream`."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from tau.ai import wire as w
from tau.ai.apis.request import effort_word, max_answer_tokens
from tau.ai.apis.schema import clean_schema
from tau.ai.dialect import Request
from tau.ai.model import Model

MIN_BUDGET_TOKENS = 1024
MIN_TOKENS_AFTER_THINKING = 1024
INTERLEAVED = "interleaved-thinking-2025-05-14"
VENDORS = frozenset({"amazon", "anthropic", "openai"})  # with models that are asked to think
CACHED_MESSAGES = 2
UNAVAILABLE = "No longer available."


def build_body(model: Model, request: Request) -> dict[str, Any]:
    """Build the request body. Parts that stay the same between requests come first."""
    body: dict[str, Any] = {}
    mark = _cache_point(model, request)
    messages = list(_messages(request.messages))
    if tools := _tool_config(model, request, messages):
        body["toolConfig"] = tools
    if request.system.strip():
        body["system"] = [{"text": request.system}, *mark]
    body["messages"] = messages
    fields, max_tokens = _thinking(model, request, messages)
    if mark:
        _add_cache_points(messages, mark)
    config: dict[str, Any] = {"maxTokens": max_tokens}
    body["inferenceConfig"] = config
    if request.temperature is not None and "thinking" not in fields and model.compat.supports_temperature:
        config["temperature"] = min(request.temperature, 1.0)
    if fields:
        body["additionalModelRequestFields"] = fields
    if request.service_tier and model.takes_tier(request.service_tier):
        body["serviceTier"] = {"type": request.service_tier}
    return body


def vendor(id: str) -> str:
    """Whose fields a model takes: `us.anthropic.claude-...`, and an ARN that ends so, name the vendor."""
    return next((part for part in id.rpartition("/")[2].split(".")[:2] if part in VENDORS), "")


def _tool_config(model: Model, request: Request, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The tools. Servers reject a history with calls if there are none."""
    specs: list[dict[str, Any]] = []
    for tool in request.tools:
        spec: dict[str, Any] = {"name": tool.name}
        if tool.description:
            spec["description"] = tool.description
        spec["inputSchema"] = {"json": clean_schema(tool.parameters, model.compat.schema_rules)}
        specs.append({"toolSpec": spec})
    called = {
        block["toolUse"]["name"] for message in messages for block in message["content"] if "toolUse" in block
    }
    if not specs and called:
        empty = {"json": {"type": "object", "properties": {}}}
        specs = [
            {"toolSpec": {"name": name, "description": UNAVAILABLE, "inputSchema": empty}}
            for name in sorted(called)
        ]
    if not specs or (request.tool_choice == "none" and not called):
        return {}  # there is no way to forbid calls but to offer no tools
    config: dict[str, Any] = {"tools": specs}
    if request.tools and request.tool_choice not in ("auto", "none") and model.compat.supports_tool_choice:
        choice = request.tool_choice
        config["toolChoice"] = {"any": {}} if choice == "required" else {"tool": {"name": choice}}
    return config


def _thinking(model: Model, request: Request, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    """The vendor's own fields that ask for thinking, and the maximum answer length with it."""
    max_tokens = max_answer_tokens(model, request, request.max_tokens)
    level = request.thinking
    if level == "off" or not model.reasoning:
        return {}, max_tokens
    word = effort_word(model, level)
    match vendor(model.id):
        case "anthropic" if model.compat.adaptive_thinking or model.thinking_level_map:
            fields = {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": word},
            }
            return fields, max_tokens
        case "anthropic":
            most = max_answer_tokens(model, request, request.max_tokens + request.thinking_budget)
            budget = min(request.thinking_budget, most - MIN_TOKENS_AFTER_THINKING)
            if budget < MIN_BUDGET_TOKENS or _last_calls_lack_thinking(messages):
                return {}, max_tokens
            thinking = {"type": "enabled", "budget_tokens": budget}
            return {"thinking": thinking, "anthropic_beta": [INTERLEAVED]}, most
        case "openai":
            return {"reasoning_effort": word}, max_tokens
        case "amazon":
            return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": word}}, max_tokens
        case _:
            return {}, max_tokens


def _last_calls_lack_thinking(messages: list[dict[str, Any]]) -> bool:
    """Whether the last calls were made without thinking, such as by another model: too late to enable it."""
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    blocks = last["content"] if last is not None else []
    return any("toolUse" in block for block in blocks) and "reasoningContent" not in blocks[0]


def _cache_point(model: Model, request: Request) -> list[dict[str, Any]]:
    """The mark after what to cache; none for models without a price for it, which reject it."""
    if not model.compat.cache_control or not model.cost.cache_read or request.cache_retention == "none":
        return []
    point = {"type": "default"}
    if request.cache_retention == "long" and model.compat.supports_long_cache_retention:
        point["ttl"] = "1h"
    return [{"cachePoint": point}]


def _add_cache_points(messages: list[dict[str, Any]], mark: list[dict[str, Any]]) -> None:
    """Ask the server to cache everything before the last user messages."""
    for message in [message for message in messages if message["role"] == "user"][-CACHED_MESSAGES:]:
        message["content"] += mark


def _messages(messages: Sequence[w.Message]) -> Iterator[dict[str, Any]]:
    """Roles alternate: messages in a row become one."""
    role, content = "user", list[dict[str, Any]]()
    for message in messages:
        speaker = "assistant" if isinstance(message, w.AssistantMessage) else "user"
        blocks = _content(message)
        if blocks and speaker != role and content:
            yield {"role": role, "content": content}
            content = []
        role = speaker if blocks else role
        content = [*content, *blocks]
    if content:
        yield {"role": role, "content": content}


def _content(message: w.Message) -> list[dict[str, Any]]:
    match message:
        case w.UserMessage():
            return _blocks(message.content)
        case w.ToolResultMessage():
            result: dict[str, Any] = {"toolUseId": message.tool_call_id, "content": _blocks(message.content)}
            if message.is_error:
                result["status"] = "error"
            return [{"toolResult": result}]
        case w.AssistantMessage():
            blocks = list(_assistant(message))
            while blocks and "reasoningContent" in blocks[-1]:
                blocks.pop()  # rejected at the end of an answer
            return blocks
        case _:
            assert_never(message)


def _blocks(content: str | Sequence[w.UserContent]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in [w.TextContent(content)] if isinstance(content, str) else content:
        if isinstance(part, w.ImageContent):
            image = {"format": part.mime_type.removeprefix("image/"), "source": {"bytes": part.data}}
            blocks.append({"image": image})
        elif part.text.strip():
            blocks.append({"text": part.text})
    return blocks


def _assistant(message: w.AssistantMessage) -> Iterator[dict[str, Any]]:
    for part in message.content:
        match part:
            case w.TextContent():
                if part.text.strip():
                    yield {"text": part.text}
            case w.ThinkingContent():
                if not part.thinking_signature:
                    continue  # rejected without its signature
                if part.redacted is True:
                    yield {"reasoningContent": {"redactedContent": part.thinking_signature}}
                else:
                    text = {"text": part.thinking, "signature": part.thinking_signature}
                    yield {"reasoningContent": {"reasoningText": text}}
            case w.ToolCall():
                yield {"toolUse": {"toolUseId": part.id, "name": part.name, "input": part.arguments}}
            case _:
                assert_never(part)
