"""Requests in the dialect `ollama-chat`."""

from collections.abc import Iterator
from typing import Any, assert_never

from tau.ai.apis.request import PlainMessage, max_answer_tokens, tool_schema
from tau.ai.dialect import Request, ToolSpec
from tau.ai.model import Model
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


def build_body(model: Model, request: Request) -> dict[str, Any]:
    """Build the request body. Parts that stay the same between requests come first."""
    body: dict[str, Any] = {"model": model.id}
    if tools := _tools(request):
        body["tools"] = [{"type": "function", "function": _tool(tool, model)} for tool in tools]
    body["messages"] = list(_messages(request))
    body["stream"] = True
    # Without these, the server silently drops the start of a prompt or an answer that is too long.
    body["truncate"] = body["shift"] = False
    options: dict[str, Any] = {"num_predict": max_answer_tokens(model, request, request.max_tokens)}
    if model.compat.num_ctx:
        options["num_ctx"] = model.compat.num_ctx
    if request.temperature is not None and model.compat.supports_temperature:
        options["temperature"] = request.temperature
    body["options"] = options
    if model.reasoning:
        # Most models know yes and no only; some know words.
        word = model.thinking_level_map.get(request.thinking)
        body["think"] = word or request.thinking != "off"
    return body


def _tools(request: Request) -> list[ToolSpec]:
    """The dialect has no tool choice: offer what may be called."""
    match request.tool_choice:
        case "none":
            return []
        case "auto" | "required":
            return request.tools
        case name:
            return [tool for tool in request.tools if tool.name == name] or request.tools


def _tool(tool: ToolSpec, model: Model) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool_schema(tool, model)}


def _messages(request: Request) -> Iterator[PlainMessage | dict[str, Any]]:
    if request.system.strip():
        yield PlainMessage("system", request.system)
    for message in request.messages:
        match message:
            case UserMessage():
                yield _user(message)
            case AssistantMessage():
                yield _assistant(message)
            case ToolResultMessage():
                images = [part.data for part in message.content if isinstance(part, ImageContent)]
                yield {
                    "role": "tool",
                    "content": text_of(message.content) or ("" if images else NO_OUTPUT),
                    "tool_name": message.tool_name,
                    "tool_call_id": message.tool_call_id,
                    **({"images": images} if images else {}),
                }
            case _:
                assert_never(message)


def _user(message: UserMessage) -> PlainMessage | dict[str, Any]:
    if isinstance(message.content, str):
        return PlainMessage("user", message.content)
    images = [part.data for part in message.content if isinstance(part, ImageContent)]
    text = text_of(message.content)
    return {"role": "user", "content": text, "images": images} if images else PlainMessage("user", text)


def _assistant(message: AssistantMessage) -> PlainMessage | dict[str, Any]:
    """Thinking goes back as it came: templates show it to the model where it helps."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in message.content:
        match part:
            case TextContent():
                texts.append(part.text)
            case ThinkingContent():
                if part.redacted is not True and part.thinking:
                    thoughts.append(part.thinking)
            case ToolCall():
                function = {"index": len(calls), "name": part.name, "arguments": part.arguments}
                calls.append({"id": part.id, "function": function})
            case _:
                assert_never(part)
    text = "".join(texts)
    if text and len(message.content) == 1:
        return PlainMessage("assistant", text)
    sent: dict[str, Any] = {"role": "assistant", "content": text}
    if thoughts:
        sent["thinking"] = "\n".join(thoughts)
    if calls:
        sent["tool_calls"] = calls
    return sent
