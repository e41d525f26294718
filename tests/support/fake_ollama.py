"""Answers in the dialect `ollama-chat`, and what its server would reject."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.support.cloud_validators import _is_base64, _is_count
from tests.support.fake_answers import Answer, Call, Text, Thinking
from tests.support.fake_pieces import EventStream, arguments_of, call_id, pieces, text_bytes

dump = msgspec.json.encode
FIELDS = {"model", "messages", "tools", "stream", "options", "think", "format", "keep_alive"}
OPTIONS = {"num_ctx", "num_predict", "temperature", "seed", "stop", "top_k", "top_p"}
WORDS = ("high", "medium", "low", "max")


def validate_ollama(body: dict[str, Any]) -> list[str]:
    """What is wrong with a body of `ollama-chat`; empty if nothing is."""
    return list(_body(body))


def _body(body: dict[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model is required"
    if unknown := body.keys() - {*FIELDS, "truncate", "shift"}:
        yield f"unknown field {min(unknown)}"
    if not isinstance(body.get("think", True), bool) and body["think"] not in WORDS:
        yield f'invalid think value: {body["think"]!r} (must be "high", "medium", "low", true, or false)'
    options = body.get("options") or {}
    if unknown := options.keys() - OPTIONS:
        yield f"invalid option provided: {min(unknown)}"
    yield from (
        f"option {name} must be of type integer"
        for name in ("num_ctx", "num_predict")
        if name in options and not _is_count(options[name])
    )
    for tool in body.get("tools") or ():
        function = tool.get("function") or {}
        if not function.get("name") or (function.get("parameters") or {}).get("type") != "object":
            yield "tools: a name and an object of parameters are required"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages are required"
        return
    for number, message in enumerate(messages):
        yield from (f"messages.{number}: {problem}" for problem in _message(message))


def _message(message: dict[str, Any]) -> Iterator[str]:
    role = message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        yield f"invalid role: {role!r}"
    if not isinstance(message.get("content"), str):
        yield "cannot unmarshal content into a string"
    if not all(map(_is_base64, message.get("images") or ())):
        yield "illegal base64 data"
    if role == "tool" and not message.get("tool_name"):
        yield "a result needs tool_name"
    if "tool_calls" in message and role != "assistant":
        yield "only the assistant calls tools"
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        if not function.get("name") or not isinstance(function.get("arguments"), dict):
            yield "tool_calls: a name and an object of arguments are required"


class Ollama(EventStream):
    name = "ollama-chat"
    base_path = ""
    content_type = "application/x-ndjson"
    ping = b"\n"
    claim = b'"done":true'
    after_claim = 0
    after_end = 0
    events_before_arguments = 1
    overflow = ("", "the input length exceeds the context length")
    validate = staticmethod(validate_ollama)

    def raw_event(self, data: bytes) -> bytes:
        return data + b"\n"

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return body.get("stream") is not False

    def _line(self, body: dict[str, Any], message: dict[str, Any], **more: Any) -> dict[str, Any]:
        known = {"model": body.get("model", ""), "created_at": "2026-01-02T03:04:05.6Z"}
        return {**known, "message": {"role": "assistant", "content": "", **message}, "done": False, **more}

    def _end(self, answer: Answer) -> dict[str, Any]:
        usage = answer.usage
        reason = "stop" if answer.stop_reason == "toolUse" else answer.stop_reason
        counts = {
            "prompt_eval_count": usage.input + usage.cache_read + usage.cache_write,
            "eval_count": usage.output,
        }
        return {"done": True, "done_reason": reason, "total_duration": 5, "load_duration": 1, **counts}

    def _call(self, index: int, call: Call, body: dict[str, Any]) -> dict[str, Any]:
        """The server parses arguments; what is not JSON never becomes a call."""
        function = {"index": 0, "name": call.name, "arguments": msgspec.Raw(arguments_of(call).encode())}
        return {"id": call_id("call", body, index, call), "function": function}

    def whole(self, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {}
        for field, kind in (("content", Text), ("thinking", Thinking)):
            if texts := [part.text for part in answer.parts if isinstance(part, kind)]:
                message[field] = "".join(texts)
        calls = [
            self._call(index, part, body) for index, part in enumerate(answer.parts) if isinstance(part, Call)
        ]
        if calls:
            message["tool_calls"] = calls
        whole: dict[str, Any] = msgspec.json.decode(dump(self._line(body, message, **self._end(answer))))
        return whole

    def events(self, answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
        for index, part in enumerate(answer.parts):
            if isinstance(part, Call):
                yield self._data(self._line(body, {"tool_calls": [self._call(index, part, body)]}))
                continue
            field = "content" if isinstance(part, Text) else "thinking"
            for piece in pieces(part.text, part.deltas):
                yield self._data(self._line(body, {field: piece}))
        yield self._data(self._line(body, {}, **self._end(answer)))

    def _data(self, document: dict[str, Any]) -> bytes:
        return dump(document) + b"\n"

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        return {"error": message or kind or f"status {status}"}

    def error_event(self, kind: str, message: str) -> bytes:
        """A gateway adds the kind; the server itself has the sentence only."""
        return self._data({"error": message or kind, "type": kind})

    def results(self, body: dict[str, Any]) -> int:
        return sum(message["role"] == "tool" for message in body["messages"])

    def tools(self, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        return [(function["name"], function.get("parameters") or {}) for function in functions]

    def system_bytes(self, body: dict[str, Any]) -> int:
        system = [message for message in body["messages"] if message["role"] == "system"]
        return sum(text_bytes(message["content"]) for message in system)
