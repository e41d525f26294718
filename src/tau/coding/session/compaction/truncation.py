"""Shortens a message that is too large: keeps its start and end, with a note in between."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.ai import wire as w
from tau.coding.session.compaction.estimate import (
    IMAGE_TOKENS,
    json_tokens,
    message_tokens,
    parts_tokens,
    text_tokens,
)

NOTE_TOKENS = 40  # of the note in the middle
SMALLEST_TOKENS = 64  # no message is shortened below this
IMAGE_NOTE = "[an image was here; it was removed to save space]"


class ShortenedMessages(Struct, frozen=True):
    """The changed messages by index, and the total tokens."""

    changed: dict[int, w.AppMessage]
    tokens: int


def fit(messages: Sequence[w.AppMessage], costs: Sequence[int], room_tokens: float) -> ShortenedMessages:
    """Shorten the largest messages until all take at most `room_tokens` together, or none can shrink."""
    total = sum(costs)
    if total <= room_tokens:
        return ShortenedMessages({}, total)
    cap = _cap(costs, room_tokens)
    while True:  # some messages cannot shrink enough, so the others must shrink more
        fitted = _capped(messages, costs, cap)
        if fitted.tokens <= room_tokens or cap <= SMALLEST_TOKENS:
            return fitted
        cap = max(cap * 2 // 3, SMALLEST_TOKENS)


def _capped(messages: Sequence[w.AppMessage], costs: Sequence[int], cap: int) -> ShortenedMessages:
    total = sum(costs)
    changed: dict[int, w.AppMessage] = {}
    for index, cost in enumerate(costs):
        if cost > cap and (smaller := shortened(messages[index], cap)) is not None:
            changed[index] = smaller
            total += message_tokens(smaller) - cost
    return ShortenedMessages(changed, total)


def _cap(costs: Sequence[int], room_tokens: float) -> int:
    """The most that each message may take so that all fit; small ones are unaffected."""
    left = room_tokens
    ordered = sorted(costs)
    for index, cost in enumerate(ordered):
        share = left / (len(ordered) - index)
        if cost > share:
            return max(int(share), SMALLEST_TOKENS)
        left -= cost
    return max(ordered[-1], SMALLEST_TOKENS)


def shortened(message: w.AppMessage, max_tokens: int) -> w.AppMessage | None:
    """The message within about `max_tokens`; None if it cannot be shortened."""
    max_tokens = max(max_tokens, SMALLEST_TOKENS)
    smaller: w.AppMessage
    match message:
        case w.ToolResultMessage():
            kept = _parts(message.content, max_tokens - 12, artifact_of(message.details))
            smaller = replace(message, content=kept)
        case w.UserMessage() | w.CustomMessage():
            content = message.content
            if isinstance(content, str):
                smaller = replace(message, content=cut_text(content, max_tokens - 4))
            else:
                smaller = replace(message, content=_parts(content, max_tokens - 4, ""))
        case w.AssistantMessage():
            smaller = replace(message, content=_answer(message.content, max_tokens))
        case _:
            return None
    return smaller if message_tokens(smaller) < message_tokens(message) else None


def cut_text(text: str, max_tokens: int, more: str = "") -> str:
    """The start and end of a text; the note between them says how much is missing."""
    tokens = text_tokens(text)
    if tokens <= max_tokens:
        return text
    share = max(max_tokens - NOTE_TOKENS, 8) / tokens
    while True:
        head, tail = int(len(text) * share * 0.6), int(len(text) * share * 0.4)
        missing = len(text) - head - tail
        note = f"[… {missing} characters omitted here to save space{more} …]"
        cut = f"{text[:head].rstrip()}\n{note}\n{text[len(text) - tail :].lstrip() if tail else ''}"
        if text_tokens(cut) <= max_tokens or share < 0.001:
            return cut
        share *= 0.8


def artifact_of(details: object) -> str:
    """Where the full output is, as the end of a sentence; empty if it is not stored elsewhere."""
    try:
        found = plain(details)["meta"]["truncation"]["artifactId"]
    except (KeyError, TypeError):
        return ""
    return f"; full output: artifact://{found}" if isinstance(found, str) else ""


def plain(details: object) -> Any:
    """A tool's details as plain data, whether they come from the log or from the tool."""
    if isinstance(details, (dict, list, str, UnsetType)) or details is None:
        return details
    try:
        return msgspec.to_builtins(details, enc_hook=str, str_keys=True)
    except (TypeError, ValueError):
        return UNSET


def _parts(content: Sequence[w.UserContent], max_tokens: int, more: str) -> list[w.UserContent]:
    """Texts share the room by size; images go if they take more than half of it."""
    images = sum(isinstance(part, w.ImageContent) for part in content) * IMAGE_TOKENS
    if images > max_tokens // 2:
        content = [
            w.TextContent(IMAGE_NOTE) if isinstance(part, w.ImageContent) else part for part in content
        ]
        images = 0
    texts = parts_tokens([part for part in content if isinstance(part, w.TextContent)])
    room = max(max_tokens - images, 0)
    share = room / max(texts, 1)
    kept: list[w.UserContent] = []
    for part in content:
        if isinstance(part, w.ImageContent) or share >= 1:
            kept.append(part)
        elif (size := int(text_tokens(part.text) * share)) >= NOTE_TOKENS or not kept:
            kept.append(w.TextContent(cut_text(part.text, size, more)))
    return kept


def _answer(content: Sequence[w.AssistantContent], max_tokens: int) -> list[w.AssistantContent]:
    """Cut text, thinking and call arguments; signed thinking stays, because servers check it."""
    sizes = [_size(part) for part in content]
    share = max_tokens / max(sum(sizes), 1)
    if share >= 1:
        return list(content)
    kept: list[w.AssistantContent] = []
    for part, size in zip(content, sizes, strict=True):
        room = int(size * share)
        match part:
            case w.TextContent():
                kept.append(w.TextContent(cut_text(part.text, room)))
            case w.ToolCall():
                kept.append(replace(part, arguments=_arguments(part.arguments, size, room)))
            case w.ThinkingContent() if size:
                kept.append(replace(part, thinking=cut_text(part.thinking, room)))
            case _:
                kept.append(part)
    return kept


def _size(part: w.AssistantContent) -> int:
    """What can be made smaller."""
    match part:
        case w.TextContent():
            return text_tokens(part.text)
        case w.ToolCall():
            return json_tokens(part.arguments)
        case w.ThinkingContent(thinking_signature=UnsetType()):
            return text_tokens(part.thinking)
    return 0


def _arguments(arguments: dict[str, object], size: int, room: int) -> dict[str, Any]:
    """Cut long texts in the arguments; arguments without any that are too large become a note."""
    share = room / max(size, 1)
    cut = {key: _value(value, share) for key, value in arguments.items()}
    if json_tokens(cut) <= max(room, SMALLEST_TOKENS):
        return cut
    each = max(room // max(len(arguments), 1), 16)
    brief = {
        key: value if isinstance(value, (int, float, bool)) or value is None else _head(str(value), each)
        for key, value in list(arguments.items())[:10]
    }
    return brief if json_tokens(brief) < size else arguments


def _head(text: str, max_tokens: int) -> str:
    """The start only, if there is no room for a note and both ends."""
    return text if text_tokens(text) <= max_tokens else f"{text[: max_tokens * 2]}…"


def _value(value: object, share: float) -> object:
    if isinstance(value, str):
        size = text_tokens(value)
        return cut_text(value, max(int(size * share), NOTE_TOKENS + 8)) if size > 100 else value
    if isinstance(value, list):
        return [_value(item, share) for item in value]
    if isinstance(value, dict):
        return {key: _value(item, share) for key, item in value.items()}
    return value
