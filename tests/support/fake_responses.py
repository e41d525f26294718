"""Answers in the dialect `openai-responses`: a list of items, each streamed between its start and its end."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.support.fake_answers import Answer, Call, Part, Text
from tests.support.fake_pieces import ERROR_KINDS, EventStream, arguments_of, call_id, pieces, text_bytes
from tests.support.responses_validator import validate_responses

dump = msgspec.json.encode


class OpenAiResponses(EventStream):
    name = "openai-responses"
    base_path = "/v1"
    ping = b'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n'
    overflow = (
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    )
    after_end = 0
    events_before_arguments = 3
    claim = b'"type":"response.completed"'
    after_claim = 0
    validate = staticmethod(validate_responses)

    def whole(self, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
        stop = answer.stop_reason
        complete = stop in ("stop", "toolUse")
        reason = "max_output_tokens" if stop == "length" else stop
        usage = answer.usage
        read = usage.input + usage.cache_read + usage.cache_write
        return {
            "id": f"resp_fake_{len(body.get('input', []))}",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": "completed" if complete else "incomplete",
            "error": None,
            "incomplete_details": None if complete else {"reason": reason},
            "instructions": None,
            "metadata": {},
            "model": body.get("model", ""),
            "output": [self.item(part, index, body) for index, part in enumerate(answer.parts)],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": {
                "input_tokens": read,
                "input_tokens_details": {
                    "cached_tokens": usage.cache_read,
                    "cache_write_tokens": usage.cache_write,
                },
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": read + usage.output,
            },
        }

    def item(self, part: Part, index: int, body: dict[str, Any]) -> dict[str, Any]:
        if isinstance(part, Text):
            content = [{"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}]
            item = {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed"}
            return {**item, "content": content, **({"phase": part.phase} if part.phase else {})}
        if isinstance(part, Call):
            call = {"call_id": call_id("call", body, index, part), "name": part.name}
            if is_custom(part, body):
                text = str(part.arguments["input"])[: part.cut_at]
                return {"type": "custom_tool_call", "id": f"ctc_{index}", **call, "input": text}
            status = "completed" if part.cut_at is None else "incomplete"
            item = {"type": "function_call", "id": f"fc_{index}", "status": status, **call}
            return {**item, "arguments": arguments_of(part)}
        sealed = part.text if part.redacted else part.signature
        summary = [] if part.redacted or not part.text else [{"type": "summary_text", "text": part.text}]
        item = {"type": "reasoning", "id": f"rs_{index}", "status": "completed", "summary": summary}
        return {**item, "encrypted_content": sealed}

    def events(self, answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
        for number, (kind, fields) in enumerate(self._steps(answer, body)):
            yield self.event(kind, sequence_number=number, **fields)

    def _steps(self, answer: Answer, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        response = self.whole(answer, body)
        begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        yield "response.created", {"response": begun}
        for index, (part, item) in enumerate(zip(answer.parts, response["output"], strict=True)):
            empty = {"arguments": "", "input": "", "content": [], "summary": [], "status": "in_progress"}
            opening = {key: empty.get(key, value) for key, value in item.items()}
            opening.pop("encrypted_content", None)
            yield "response.output_item.added", {"output_index": index, "item": opening}
            place = {"item_id": item["id"], "output_index": index}
            for kind, fields in self._deltas(part, item):
                yield kind, {**place, **fields}
            yield "response.output_item.done", {"output_index": index, "item": item}
        yield f"response.{response['status']}", {"response": response}

    def _deltas(self, part: Part, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        if isinstance(part, Text):
            at = {"content_index": 0}
            opening = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield "response.content_part.added", {**at, "part": opening}
            for piece in pieces(part.text, part.deltas):
                yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
            yield "response.output_text.done", {**at, "text": part.text, "logprobs": []}
            yield "response.content_part.done", {**at, "part": item["content"][0]}
        elif isinstance(part, Call):
            custom = item["type"] == "custom_tool_call"
            kind = "custom_tool_call_input" if custom else "function_call_arguments"
            name = "input" if custom else "arguments"
            for piece in pieces(item[name], part.deltas):
                yield f"response.{kind}.delta", {"delta": piece}
            named = {} if custom else {"name": part.name}
            yield f"response.{kind}.done", {name: item[name], **named}
        elif item["summary"]:
            at = {"summary_index": 0}
            yield (
                "response.reasoning_summary_part.added",
                {**at, "part": {"type": "summary_text", "text": ""}},
            )
            for piece in pieces(part.text, part.deltas):
                yield "response.reasoning_summary_text.delta", {**at, "delta": piece}
            yield "response.reasoning_summary_text.done", {**at, "text": part.text}
            yield "response.reasoning_summary_part.done", {**at, "part": item["summary"][0]}

    def event(self, kind: str, **fields: Any) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), dump({"type": kind, **fields}))

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        name = kind or ERROR_KINDS.get(status, "server_error")
        code = kind if kind == self.overflow[0] else None
        kind = "invalid_request_error" if code else name
        return {"error": {"message": message or name, "type": kind, "param": None, "code": code}}

    def error_event(self, kind: str, message: str) -> bytes:
        return self.event("error", code=kind, message=message, param=None, sequence_number=99)

    def results(self, body: dict[str, Any]) -> int:
        return sum(str(item.get("type", "")).endswith("_call_output") for item in body["input"])

    def tools(self, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        named = [tool for tool in body.get("tools") or () if "name" in tool]  # not those of the server
        return [(tool["name"], tool.get("parameters") or {}) for tool in named]

    def system_bytes(self, body: dict[str, Any]) -> int:
        return text_bytes(body.get("instructions") or "")


def is_custom(call: Call, body: dict[str, Any]) -> bool:
    tools = body.get("tools") or ()
    return any(tool.get("type") == "custom" and tool.get("name") == call.name for tool in tools)
