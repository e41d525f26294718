"""Requests in the dialect `google-generative-ai`."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from msgspec import UNSET, UnsetType

from tau.ai.apis.request import max_answer_tokens
from tau.ai.apis.schema import clean_schema
from tau.ai.dialect import Request
from tau.ai.model import Model, SchemaRule
from tau.ai.normalization import NO_OUTPUT
from tau.ai.wire import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
    text_of,
)

# For calls of other models: documented by Google for this purpose.
SKIP_SIGNATURE = "skip_thought_signature_validator"
SEE_IMAGES = "(the images follow)"
LEAST_LEVEL = "LOW"  # that every model with levels knows
MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS = 512, 24_576  # that every model with budgets takes
MIN_TOKENS_AFTER_THINKING = 1024
SCHEMA_RULES: tuple[SchemaRule, ...] = ("inline-refs", "no-null", "typed", "known-keywords")


def build_body(model: Model, request: Request) -> dict[str, Any]:
    """Build the request body. Parts that stay the same between requests come first."""
    body: dict[str, Any] = {}
    if request.tools:
        rules = model.compat.schema_rules or SCHEMA_RULES
        declared = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": clean_schema(tool.parameters, rules),
            }
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declared}]
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    body["contents"] = list(_contents(request.messages, model))
    if request.tools and request.tool_choice != "auto" and model.compat.supports_tool_choice:
        body["toolConfig"] = {"functionCallingConfig": _tool_choice(request.tool_choice)}
    body["generationConfig"] = _generation(model, request)
    return body


def _tool_choice(choice: str) -> dict[str, Any]:
    if choice in ("none", "required"):
        return {"mode": "NONE" if choice == "none" else "ANY"}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _generation(model: Model, request: Request) -> dict[str, Any]:
    wanted = request.max_tokens
    thinking = _thinking(model, request)
    if budget := thinking.get("thinkingBudget"):
        wanted += budget  # counted as part of the answer
    config: dict[str, Any] = {"maxOutputTokens": max_answer_tokens(model, request, wanted)}
    if budget:
        room = config["maxOutputTokens"] - MIN_TOKENS_AFTER_THINKING
        thinking["thinkingBudget"] = min(budget, max(room, MIN_BUDGET_TOKENS))
    if thinking:
        config["thinkingConfig"] = thinking
    if request.temperature is not None and model.compat.supports_temperature:
        config["temperature"] = request.temperature
    return config


def has_levels(model: Model) -> bool:
    """Whether the model takes levels of thinking, as Gemini 3 and later do. Earlier ones take budgets.

    The same models require signatures of calls, and take images in results.
    """
    return any(word and not word.isdigit() for word in model.thinking_level_map.values())


def _thinking(model: Model, request: Request) -> dict[str, Any]:
    if not model.reasoning:
        return {}
    level = request.thinking
    word = model.thinking_level_map.get(level, "")
    if has_levels(model):
        if level == "off":
            return {"thinkingLevel": (word or LEAST_LEVEL).upper()}
        return {"includeThoughts": True, "thinkingLevel": (word or level).upper()}
    if level == "off":
        return {} if word is None else {"thinkingBudget": int(word or 0)}
    budget = int(word) if word else min(request.thinking_budget, MAX_BUDGET_TOKENS)
    return {"includeThoughts": True, "thinkingBudget": budget}


def _contents(messages: Sequence[Message], model: Model) -> Iterator[dict[str, Any]]:
    current = max((at for at, message in enumerate(messages) if isinstance(message, UserMessage)), default=0)
    needs_signatures = model.compat.thought_signatures or has_levels(model)
    results: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = []  # of results, for models that take them from the user only
    for at, message in enumerate(messages):
        if not isinstance(message, ToolResultMessage):
            yield from _user(results)
            yield from _user(images)
            results, images = [], []
        match message:
            case UserMessage():
                yield from _user(_parts(message.content))
            case AssistantMessage():
                parts = list(_assistant(message))
                if needs_signatures and at > current:
                    _sign_first_call(parts)
                if parts:
                    yield {"role": "model", "parts": parts}
            case ToolResultMessage():
                results.append(_result(message, has_levels(model)))
                if not has_levels(model) and any(isinstance(part, ImageContent) for part in message.content):
                    images.append({"text": f"Images from {message.tool_name}:"})
                    images += [_image(part) for part in message.content if isinstance(part, ImageContent)]
            case _:
                assert_never(message)
    yield from _user(results)
    yield from _user(images)


def _user(parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if parts:
        yield {"role": "user", "parts": parts}


def _sign_first_call(parts: list[dict[str, Any]]) -> None:
    """The server rejects a call of the current turn without a signature; parallel calls share the first."""
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None and "thoughtSignature" not in first:
        first["thoughtSignature"] = SKIP_SIGNATURE


def _parts(content: str | Sequence[UserContent]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in [TextContent(content)] if isinstance(content, str) else content:
        if isinstance(part, ImageContent):
            parts.append(_image(part))
        elif part.text.strip():
            parts.append({"text": part.text})
    return parts


def _image(image: ImageContent) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image.mime_type, "data": image.data}}


def _result(message: ToolResultMessage, takes_images: bool) -> dict[str, Any]:
    images = [part for part in message.content if isinstance(part, ImageContent)]
    text = text_of(message.content) or (SEE_IMAGES if images else NO_OUTPUT)
    response: dict[str, Any] = {
        "id": message.tool_call_id,
        "name": message.tool_name,
        "response": {"error" if message.is_error else "output": text},
    }
    if images and takes_images:
        response["parts"] = [_image(image) for image in images]
    return {"functionResponse": response}


def _assistant(message: AssistantMessage) -> Iterator[dict[str, Any]]:
    for part in message.content:
        match part:
            case TextContent():
                if part.text.strip():
                    yield _signed({"text": part.text}, part.text_signature)
            case ThinkingContent():
                if not part.thinking_signature:
                    continue  # a summary for people
                sent: dict[str, Any] = {"text": part.thinking}
                if part.thinking:
                    sent["thought"] = True
                yield _signed(sent, part.thinking_signature)
            case ToolCall():
                call = {"id": part.id, "name": part.name, "args": part.arguments}
                yield _signed({"functionCall": call}, part.thought_signature)
            case _:
                assert_never(part)


def _signed(part: dict[str, Any], signature: str | UnsetType) -> dict[str, Any]:
    return part if signature is UNSET or not signature else {**part, "thoughtSignature": signature}
