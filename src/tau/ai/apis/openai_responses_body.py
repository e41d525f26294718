"""Requests in the dialect `openai-responses`: the whole history each time, nothing stored by the server."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

import msgspec
from msgspec import Struct, UnsetType

from tau.ai.apis.request import (
    PlainMessage,
    compared_response,
    effort_word,
    max_answer_tokens,
    tool_schema,
)
from tau.ai.dialect import CustomFormat, Request, ToolSpec
from tau.ai.model import Model
from tau.ai.normalization import NO_OUTPUT
from tau.ai.wire import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
    signature_of,
    text_of,
)

MIN_OUTPUT_TOKENS = 16  # less is refused
MAX_CACHE_KEY_CHARS = 64
ENCRYPTED = "reasoning.encrypted_content"
# What a reasoning item may have when it is sent back; servers refuse the rest of what they sent.
REASONING_FIELDS = ("type", "id", "summary", "content", "encrypted_content")


class TextSignature(Struct, frozen=True, omit_defaults=True):
    """What a message item has besides its text. `phase` says if it is commentary or the final answer."""

    v: int  # the version of this format, 1
    id: str = ""
    phase: str = ""


class CallSignature(Struct, frozen=True, omit_defaults=True):
    id: str = ""


_TEXT_SIGNATURE = msgspec.json.Decoder(TextSignature)
_CALL_SIGNATURE = msgspec.json.Decoder(CallSignature)
Item = PlainMessage | dict[str, Any]


def build_body(model: Model, request: Request) -> dict[str, Any]:
    """Build the request body. Parts that stay the same between requests come first."""
    compat = model.compat
    body: dict[str, Any] = {"model": model.id}
    if request.tools:
        body["tools"] = [_tool(tool, model) for tool in request.tools]
    if request.system.strip():
        body["instructions"] = request.system
    body["input"] = list(_items(model, request))
    body["stream"] = True
    body["store"] = False
    if model.reasoning:
        body["include"] = [ENCRYPTED]
    if compat.max_tokens_field:
        wanted = max_answer_tokens(model, request, request.max_tokens)
        body["max_output_tokens"] = max(wanted, MIN_OUTPUT_TOKENS)
    body.update(_choice(model, request))
    effort = effort_word(model, request.thinking) if compat.supports_reasoning_effort else None
    if effort is not None:
        body["reasoning"] = {"effort": effort}
        if request.thinking != "off":
            body["reasoning"]["summary"] = "auto"
    if request.temperature is not None and compat.supports_temperature and not model.reasoning:
        body["temperature"] = request.temperature
    body.update(_cache(model, request))
    if request.service_tier:
        body["service_tier"] = request.service_tier
    return body


def _tool(tool: ToolSpec, model: Model) -> dict[str, Any]:
    if (custom := custom_format(tool, model)) is not None:
        format = {"type": "grammar", "syntax": "lark", "definition": custom.grammar}
        return {"type": "custom", "name": custom.name, "description": tool.description, "format": format}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool_schema(tool, model),
        "strict": False,  # the default, true, changes the schema
    }


def custom_format(tool: ToolSpec, model: Model) -> CustomFormat | None:
    """How the tool takes text instead of JSON; None if it or the model does not."""
    return tool.custom if model.compat.grammar_tools else None


def _choice(model: Model, request: Request) -> dict[str, object]:
    sent: dict[str, object] = {}
    if not request.tools:
        return sent
    if not model.compat.supports_parallel_tool_calls:
        sent["parallel_tool_calls"] = False
    if request.tool_choice in ("none", "required"):
        sent["tool_choice"] = request.tool_choice
    elif request.tool_choice != "auto":
        chosen = next((tool for tool in request.tools if tool.name == request.tool_choice), None)
        custom = None if chosen is None else custom_format(chosen, model)
        if custom is not None:
            sent["tool_choice"] = {"type": "custom", "name": custom.name}
        else:
            sent["tool_choice"] = {"type": "function", "name": request.tool_choice}
    return sent


def _cache(model: Model, request: Request) -> dict[str, Any]:
    sent: dict[str, object] = {}
    if request.cache_retention == "none":
        return sent
    if model.compat.supports_prompt_cache_key and request.cache_key:
        sent["prompt_cache_key"] = request.cache_key[:MAX_CACHE_KEY_CHARS]
    if request.cache_retention == "long" and model.compat.supports_long_cache_retention:
        sent["prompt_cache_retention"] = "24h"
    diagnosed = model.compat.cache_diagnostics and not model.custom_address
    if diagnosed and (compared := compared_response(model, request)):
        sent["prompt_cache_options"] = {"comparison_response_id": compared}
    return sent


def _items(model: Model, request: Request) -> Iterator[Item]:
    custom = {format.name for tool in request.tools if (format := custom_format(tool, model)) is not None}
    messages = request.messages
    for place, message in enumerate(messages):
        match message:
            case UserMessage():
                yield _user(message)
            case AssistantMessage():
                yield from _answer(message, place, _results(messages, place + 1), custom)
            case ToolResultMessage():
                pass  # sent after its call
            case _:
                assert_never(message)


def _results(messages: Sequence[object], start: int) -> dict[str, ToolResultMessage]:
    """The results right after an answer, by call."""
    found: dict[str, ToolResultMessage] = {}
    for message in messages[start:]:
        if not isinstance(message, ToolResultMessage):
            break
        found[message.tool_call_id] = message
    return found


def _answer(
    message: AssistantMessage, place: int, results: dict[str, ToolResultMessage], custom: set[str]
) -> Iterator[Item]:
    """The items of an answer. Nothing may come between a call and its output."""
    outputs: list[Item] = []
    reasoning: dict[str, Any] | None = None  # sent only if something of the same answer follows
    for number, part in enumerate(message.content):
        if not isinstance(part, ToolCall):
            yield from outputs
            outputs = []
        match part:
            case ThinkingContent():
                reasoning = _reasoning(part) or reasoning
                continue
            case TextContent():
                if not part.text.strip():
                    continue
                item = _message(part, f"msg_{place}_{number}")
            case ToolCall():
                item = _call(part, custom)
                if (result := results.get(part.id)) is not None:
                    outputs.append(_output(result, is_custom=item["type"] == "custom_tool_call"))
            case _:
                assert_never(part)
        if reasoning is not None and _follows(part, reasoning):
            yield reasoning
        reasoning = None
        yield item
    yield from outputs


def _follows(part: TextContent | ToolCall, reasoning: dict[str, object]) -> bool:
    """Whether the server knows the part as the one after its reasoning. It refuses sealed reasoning alone."""
    return "encrypted_content" not in reasoning or bool(signature_of(part))


def _reasoning(part: ThinkingContent) -> dict[str, object] | None:
    """The item as it came; None if its server would not know it anymore."""
    try:
        item = msgspec.json.decode(signature_of(part) or b"null")
    except msgspec.DecodeError:
        return None
    if not isinstance(item, dict) or not (item.get("encrypted_content") or item.get("content")):
        return None
    return {name: item[name] for name in REASONING_FIELDS if item.get(name) is not None}


def _message(part: TextContent, id: str) -> dict[str, object]:
    """A message item. Some servers want an id even if they did not give it one."""
    signature = _decode(_TEXT_SIGNATURE, signature_of(part)) or TextSignature(1)
    return {
        "type": "message",
        "id": signature.id or id,
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": part.text, "annotations": []}],
        **({"phase": signature.phase} if signature.phase else {}),
    }


def _call(call: ToolCall, custom: set[str]) -> dict[str, object]:
    name, text = call.custom_wire_name, call.arguments.get("input")
    sent: dict[str, object]
    if not isinstance(name, UnsetType) and name in custom and isinstance(text, str):
        sent = {"type": "custom_tool_call", "call_id": call.id, "name": name, "input": text}
    else:
        arguments = msgspec.json.encode(call.arguments).decode()
        sent = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
    signature = _decode(_CALL_SIGNATURE, signature_of(call))
    return {**sent, "id": signature.id} if signature is not None and signature.id else sent


def _decode(decoder: "msgspec.json.Decoder[Any]", signature: str) -> Any:
    try:
        return decoder.decode(signature) if signature else None
    except msgspec.MsgspecError:
        return None


def _output(result: ToolResultMessage, *, is_custom: bool) -> dict[str, object]:
    if any(isinstance(part, ImageContent) for part in result.content):
        output: Any = _parts(result.content)
    else:
        output = text_of(result.content) or NO_OUTPUT
    kind = "custom_tool_call_output" if is_custom else "function_call_output"
    return {"type": kind, "call_id": result.tool_call_id, "output": output}


def _user(message: UserMessage) -> Item:
    content = message.content
    if isinstance(content, str):
        return PlainMessage("user", content)
    if any(isinstance(part, ImageContent) for part in content):
        return {"role": "user", "content": _parts(content)}
    return PlainMessage("user", text_of(content))


def _parts(content: Sequence[UserContent]) -> list[dict[str, Any]]:
    return [
        {"type": "input_image", "image_url": f"data:{part.mime_type};base64,{part.data}", "detail": "auto"}
        if isinstance(part, ImageContent)
        else {"type": "input_text", "text": part.text}
        for part in content
    ]
