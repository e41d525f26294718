"""Rejects requests like Google and Amazon: what their servers would answer with status 400, as sentences."""

import re
from binascii import a2b_base64
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
GOOGLE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
CACHE_POINTS = 4
BUDGETS = range(24_577)
# What Google knows of JSON schema.
SCHEMA_KEYWORDS = frozenset(
    {
        *("type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems"),
        *("properties", "required", "minLength", "maxLength", "pattern", "anyOf", "minimum", "maximum"),
    }
)
SCHEMA_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})


def validate_google(body: dict[str, Any]) -> list[str]:
    """What is wrong with a body of `google-generative-ai`; empty if nothing is."""
    return list(_google(body))


def validate_bedrock(body: dict[str, Any]) -> list[str]:
    """What is wrong with a body of `bedrock-converse-stream`; empty if nothing is."""
    return list(_bedrock(body))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_base64(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(a2b_base64(value))
    except ValueError:
        return False


def _names(names: list[Any], pattern: re.Pattern[str]) -> Iterator[str]:
    if bad := [name for name in names if not isinstance(name, str) or not pattern.fullmatch(name)]:
        yield f"tools: {bad[0]!r} is not a name for a tool"
    if len(names) != len({str(name) for name in names}):
        yield "tools: names must be unique"


def _google(body: dict[str, Any]) -> Iterator[str]:
    known = {"contents", "tools", "toolConfig", "systemInstruction", "generationConfig"}
    yield from (f"Unknown name {name!r}: Cannot find field" for name in body.keys() - known)
    declared = [tool for group in body.get("tools") or () for tool in group.get("functionDeclarations") or ()]
    yield from _names([tool.get("name") for tool in declared], GOOGLE_NAME)
    for tool in declared:
        yield from _google_schema(tool.get("parametersJsonSchema", {"type": "object"}), str(tool.get("name")))
    config = body.get("generationConfig") or {}
    if not _is_count(config.get("maxOutputTokens")):
        yield "maxOutputTokens must be positive"
    thinking = config.get("thinkingConfig") or {}
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        yield "thinkingBudget and thinkingLevel cannot both be set"
    if thinking.get("thinkingBudget", 0) not in BUDGETS:
        yield "thinkingBudget is out of range"
    if thinking.get("thinkingLevel", "LOW") not in ("MINIMAL", "LOW", "MEDIUM", "HIGH"):
        yield "thinkingLevel: invalid value"
    mode = ((body.get("toolConfig") or {}).get("functionCallingConfig") or {}).get("mode", "AUTO")
    if mode not in ("AUTO", "ANY", "NONE", "VALIDATED"):
        yield "functionCallingConfig.mode: invalid value"
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield "contents is not specified"
        return
    if contents[0].get("role") != "user":
        yield "the first content must be a user's"
    for number, content in enumerate(contents):
        for problem in _google_content(content):
            yield f"contents[{number}]: {problem}"
    yield from _google_turns(contents, signed="thinkingLevel" in thinking)


def _google_schema(schema: Any, where: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"{where}: a schema must be an object"
        return
    yield from (f"{where}: Unknown name {name!r}" for name in schema.keys() - SCHEMA_KEYWORDS)
    kind = schema.get("type")
    if "anyOf" not in schema and (not isinstance(kind, str) or kind.lower() not in SCHEMA_TYPES):
        yield f"{where}: type {kind!r} is not one of the schema types"
    properties = schema.get("properties") or {}
    if missing := [name for name in schema.get("required") or () if name not in properties]:
        yield f"{where}.required: property {missing[0]} is not defined"
    for name, inner in properties.items():
        yield from _google_schema(inner, f"{where}.{name}")
    for inner in [*(schema.get("anyOf") or ()), *([schema["items"]] if "items" in schema else [])]:
        yield from _google_schema(inner, where)


def _google_content(content: dict[str, Any]) -> Iterator[str]:
    role, parts = content.get("role"), content.get("parts")
    if role not in ("user", "model"):
        yield f"please use a valid role, not {role!r}"
    if not parts:
        yield "contents.parts must not be empty"
    data = ("text", "inlineData", "functionCall", "functionResponse")
    for part in parts or ():
        if sum(name in part for name in data) != 1:
            yield f"a part must have one of {', '.join(data)}"
        if part.keys() - {*data, "thought", "thoughtSignature"}:
            yield f"unknown field in a part: {sorted(part)}"
        if ("functionCall" in part) > (role == "model") or ("functionResponse" in part) > (role == "user"):
            yield f"a content of the role {role} cannot have this part"
        image = part.get("inlineData")
        if image is not None and not (image.get("mimeType") and _is_base64(image.get("data"))):
            yield "inlineData: mimeType and base64 data are required"
        call = part.get("functionCall")
        if call is not None and not (call.get("name") and isinstance(call.get("args"), dict)):
            yield "functionCall: a name and an object of args are required"
        answer = part.get("functionResponse")
        if answer is not None and not (answer.get("name") and isinstance(answer.get("response"), dict)):
            yield "functionResponse: a name and an object are required"


def _google_turns(contents: list[dict[str, Any]], *, signed: bool) -> Iterator[str]:
    """Calls are answered in the next content, one response each; those of the current turn are signed."""
    waiting: list[Any] = []
    spoke = [
        at
        for at, content in enumerate(contents)
        if content.get("role") == "user"
        and any("functionResponse" not in p for p in content.get("parts") or ())
    ]
    for at, content in enumerate(contents):
        parts = content.get("parts") or []
        answered = [part["functionResponse"].get("id") for part in parts if "functionResponse" in part]
        if waiting and answered != waiting:
            yield "the number of function response parts must equal that of the function call parts"
        if answered and not waiting:
            yield "a function response turn must come right after a function call turn"
        calls = [part for part in parts if "functionCall" in part]
        waiting = [part["functionCall"].get("id") for part in calls]
        if signed and calls and at > max(spoke, default=-1) and not calls[0].get("thoughtSignature"):
            yield f"Function call is missing a thought_signature: {calls[0]['functionCall'].get('name')}"
    if waiting:
        yield "a function call has no response"


def _bedrock(body: dict[str, Any]) -> Iterator[str]:
    config = body.get("toolConfig")
    specs = [
        tool.get("toolSpec") or {} for tool in (config or {}).get("tools") or () if "cachePoint" not in tool
    ]
    if config is not None and not specs:
        yield "toolConfig.tools: must have at least one element"
    yield from _names([spec.get("name") for spec in specs], NAME)
    if any((spec.get("inputSchema") or {}).get("json", {}).get("type") != "object" for spec in specs):
        yield "toolConfig.tools: inputSchema.json.type must be one of the following: object"
    if any(spec.get("description") == "" for spec in specs):
        yield "toolConfig.tools: description must not be empty"
    if not _is_count((body.get("inferenceConfig") or {}).get("maxTokens", 1)):
        yield "inferenceConfig.maxTokens must be at least 1"
    if any(not block.get("text", "x").strip() for block in body.get("system") or ()):
        yield "system: The text field is blank"
    yield from _bedrock_thinking(body)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: A conversation must start with a user message"
        return
    blocks = [block for message in messages for block in message.get("content") or ()]
    points = sum("cachePoint" in block for block in [*blocks, *(body.get("system") or ())])
    if points > CACHE_POINTS:
        yield f"at most {CACHE_POINTS} cachePoints, found {points}"
    if config is None and any("toolUse" in block or "toolResult" in block for block in blocks):
        yield "The toolConfig field must be defined when using toolUse and toolResult content blocks"
    expected = "user"
    for number, message in enumerate(messages):
        if message.get("role") != expected:
            yield "A conversation must alternate between user and assistant roles, starting with user"
        expected = "assistant" if message.get("role") == "user" else "user"
        for problem in _bedrock_message(message):
            yield f"messages.{number}: {problem}"
    yield from _bedrock_calls(messages)


def _bedrock_thinking(body: dict[str, Any]) -> Iterator[str]:
    thinking = (body.get("additionalModelRequestFields") or {}).get("thinking") or {}
    config = body.get("inferenceConfig") or {}
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens", 0)
        if not 1024 <= budget < config.get("maxTokens", 0):
            yield "thinking.budget_tokens: must be at least 1024 and less than maxTokens"
        last = [message for message in body.get("messages") or () if message.get("role") == "assistant"][-1:]
        blocks = last[0].get("content") or [{}] if last else [{}]
        if any("toolUse" in block for block in blocks) and "reasoningContent" not in blocks[0]:
            yield "Expected `thinking` or `redacted_thinking` first"
    if thinking and "temperature" in config:
        yield "temperature may only be set to 1 when thinking is enabled"


def _bedrock_message(message: dict[str, Any]) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if not content:
        yield "The content field in the Message object is empty"
    kinds = {
        "user": ("text", "image", "toolResult", "cachePoint"),
        "assistant": ("text", "toolUse", "reasoningContent", "cachePoint"),
    }
    for block in content or ():
        if len(block) != 1 or not block.keys() <= set(kinds.get(str(role), ())):
            yield f"a {role} message cannot hold {sorted(block)}"
        yield from _bedrock_block(block)
    if role == "assistant" and content and "reasoningContent" in content[-1]:
        yield "The final block in an assistant message cannot be `thinking`"
    if content and "cachePoint" in content[0]:
        yield "a cachePoint must follow something to cache"


def _bedrock_block(block: dict[str, Any]) -> Iterator[str]:
    if "text" in block and not str(block["text"]).strip():
        yield "The text field in the ContentBlock object is blank"
    if (image := block.get("image")) is not None:
        if image.get("format") not in ("png", "jpeg", "gif", "webp"):
            yield f"image.format: invalid value {image.get('format')!r}"
        if not _is_base64((image.get("source") or {}).get("bytes")):
            yield "image.source.bytes: not a blob"
    if (call := block.get("toolUse")) is not None:
        if not CALL_ID.fullmatch(str(call.get("toolUseId", ""))) or not NAME.fullmatch(
            str(call.get("name", ""))
        ):
            yield "toolUse: toolUseId or name failed to satisfy the pattern"
        if not isinstance(call.get("input"), dict):
            yield "toolUse.input: must be an object"
    if (result := block.get("toolResult")) is not None:
        if not result.get("content"):
            yield "toolResult.content: must not be empty"
        for inner in result.get("content") or ():
            yield from _bedrock_block(inner)
    if (reasoning := block.get("reasoningContent")) is not None:
        text, redacted = reasoning.get("reasoningText"), reasoning.get("redactedContent")
        if text is not None and not (isinstance(text.get("text"), str) and text.get("signature")):
            yield "reasoningText: text and signature are required"
        if (text is None) == (redacted is None) or (redacted is not None and not _is_base64(redacted)):
            yield "reasoningContent: reasoningText or a blob of redactedContent is required"


def _bedrock_calls(messages: list[dict[str, Any]]) -> Iterator[str]:
    open_ids: list[Any] = []
    seen: set[Any] = set()
    for message in messages:
        content = message.get("content") or ()
        results = [block["toolResult"].get("toolUseId") for block in content if "toolResult" in block]
        if sorted(map(str, results)) != sorted(map(str, open_ids)):
            yield "Expected toolResult blocks for the toolUse blocks of the previous turn, one each"
        open_ids = [block["toolUse"].get("toolUseId") for block in content if "toolUse" in block]
        if seen & set(open_ids) or len(set(open_ids)) != len(open_ids):
            yield "toolUse ids must be unique"
        seen |= set(open_ids)
    if open_ids:
        yield "Expected toolResult blocks for the toolUse blocks of the last turn"
