"""Answers in each dialect: as events, as a whole document, as an error."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from tests.support.fake_answers import Answer, Call, Part, Text, Thinking
from tests.support.fake_bedrock import Bedrock
from tests.support.fake_google import Google
from tests.support.fake_ollama import Ollama
from tests.support.fake_pieces import ERROR_KINDS, EventStream, arguments_of, call_id, pieces, text_bytes
from tests.support.fake_responses import OpenAiResponses
from tests.support.validators import validate_anthropic, validate_openai

ANTHROPIC_STOPS = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use"}

dump = msgspec.json.encode


class Anthropic(EventStream):
    name = "anthropic-messages"
    base_path = ""
    ping = b'event: ping\ndata: {"type":"ping"}\n\n'
    # Kind and message of the refusal of an oversized request.
    overflow = ("invalid_request_error", "prompt is too long: 205012 tokens > 200000 maximum")
    after_end = 1  # events after the one that ends the answer
    events_before_arguments = 4
    claim = b'"stop_reason":"tool_use"'  # in the event after which a call may run
    after_claim = 1  # events between it and the end of the answer
    validate = staticmethod(validate_anthropic)

    def whole(self, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
        blocks = [self._block(part, index, body) for index, part in enumerate(answer.parts)]
        usage = answer.usage
        return {
            "id": f"msg_fake_{len(body.get('messages', []))}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", ""),
            "content": blocks,
            "stop_reason": ANTHROPIC_STOPS.get(answer.stop_reason, answer.stop_reason),
            "stop_sequence": None,
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "output_tokens": usage.output,
            },
        }

    def _block(self, part: Part, index: int, body: dict[str, Any]) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        if isinstance(part, Call):
            id = call_id("toolu", body, index, part)
            return {"type": "tool_use", "id": id, "name": part.name, "input": part.arguments}
        if part.redacted:
            return {"type": "redacted_thinking", "data": part.text}
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}

    def events(self, answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
        message = self.whole(answer, body)
        usage = {**message["usage"], "output_tokens": 1}
        yield self._event(
            "message_start", message={**message, "content": [], "stop_reason": None, "usage": usage}
        )
        yield self.ping
        for index, (part, block) in enumerate(zip(answer.parts, message["content"], strict=True)):
            yield self._event("content_block_start", index=index, content_block=self._opening(part, block))
            for delta in self._deltas(part):
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield self._event("message_delta", delta=stop, usage={"output_tokens": answer.usage.output})
        yield self._event("message_stop")

    def _opening(self, part: Part, block: dict[str, Any]) -> dict[str, Any]:
        """A block before its deltas: only redacted thinking comes whole."""
        empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
        return {key: empty.get(key, value) for key, value in block.items()}

    def _deltas(self, part: Part) -> Iterator[dict[str, Any]]:
        if isinstance(part, Text):
            for piece in pieces(part.text, part.deltas):
                yield {"type": "text_delta", "text": piece}
        elif isinstance(part, Call):
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in pieces(arguments_of(part), part.deltas):
                yield {"type": "input_json_delta", "partial_json": piece}
        elif not part.redacted:
            for piece in pieces(part.text, part.deltas):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": part.signature}

    def _event(self, kind: str, **fields: Any) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), dump({"type": kind, **fields}))

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        kind = kind or ERROR_KINDS.get(status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": message or kind},
            "request_id": "req_fake",
        }

    def error_event(self, kind: str, message: str) -> bytes:
        return self._event("error", error={"type": kind, "message": message})

    def results(self, body: dict[str, Any]) -> int:
        """The tool results in a request."""
        blocks = [block for message in body["messages"] for block in message["content"]]
        return sum(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)

    def tools(self, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        return [(tool["name"], tool.get("input_schema") or {}) for tool in body.get("tools") or ()]

    def system_bytes(self, body: dict[str, Any]) -> int:
        return text_bytes(body.get("system"))


class OpenAi(EventStream):
    name = "openai-completions"
    base_path = "/v1"
    ping = b": ping\n\n"
    overflow = (
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 "
        "tokens. Please reduce the length of the messages.",
    )
    after_end = 2
    events_before_arguments = 3
    claim = b'"finish_reason":"tool_calls"'
    after_claim = 0
    validate = staticmethod(validate_openai)

    def whole(self, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for field, kind in (("content", Text), ("reasoning_content", Thinking)):
            if texts := [part.text for part in answer.parts if isinstance(part, kind)]:
                message[field] = "".join(texts)
        calls = [(index, part) for index, part in enumerate(answer.parts) if isinstance(part, Call)]
        if calls:
            message["tool_calls"] = [
                self._call(index, part, body, arguments_of(part)) for index, part in calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._stop(answer)}
        return {**self._chunk(body, [choice], "chat.completion"), "usage": self._usage(answer)}

    def _stop(self, answer: Answer) -> str:
        return "tool_calls" if answer.stop_reason == "toolUse" else answer.stop_reason

    def _usage(self, answer: Answer) -> dict[str, Any]:
        usage = answer.usage
        prompt = usage.input + usage.cache_read + usage.cache_write
        return {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output,
            "total_tokens": prompt + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        }

    def _call(self, index: int, call: Call, body: dict[str, Any], arguments: str) -> dict[str, Any]:
        function = {"name": call.name, "arguments": arguments}
        return {"id": call_id("call", body, index, call), "type": "function", "function": function}

    def _chunk(self, body: dict[str, Any], choices: list[Any], kind: str) -> dict[str, Any]:
        return {
            "id": "chatcmpl-fake",
            "object": kind,
            "created": 1_700_000_000,
            "model": body.get("model", ""),
            "choices": choices,
        }

    def events(self, answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
        with_usage = (body.get("stream_options") or {}).get("include_usage")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return self._data(self._chunk(body, [choice], "chat.completion.chunk"))

        yield chunk({"role": "assistant", "content": ""})
        number = 0
        for index, part in enumerate(answer.parts):
            if isinstance(part, Call):
                yield chunk({"tool_calls": [{"index": number, **self._call(index, part, body, "")}]})
                for piece in pieces(arguments_of(part), part.deltas):
                    yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
                number += 1
            else:
                field = "content" if isinstance(part, Text) else "reasoning_content"
                for piece in pieces(part.text, part.deltas):
                    yield chunk({field: piece})
        yield chunk({}, self._stop(answer))
        if with_usage:
            usage = {"usage": self._usage(answer)}
            yield self._data({**self._chunk(body, [], "chat.completion.chunk"), **usage})
        yield b"data: [DONE]\n\n"

    def _data(self, document: dict[str, Any]) -> bytes:
        return b"data: %b\n\n" % dump(document)

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        name = kind or ERROR_KINDS.get(status, "server_error")
        code = kind if kind == self.overflow[0] else None
        kind = "invalid_request_error" if code else name
        return {"error": {"message": message or name, "type": kind, "param": None, "code": code}}

    def error_event(self, kind: str, message: str) -> bytes:
        return self._data({"error": {"message": message, "type": kind, "code": None}})

    def results(self, body: dict[str, Any]) -> int:
        return sum(message["role"] == "tool" for message in body["messages"])

    def tools(self, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        return [(function["name"], function.get("parameters") or {}) for function in functions]

    def system_bytes(self, body: dict[str, Any]) -> int:
        system = [message for message in body["messages"] if message["role"] in ("system", "developer")]
        return sum(text_bytes(message["content"]) for message in system)


Dialect: TypeAlias = Anthropic | OpenAi | OpenAiResponses | Google | Bedrock | Ollama
DIALECTS: dict[str, Dialect] = {
    "/messages": Anthropic(),
    "/chat/completions": OpenAi(),
    "/responses": OpenAiResponses(),
    ":streamGenerateContent": Google(),
    "/converse-stream": Bedrock(),
    "/api/chat": Ollama(),
}
BY_API: dict[str, Dialect] = {dialect.name: dialect for dialect in DIALECTS.values()}


def dialect_of(path: str) -> Dialect | None:
    bare = path.partition("?")[0].rstrip("/")
    return next((dialect for ending, dialect in DIALECTS.items() if bare.endswith(ending)), None)
