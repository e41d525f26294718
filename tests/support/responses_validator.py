"""Rejects requests of `openai-responses` like the vendor: what it would refuse, as sentences."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_ID_CHARS = 64
CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
REASONING = {"type", "id", "summary", "content", "encrypted_content"}
FIELDS = frozenset(
    {
        *("model", "tools", "instructions", "input", "stream", "store", "include", "max_output_tokens"),
        *("tool_choice", "parallel_tool_calls", "reasoning", "temperature", "prompt_cache_key"),
        *("prompt_cache_retention", "prompt_cache_options", "service_tier"),
    }
)
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def validate_responses(body: dict[str, Any]) -> list[str]:
    """What is wrong with a body of `openai-responses`; empty if nothing is."""
    return list(_body(body))


def _body(body: dict[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"].strip():
        yield "model: field required"
    for name in set(body) - FIELDS:
        yield f"unknown parameter: {name!r}"
    if body.get("store") is not False:
        yield "store: must be false"  # tau sends the whole history, and nothing stays behind
    most = body.get("max_output_tokens")
    if most is not None and (not isinstance(most, int) or most < 16):
        yield "max_output_tokens: must be at least 16"
    if len(body.get("prompt_cache_key") or "") > MAX_ID_CHARS:
        yield "prompt_cache_key: string too long"
    if body.get("prompt_cache_retention") not in (None, "in_memory", "24h"):
        yield "prompt_cache_retention: not a retention"
    reasoning = body.get("reasoning")
    if reasoning is not None and reasoning.get("effort") not in EFFORTS:
        yield "reasoning.effort: not an effort"
    yield from _tools(body)
    items = body.get("input")
    if not isinstance(items, list) or not items:
        yield "input: at least one item is required"
        return
    for number, item in enumerate(items):
        for problem in _item(item):
            yield f"input[{number}]: {problem}"
    yield from _order(items)


def _tools(body: dict[str, Any]) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body or "parallel_tool_calls" in body:
            yield "tool_choice: only allowed with tools"
        return
    if not tools:
        yield "tools: [] is too short"
    names = [tool.get("name") for tool in tools]
    if any(not isinstance(name, str) or not NAME.fullmatch(name) for name in names):
        yield "tools: not a name"
    if len(names) != len(set(names)):
        yield "tools: names must be unique"
    yield from _formats(tools)
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, dict):
        kinds = {(tool.get("type"), tool.get("name")) for tool in tools}
        if (choice.get("type"), choice.get("name")) not in kinds:
            yield "tool_choice: not one of the tools"
    elif choice not in ("auto", "none", "required"):
        yield "tool_choice: not a choice"


def _formats(tools: list[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        if tool.get("type") == "custom":
            format = tool.get("format") or {"type": "text"}
            if format.get("type") == "grammar" and format.get("syntax") not in ("lark", "regex"):
                yield "tools: unknown syntax of a grammar"
        elif tool.get("type") != "function":
            yield f"tools: unknown type {tool.get('type')!r}"
        elif (tool.get("parameters") or {}).get("type") != "object":
            yield "tools: parameters must be an object schema"
        elif tool.get("strict") is not False:
            yield "tools: a strict schema needs additionalProperties: false"


def _item(item: dict[str, Any]) -> Iterator[str]:
    match item.get("type", "message"):
        case "message":
            yield from _message(item)
        case "reasoning":
            if not item.get("id") or not isinstance(item.get("summary"), list):
                yield "reasoning: id and summary are required"
            if unknown := set(item) - REASONING:
                yield f"unknown parameter: {', '.join(sorted(unknown))}"
            if not item.get("encrypted_content") and not item.get("content"):
                yield f"Item with id {item.get('id')!r} not found. Items are not persisted"
        case "function_call":
            yield from _call(item)
            if not _is_json_object(item.get("arguments")):
                yield "arguments: not the JSON of an object"
        case "custom_tool_call":
            yield from _call(item)
            if not isinstance(item.get("input"), str):
                yield "input: must be a string"
        case "function_call_output" | "custom_tool_call_output":
            output = item.get("output")
            if isinstance(output, list):
                yield from _parts(output, "user")
            elif not isinstance(output, str):
                yield "output: must be a string or a list"
        case kind:
            yield f"unknown type {kind!r}"


def _call(item: dict[str, Any]) -> Iterator[str]:
    if not item.get("call_id") or len(item["call_id"]) > MAX_ID_CHARS:
        yield "call_id: must have 1 to 64 characters"
    if not NAME.fullmatch(str(item.get("name", ""))):
        yield "name: not a name"
    if "status" in item:
        yield "unknown parameter: status"


def _is_json_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(msgspec.json.decode(text), dict)
    except msgspec.DecodeError:
        return False


def _message(item: dict[str, Any]) -> Iterator[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        yield f"unexpected role {role!r}"
    if item.get("phase") not in (None, "commentary", "final_answer"):
        yield "phase: not a phase"
    if role == "assistant" and not str(item.get("id")).startswith("msg"):
        yield "id: expected an ID that begins with 'msg'"
    if isinstance(content, list):
        yield from _parts(content, str(role))
    elif not isinstance(content, str):
        yield "content: must be a string or a list"


def _parts(parts: list[dict[str, Any]], role: str) -> Iterator[str]:
    kinds = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image")
    if not parts:
        yield "content: must not be empty"
    for part in parts:
        if part.get("type") not in kinds:
            yield f"content: {part.get('type')!r} is none of {', '.join(kinds)}"
        elif part["type"] == "input_image":
            if not str(part.get("image_url", "")).startswith("data:image/"):
                yield "image_url: not an image"
        elif not isinstance(part.get("text"), str):
            yield "text: must be a string"


def _order(items: list[dict[str, Any]]) -> Iterator[str]:
    """Reasoning is followed by an item of its answer; nothing comes between calls and their outputs."""
    open_calls: dict[str, str] = {}
    seen: set[str] = set()
    after: str | None = None  # the reasoning that waits for its item
    sealed = False
    for item in [*items, {"type": "end"}]:
        kind = item.get("type", "message")
        if after is not None:
            if kind not in CALLS and not (kind == "message" and item.get("role") == "assistant"):
                yield f"Item {after!r} of type 'reasoning' was provided without its required following item"
            elif sealed and "id" not in item:
                yield f"Item {after!r} is followed by an item without an id"
            after = None
        if kind in CALLS:
            id = str(item.get("call_id"))
            if id in seen:
                yield f"call_id {id!r} is used twice"
            seen.add(id)
            open_calls[id] = CALLS[kind]
            continue
        if kind in CALLS.values():
            id = str(item.get("call_id"))
            if open_calls.pop(id, None) != kind:
                yield f"No tool call found for {kind} with call_id {id}"
            continue
        if open_calls:
            yield f"No tool output found for call {', '.join(sorted(open_calls))}"
            open_calls = {}
        if kind == "reasoning":
            after, sealed = str(item.get("id")), bool(item.get("encrypted_content"))
