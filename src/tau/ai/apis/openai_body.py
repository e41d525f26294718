"""Requests in the dialect `openai-completions`, with the quirks of its servers."""

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec

from tau.ai.apis.request import PlainMessage, effort_word, max_answer_tokens, tool_schema
from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import Model, UpstreamRouting
from tau.ai.normalization import NO_OUTPUT
from tau.ai.wire import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)

MAX_CACHE_KEY_CHARS = 64
SEE_IMAGES = "(the images follow)"
# For calls of other models: documented by Google for this purpose.
NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
FIELDS = ("reasoning", "reasoning_content", "reasoning_text")  # that answers bring thinking in
BRIDGE = "I have the results."


_encode = msgspec.json.Encoder().encode


def build_body(model: Model, request: Request) -> dict[str, Any]:
    """Build the request body. Parts that stay the same between requests come first."""
    compat = model.compat
    body: dict[str, Any] = {"model": model.id}
    if request.tools:
        body["tools"] = [{"type": "function", "function": _tool(tool, model)} for tool in request.tools]
    body["messages"] = list(_messages(model, request))
    body["stream"] = True
    if compat.supports_usage_in_streaming:
        body["stream_options"] = {"include_usage": True}
    if compat.max_tokens_field:
        body[compat.max_tokens_field] = max_answer_tokens(model, request, request.max_tokens)
    if request.tools and not compat.supports_parallel_tool_calls:
        body["parallel_tool_calls"] = False
    if request.tools and compat.supports_tool_choice and request.tool_choice != "auto":
        body["tool_choice"] = _choice(request.tool_choice)
    if model.reasoning:
        body.update(_thinking(model, request))
    if compat.template_arguments:
        body["chat_template_kwargs"] = {**compat.template_arguments, **body.get("chat_template_kwargs", {})}
    if request.temperature is not None and compat.supports_temperature:
        body["temperature"] = request.temperature
    if compat.supports_prompt_cache_key and request.cache_key and request.cache_retention != "none":
        body["prompt_cache_key"] = request.cache_key[:MAX_CACHE_KEY_CHARS]
        if request.cache_retention == "long" and compat.supports_long_cache_retention:
            body["prompt_cache_retention"] = "24h"
    if compat.routing != UpstreamRouting():
        body["provider"] = compat.routing
    if compat.supports_store:
        body["store"] = False
    if request.service_tier:
        body["service_tier"] = request.service_tier
    return body


def _tool(tool: ToolSpec, model: Model) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool_schema(tool, model)}


def _choice(choice: str) -> Any:
    if choice in ("none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


ON_AND_OFF = ("deepseek", "zai", "qwen", "together")
"""Formats that turn thinking on and off; a level may come with it."""


def _thinking(model: Model, request: Request) -> dict[str, Any]:
    """Ask for thinking in the field that the server reads; where it thinks by default, ask for none."""
    compat, thinks = model.compat, request.thinking != "off"
    word = effort_word(model, request.thinking) if compat.supports_reasoning_effort else None
    effort = {} if word is None else {"effort": word}
    sent: dict[str, Any] = {}
    match compat.thinking_format:
        case "effort":
            sent = {} if word is None else {"reasoning_effort": word}
        case "openrouter":
            sent = {"reasoning": effort} if effort else {}
        case "deepseek" | "zai":
            sent = {"thinking": {"type": "enabled" if thinks else "disabled"}}
        case "qwen":
            sent = {"enable_thinking": thinks}
        case "qwen-chat-template":
            sent = {"chat_template_kwargs": {"enable_thinking": thinks}}
        case "together":
            sent = {"reasoning": {"enabled": thinks}}
        case "mistral":  # models without levels have a mode
            mode = {"prompt_mode": "reasoning"} if thinks else {}
            sent = {"reasoning_effort": word} if word and model.thinking_level_map else mode
        case "none":
            pass
        case _:
            assert_never(compat.thinking_format)
    has_levels = compat.thinking_format == "deepseek" or model.thinking_level_map
    if thinks and word and compat.thinking_format in ON_AND_OFF and has_levels:
        sent["reasoning_effort"] = word
    if thinks and compat.thinking_budget_field:
        sent[compat.thinking_budget_field] = request.thinking_budget
    return sent


def _messages(model: Model, request: Request) -> Iterator[PlainMessage | dict[str, Any]]:
    if request.system.strip():
        role = "developer" if model.compat.supports_developer_role else "system"
        yield {"role": role, "content": request.system}
    images_shown: list[dict[str, Any]] = []  # images of results, which only user messages may have
    after_result = False
    for message in request.messages:
        if not isinstance(message, ToolResultMessage):
            if after_result and (images_shown or isinstance(message, UserMessage)):
                yield from _bridge(model)
            after_result = False
            yield from _user_images(images_shown)
            images_shown = []
        match message:
            case UserMessage():
                content = _user(message)
                yield PlainMessage("user", content) if isinstance(content, str) else _message("user", content)
            case AssistantMessage():
                yield _assistant(message, model)
            case ToolResultMessage():
                yield _result(message, model)
                after_result = True
                if images := [part for part in message.content if isinstance(part, ImageContent)]:
                    images_shown.append(_text(f"Images from {message.tool_name}:"))
                    images_shown.extend(_image(image) for image in images)
            case _:
                assert_never(message)
    if images_shown:
        yield from _bridge(model)
        yield from _user_images(images_shown)


def _bridge(model: Model) -> Iterator[dict[str, Any]]:
    """Some servers reject a user message right after a result."""
    if model.compat.requires_assistant_after_tool_result:
        yield {"role": "assistant", "content": BRIDGE}


def _user_images(parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if parts:
        yield _message("user", parts)


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: ImageContent) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{image.data}"}}


def _user(message: UserMessage) -> str | list[dict[str, Any]]:
    """Plain text if there is no image: not every server accepts a list."""
    content = message.content
    if isinstance(content, str):
        return content
    if any(isinstance(part, ImageContent) for part in content):
        return [_image(part) if isinstance(part, ImageContent) else _text(part.text) for part in content]
    return text_of(content)


def _result(message: ToolResultMessage, model: Model) -> dict[str, Any]:
    text = text_of(message.content)
    sent = {
        "role": "tool",
        "tool_call_id": message.tool_call_id,
        "content": text or (SEE_IMAGES if message.content else NO_OUTPUT),
    }
    if model.compat.requires_tool_result_name:
        sent["name"] = message.tool_name
    return sent


def _assistant(message: AssistantMessage, model: Model) -> PlainMessage | dict[str, Any]:
    compat = model.compat
    is_read = model.reasoning or compat.thinking_field == "same"
    field: str = compat.thinking_field if is_read else ""
    texts: list[str] = []
    thoughts: list[str] = []
    details: list[Any] = []
    calls: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, ToolCall):
            calls.append(_call(part))
        elif isinstance(part, ThinkingContent):
            if part.redacted is not True:
                thoughts += [part.thinking] if part.thinking else []
                if field == "same" and part.thinking_signature in FIELDS:
                    field = str(part.thinking_signature)
                # What the server sent with its reasoning is sent back unchanged.
                sent_with = _decode(part.thinking_signature)
                details += sent_with if isinstance(sent_with, list) else []
        else:
            texts.append(part.text)
    text, thinking = "".join(texts), "\n".join(thoughts)
    if text and len(message.content) == 1 and field in ("", "same", "content"):
        return PlainMessage("assistant", text)
    if compat.thinking_as_text and thinking:
        text = f"{thinking}\n\n{text}" if text else thinking
    sent: dict[str, Any] = {"role": "assistant"}
    if text:
        sent["content"] = text
    else:
        sent["content"] = "" if compat.requires_assistant_after_tool_result else None
    if field == "content":
        sent["content"] = _content(message) or sent["content"]
    elif field and field != "same":
        sent[field] = thinking  # even if empty: where it is read, it is required
    if details and field != "content":
        sent["reasoning_details"] = details
    if calls:
        sent["tool_calls"] = calls
        if compat.thought_signatures and not any("extra_content" in call for call in calls):
            calls[0]["extra_content"] = NO_SIGNATURE
    return sent


def _content(message: AssistantMessage) -> list[dict[str, Any]]:
    """Text and thinking as parts of the content, in their order."""
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, TextContent):
            parts.append(_text(part.text))
        elif isinstance(part, ThinkingContent) and part.redacted is not True:
            sent: dict[str, Any] = {"type": "thinking", "thinking": [_text(part.thinking)]}
            if part.thinking_signature:
                sent["signature"] = part.thinking_signature
            parts.append(sent)
    return parts


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = _encode(call.arguments).decode()
    sent: dict[str, Any] = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    if isinstance(extra := _decode(call.thought_signature), dict):
        sent["extra_content"] = extra
    return sent


def _decode(signature: str | msgspec.UnsetType) -> Any:
    """The JSON that the dialect stored as a signature; None if there is none."""
    if not isinstance(signature, str):
        return None
    try:
        return msgspec.json.decode(signature)
    except msgspec.DecodeError:
        return None
