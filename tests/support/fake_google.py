"""Answers in the dialect `google-generative-ai`."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.support.cloud_validators import validate_google
from tests.support.fake_answers import Answer, Call, Part, Text
from tests.support.fake_pieces import EventStream, arguments_of, pieces, text_bytes

STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "toolUse": "STOP"}
STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    529: "UNAVAILABLE",
}
dump = msgspec.json.encode
CODES = {"rate_limit_error": 429, "overloaded_error": 503, "api_error": 500}


class Google(EventStream):
    name = "google-generative-ai"
    base_path = "/v1beta"
    ping = b": ping\n\n"
    claim = b'"finishReason":"'
    after_claim = 0
    after_end = 0
    events_before_arguments = 2
    overflow = (
        "INVALID_ARGUMENT",
        "The input token count (1200012) exceeds the maximum number of tokens allowed (1048576).",
    )
    validate = staticmethod(validate_google)

    def whole(self, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
        parts = [self._part(part) for part in answer.parts]
        return {**self._chunk(parts, self._stop(answer)), **self._usage(answer)}

    def _stop(self, answer: Answer) -> str:
        return STOPS.get(answer.stop_reason, answer.stop_reason)

    def _part(self, part: Part, text: str | None = None) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"text": part.text if text is None else text}
        if isinstance(part, Call):
            return {"functionCall": self._call(part)}
        if part.redacted:
            return {"text": "", "thoughtSignature": part.text}
        sent = {"text": part.text if text is None else text, "thought": True}
        return {**sent, "thoughtSignature": part.signature} if text is None else sent

    def _call(self, call: Call) -> dict[str, Any]:
        """Arguments that are not whole are in pieces, as Vertex AI can send them."""
        sent: dict[str, Any] = {"name": call.name}
        if call.id:
            sent["id"] = call.id
        try:
            return {**sent, "args": msgspec.json.decode(arguments_of(call))}
        except msgspec.DecodeError:
            partial = [{"jsonPath": "$.content", "stringValue": arguments_of(call)}]
            return {**sent, "partialArgs": partial, "willContinue": True}

    def _chunk(self, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        return {"candidates": [candidate], "modelVersion": "fake-model", "responseId": "fake-response"}

    def _usage(self, answer: Answer) -> dict[str, Any]:
        usage = answer.usage
        prompt = usage.input + usage.cache_read + usage.cache_write
        counts = {
            "promptTokenCount": prompt,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": prompt + usage.output,
        }
        if usage.cache_read:
            counts["cachedContentTokenCount"] = usage.cache_read
        return {"usageMetadata": counts}

    def events(self, answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
        yield self._data({**self._chunk([{"text": ""}]), **self._usage(answer)})
        for part in answer.parts:
            if isinstance(part, Call) or (not isinstance(part, Text) and part.redacted):
                yield self._data(self._chunk([self._part(part)]))
                continue
            for piece in pieces(part.text, part.deltas):
                yield self._data(self._chunk([self._part(part, piece)]))
            if not isinstance(part, Text):
                sign = {"text": "", "thought": True, "thoughtSignature": part.signature}
                yield self._data(self._chunk([sign]))
        yield self._data({**self._chunk([{"text": ""}], self._stop(answer)), **self._usage(answer)})

    def _data(self, document: dict[str, Any]) -> bytes:
        return b"data: %b\n\n" % dump(document)

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        kind = kind or STATUS.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": message or kind, "status": kind}}

    def error_event(self, kind: str, message: str) -> bytes:
        error: dict[str, Any] = {"message": message, "status": kind}
        if kind in CODES:
            error = {"code": CODES[kind], "message": message, "status": STATUS[CODES[kind]]}
        elif kind == "tool_use_failed":
            error["code"] = kind
        return self._data({"error": error})

    def model(self, path: str, body: dict[str, Any]) -> str:
        return path.partition("?")[0].rpartition("/")[2].partition(":")[0]

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return "alt=sse" in path

    def results(self, body: dict[str, Any]) -> int:
        parts = [part for content in body["contents"] for part in content["parts"]]
        return sum("functionResponse" in part for part in parts)

    def tools(self, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        declared = [tool for group in body.get("tools") or () for tool in group["functionDeclarations"]]
        return [(tool["name"], tool.get("parametersJsonSchema") or {}) for tool in declared]

    def system_bytes(self, body: dict[str, Any]) -> int:
        return text_bytes((body.get("systemInstruction") or {}).get("parts"))
