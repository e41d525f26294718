"""Rejects requests like the vendors: what their servers would answer with status 400, as sentences."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
CACHE_MARKS = 4


def validate_anthropic(body: dict[str, Any]) -> list[str]:
    """What is wrong with a body of `anthropic-messages`; empty if nothing is."""
    return list(_anthropic(body))


def validate_openai(body: dict[str, Any]) -> list[str]:
    """What is wrong with a body of `openai-completions`; empty if nothing is."""
    return list(_openai(body))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_blank(value: Any) -> bool:
    return not isinstance(value, str) or not value.strip()


def _names(names: list[Any], pattern: re.Pattern[str]) -> Iterator[str]:
    for name in names:
        if not isinstance(name, str) or not pattern.fullmatch(name):
            yield f"tools: {name!r} is not a name for a tool"
    if len(names) != len({str(name) for name in names}):
        yield "tools: names must be unique"


def _anthropic(body: dict[str, Any]) -> Iterator[str]:
    if _is_blank(body.get("model")):
        yield "model: field required"
    if not _is_count(body.get("max_tokens")):
        yield "max_tokens: must be greater than 0"
    system = body.get("system")
    if isinstance(system, list) and any(_is_blank(block.get("text")) for block in system):
        yield "system: text content blocks must be non-empty"
    tools = body.get("tools") or []
    yield from _names([tool.get("name") for tool in tools], ANTHROPIC_NAME)
    if any((tool.get("input_schema") or {}).get("type") != "object" for tool in tools):
        yield "tools: input_schema.type must be 'object'"
    marks = _marks(tools) + _marks(system) + _marks(body.get("messages"))
    if marks > CACHE_MARKS:
        yield f"at most {CACHE_MARKS} blocks may have cache_control, found {marks}"
    yield from _anthropic_thinking(body)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    if messages[0].get("role") != "user":
        yield "messages: the first message must be a user's"
    for number, message in enumerate(messages):
        for problem in _anthropic_message(message, last=number == len(messages) - 1):
            yield f"messages.{number}: {problem}"
    yield from _anthropic_calls(messages)


def _marks(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_marks, value))
    if isinstance(value, dict):
        return ("cache_control" in value) + _marks(value.get("content"))
    return 0


def _anthropic_thinking(body: dict[str, Any]) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") not in ("enabled", "adaptive"):
        return
    if thinking["type"] == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            yield "thinking.budget_tokens: must be at least 1024"
        elif _is_count(body.get("max_tokens")) and budget >= body["max_tokens"]:
            yield "max_tokens: must be greater than thinking.budget_tokens"
        turn = _last_answer(body.get("messages") or [])
        if "tool_use" in turn and "thinking" not in turn[0]:
            yield f"messages: Expected `thinking` or `redacted_thinking`, but found `{turn[0]}`"
    if body.get("temperature", 1) != 1:
        yield "temperature: may only be 1 when thinking is on"


def _last_answer(messages: list[dict[str, Any]]) -> list[str]:
    """The kinds of blocks in the last turn of the assistant."""
    turn: list[str] = []
    for message in reversed(messages):
        if message.get("role") == "assistant":
            turn = [str(block.get("type")) for block in _blocks(message)] + turn
        elif turn:
            break
    return turn


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _anthropic_message(message: dict[str, Any], *, last: bool) -> Iterator[str]:
    role = message.get("role")
    if role not in ("user", "assistant"):
        yield f"unexpected role {role!r}"
    blocks = _blocks(message)
    if not blocks and not (last and role == "assistant"):
        yield "content must not be empty"
    kinds = {
        "user": ("text", "image", "document", "tool_result"),
        "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
    }
    for block in blocks:
        if block.get("type") not in kinds.get(str(role), ()):
            yield f"a {role} message cannot hold a block of type {block.get('type')!r}"
        yield from _anthropic_block(block)
    if role == "assistant" and blocks and "thinking" in str(blocks[-1].get("type")):
        yield "The final block in an assistant message cannot be `thinking`"
    if (
        last
        and role == "assistant"
        and blocks
        and str(blocks[-1].get("text", "")).endswith((" ", "\n", "\t"))
    ):
        yield "final assistant content cannot end with trailing whitespace"


def _anthropic_block(block: dict[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "text" if _is_blank(block.get("text")):
            yield "text content blocks must contain non-whitespace text"
        case "thinking" if not isinstance(block.get("thinking"), str) or _is_blank(block.get("signature")):
            yield "thinking.signature: field required"
        case "redacted_thinking" if _is_blank(block.get("data")):
            yield "redacted_thinking.data: field required"
        case "image" if not {"type", "media_type", "data"} <= set(block.get("source") or {"type": "url"}):
            yield "image.source: data and media_type are required"
        case "tool_use" if not CALL_ID.fullmatch(str(block.get("id", ""))):
            yield "tool_use.id: does not match the pattern ^[a-zA-Z0-9_-]+$"
        case "tool_use" if not ANTHROPIC_NAME.fullmatch(str(block.get("name", ""))):
            yield "tool_use.name: not a name"
        case "tool_use" if not isinstance(block.get("input"), dict):
            yield "tool_use.input: must be an object"
        case "tool_result":
            yield from _anthropic_result(block.get("content", []))


def _anthropic_result(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if block.get("type") not in ("text", "image", "document"):
            yield f"tool_result.content: unexpected type {block.get('type')!r}"
        yield from _anthropic_block(block)


def _anthropic_calls(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Each call has its result at the start of the next turn; consecutive messages of a role are one turn."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for message in messages:
        if turns and turns[-1][0] == message.get("role"):
            turns[-1][1].extend(_blocks(message))
        else:
            turns.append((str(message.get("role")), _blocks(message)))
    seen: set[str] = set()
    open_ids: list[str] = []
    for role, blocks in turns:
        results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        if missing := [id for id in open_ids if id not in results]:
            yield f"`tool_use` ids were found without `tool_result` blocks right after: {', '.join(missing)}"
        for id in results:
            if id not in open_ids:
                yield f"unexpected `tool_use_id` in `tool_result` blocks: {id} has no call in the turn before"
        if len(results) != len(set(results)):
            yield "each `tool_use` must have a single result"
        kinds = [block.get("type") == "tool_result" for block in blocks]
        if role == "user" and kinds != sorted(kinds, reverse=True):
            yield "`tool_result` blocks must come first in the content of a turn"
        open_ids = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if len(open_ids) != len(set(open_ids)) or seen & set(open_ids):
            yield "`tool_use` ids must be unique"
        seen |= set(open_ids)
    if open_ids:
        yield f"`tool_use` ids were found without `tool_result` blocks right after: {', '.join(open_ids)}"


def _openai(body: dict[str, Any]) -> Iterator[str]:
    if _is_blank(body.get("model")):
        yield "you must provide a model parameter"
    limits = [name for name in ("max_tokens", "max_completion_tokens") if body.get(name) is not None]
    if len(limits) > 1:
        yield "max_tokens and max_completion_tokens cannot both be set"
    if any(not _is_count(body[name]) for name in limits):
        yield f"{limits[0]} must be a positive integer"
    if body.get("stream_options") is not None and not body.get("stream"):
        yield "stream_options is only allowed when stream is enabled"
    tools = body.get("tools")
    if tools is not None and not tools:
        yield "tools: [] is too short"
    if any(tool.get("type") != "function" for tool in tools or ()):
        yield "tools: type must be 'function'"
    functions = [tool.get("function") or {} for tool in tools or ()]
    yield from _names([function.get("name") for function in functions], OPENAI_NAME)
    if any(function.get("parameters", {"type": "object"}).get("type") != "object" for function in functions):
        yield "tools: parameters must be an object schema"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: [] is too short"
        return
    if not any(message.get("role") == "user" for message in messages):
        yield "messages: there is no message of the user"
    for number, message in enumerate(messages):
        for problem in _openai_message(message):
            yield f"messages.{number}: {problem}"
    yield from _openai_calls(messages)


def _openai_message(message: dict[str, Any]) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("system", "developer", "user", "assistant", "tool"):
        yield f"unexpected role {role!r}"
    calls = message.get("tool_calls")
    if content is None and not (role == "assistant" and calls):
        yield "content must not be null"
    if isinstance(content, list):
        more = {"user": ("image_url", "refusal"), "assistant": ("image_url", "refusal", "thinking")}
        kinds = ("text", *more.get(str(role), ()))  # thinking is Mistral's
        if not content or any(part.get("type") not in kinds for part in content):
            yield f"content of a {role} message must be a list of {' or '.join(kinds)}"
    elif content is not None and not isinstance(content, str):
        yield "content must be a string or a list"
    if calls is not None and (role != "assistant" or not calls):
        yield "tool_calls must be a non-empty list of an assistant message"
    for call in calls or ():
        function = call.get("function") or {}
        if _is_blank(call.get("id")) or call.get("type") != "function":
            yield "tool_calls need an id and the type 'function'"
        if not OPENAI_NAME.fullmatch(str(function.get("name", ""))):
            yield "tool_calls.function.name: not a name"
        if not _is_json_object(function.get("arguments")):
            yield "tool_calls.function.arguments: not the JSON of an object"


def _is_json_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(msgspec.json.decode(text), dict)
    except msgspec.DecodeError:
        return False


def _openai_calls(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Each call is answered by a tool message before anything else follows."""
    open_ids: set[str] = set()
    for message in [*messages, {"role": "end"}]:
        if message.get("role") == "tool":
            id = str(message.get("tool_call_id"))
            if id not in open_ids:
                yield f"a message of role 'tool' must answer a preceding tool call, {id!r} does not"
            open_ids.discard(id)
            continue
        if open_ids:
            yield f"these tool_call_ids have no tool messages in response: {', '.join(sorted(open_ids))}"
        ids = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        if len(ids) != len(set(ids)):
            yield "tool_calls: ids must be unique"
        open_ids = set(ids)
