"""Answers in the dialect `bedrock-converse-stream`, in binary frames."""

from binascii import a2b_base64, b2a_base64, crc32
from collections.abc import Iterator, Mapping
from struct import pack
from typing import Any
from urllib.parse import unquote

import msgspec

from tau.ai.aws_event_stream import FrameSplitter
from tests.support.cloud_validators import validate_bedrock
from tests.support.fake_answers import Answer, Call, Part, Text
from tests.support.fake_pieces import arguments_of, pieces

dump = msgspec.json.encode
STOPS = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use"}
EXCEPTIONS = {
    "rate_limit_error": "throttlingException",
    "overloaded_error": "serviceUnavailableException",
    "api_error": "internalServerException",
    "invalid_request_error": "validationException",
}


def encode_frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message with string headers."""
    block = b""
    for name, text in headers.items():
        value = text.encode()
        block += pack(">B", len(name)) + name.encode() + pack(">BH", 7, len(value)) + value
    lengths = pack(">II", 16 + len(block) + len(payload), len(block))
    frame = lengths + pack(">I", crc32(lengths)) + block + payload
    return frame + pack(">I", crc32(frame))


def base64(text: str) -> str:
    """As a blob is in JSON; text that is base64 already stays the same."""
    try:
        return b2a_base64(a2b_base64(text.encode(), strict_mode=True), newline=False).decode()
    except ValueError:
        return b2a_base64(text.encode(), newline=False).decode()


class Bedrock:
    name = "bedrock-converse-stream"
    base_path = ""
    content_type = "application/vnd.amazon.eventstream"
    claim = b'"stopReason":"'
    after_claim = 0
    after_end = 1
    events_before_arguments = 3
    overflow = ("ValidationException", "Input is too long for requested model.")
    validate = staticmethod(validate_bedrock)

    @property
    def ping(self) -> bytes:
        return self._event("ping", {})

    def whole(self, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
        blocks = [self._block(part, index, body) for index, part in enumerate(answer.parts)]
        return {
            "output": {"message": {"role": "assistant", "content": blocks}},
            "stopReason": STOPS.get(answer.stop_reason, answer.stop_reason),
            "usage": self._usage(answer),
            "metrics": {"latencyMs": 1},
        }

    def _id(self, index: int, body: dict[str, Any], call: Call) -> str:
        return call.id or f"tooluse_{len(body.get('messages', []))}_{index}"

    def _block(self, part: Part, index: int, body: dict[str, Any]) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"text": part.text}
        if isinstance(part, Call):
            id = self._id(index, body, part)
            return {"toolUse": {"toolUseId": id, "name": part.name, "input": part.arguments}}
        if part.redacted:
            return {"reasoningContent": {"redactedContent": base64(part.text)}}
        return {"reasoningContent": {"reasoningText": {"text": part.text, "signature": part.signature}}}

    def _usage(self, answer: Answer) -> dict[str, Any]:
        usage = answer.usage
        return {
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "totalTokens": usage.input + usage.output + usage.cache_read + usage.cache_write,
            "cacheReadInputTokens": usage.cache_read,
            "cacheWriteInputTokens": usage.cache_write,
        }

    def events(self, answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
        yield self._event("messageStart", {"role": "assistant"})
        for index, part in enumerate(answer.parts):
            if isinstance(part, Call):
                start = {"toolUse": {"toolUseId": self._id(index, body, part), "name": part.name}}
                yield self._event("contentBlockStart", {"start": start, "contentBlockIndex": index})
            for delta in self._deltas(part):
                yield self._event("contentBlockDelta", {"delta": delta, "contentBlockIndex": index})
            yield self._event("contentBlockStop", {"contentBlockIndex": index})
        stop = STOPS.get(answer.stop_reason, answer.stop_reason)
        yield self._event("messageStop", {"stopReason": stop})
        yield self._event("metadata", {"usage": self._usage(answer), "metrics": {"latencyMs": 1}})

    def _deltas(self, part: Part) -> Iterator[dict[str, Any]]:
        if isinstance(part, Text):
            for piece in pieces(part.text, part.deltas):
                yield {"text": piece}
        elif isinstance(part, Call):
            for piece in pieces(arguments_of(part), part.deltas):
                yield {"toolUse": {"input": piece}}
        elif part.redacted:
            yield {"reasoningContent": {"redactedContent": base64(part.text)}}
        else:
            for piece in pieces(part.text, part.deltas):
                yield {"reasoningContent": {"text": piece}}
            yield {"reasoningContent": {"signature": part.signature}}

    def _event(self, kind: str, payload: dict[str, Any]) -> bytes:
        headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
        return encode_frame(headers, dump(payload))

    def raw_event(self, data: bytes) -> bytes:
        headers = {
            ":event-type": "contentBlockDelta",
            ":content-type": "application/json",
            ":message-type": "event",
        }
        return encode_frame(headers, data)

    def replaced(self, event: bytes, old: bytes, new: bytes) -> bytes:
        [(headers, payload)] = FrameSplitter().feed(event)
        return encode_frame(headers, payload.replace(old, new))

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        return {"message": message or kind or "The request failed."}

    def error_event(self, kind: str, message: str) -> bytes:
        headers = {
            ":exception-type": EXCEPTIONS.get(kind, "modelStreamErrorException"),
            ":content-type": "application/json",
            ":message-type": "exception",
        }
        return encode_frame(headers, dump({"message": message}))

    def model(self, path: str, body: dict[str, Any]) -> str:
        return unquote(path.removesuffix("/converse-stream").rpartition("/")[2])

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return True

    def results(self, body: dict[str, Any]) -> int:
        blocks = [block for message in body["messages"] for block in message["content"]]
        return sum("toolResult" in block for block in blocks)

    def tools(self, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        specs = [tool["toolSpec"] for tool in (body.get("toolConfig") or {}).get("tools") or ()]
        return [(spec["name"], spec["inputSchema"]["json"]) for spec in specs]

    def system_bytes(self, body: dict[str, Any]) -> int:
        return sum(len(block.get("text", "").encode()) for block in body.get("system") or ())
