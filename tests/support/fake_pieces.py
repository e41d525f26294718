"""What the fake dialects share: pieces of texts, ids of calls."""

import re
from itertools import pairwise
from typing import Any

import msgspec

from tests.support.fake_answers import Call

ERROR_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def pieces(text: str, count: int) -> list[str]:
    """`count` pieces of similar length; words stay whole if there are enough of them."""
    units = re.findall(r"\S+\s*|\s+", text)
    units = list(text) if len(units) < count else units
    count = max(1, min(count, len(units)))
    bounds = [len(units) * number // count for number in range(count + 1)]
    return ["".join(units[begin:end]) for begin, end in pairwise(bounds)]


def arguments_of(call: Call) -> str:
    text = msgspec.json.encode(call.arguments).decode() if call.json is None else call.json
    return text[: call.cut_at]


def call_id(prefix: str, body: dict[str, Any], index: int, call: Call) -> str:
    """Unique in a conversation, and the same for the same request."""
    return call.id or f"{prefix}_{len(body.get('messages') or body.get('input') or [])}_{index}"


def text_bytes(content: Any) -> int:
    if isinstance(content, str):
        return len(content.encode())
    return sum(text_bytes(part.get("text", "")) for part in content or ())


class EventStream:
    """A dialect in server-sent events whose requests name the model and ask for a stream."""

    content_type = "text/event-stream"

    def raw_event(self, data: bytes) -> bytes:
        return b"data: %b\n\n" % data

    def replaced(self, event: bytes, old: bytes, new: bytes) -> bytes:
        return event.replace(old, new)

    def model(self, path: str, body: dict[str, Any]) -> str:
        return str(body["model"])

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return bool(body.get("stream"))
