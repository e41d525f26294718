"""The dialect `google-generative-ai`: POST :streamGenerateContent, answered by server-sent events.

The Gemini API and Vertex AI speak it, at different addresses.
"""

from collections.abc import AsyncGenerator, Iterator

import msgspec
from msgspec import Raw, Struct

from tau.ai import dialect as d
from tau.ai.apis.google_body import build_body
from tau.ai.apis.request import as_count, headers, post
from tau.ai.apis.stop_reasons import done_reason
from tau.ai.model import Model
from tau.ai.sse import DOCUMENT, decode_event, event_decoder, read_events
from tau.ai.transport import Transport
from tau.base.errors import ProviderError
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")
parse = late("urllib.parse")

VERSION = "v1beta"
BEARER = "Bearer "
ACCESS_TOKEN = "ya29."

BAD_CALL = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})
NO_REASON = frozenset({"", "FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"})


async def stream(
    model: Model, request: d.Request, endpoint: d.Endpoint, http: Transport
) -> AsyncGenerator[d.Delta, None]:
    body = build_body(model, request)
    target, tokens = url(endpoint.base_url, model.id), body["generationConfig"]["maxOutputTokens"]
    async with post(
        http, target, _headers(model, endpoint), body, model=model, endpoint=endpoint, answer_tokens=tokens
    ) as response:
        del body
        answer = _Answer(model, endpoint.key)
        try:
            async for name, data in read_events(response):
                if name == DOCUMENT:
                    for delta in answer.read_document(data):
                        yield delta
                    break
                for delta in answer.read(_decode(data), data):
                    yield delta
        except ProviderError:
            if not answer.ended:  # the connection may close right after the last event
                raise
        if not answer.ended:
            raise error_response.cut_off(model.provider)
        for delta in answer.finish():
            yield delta


def url(base_url: str, id: str) -> str:
    """The request URL; the base URL may include the version or not."""
    base = base_url.rstrip("/")
    if not base.endswith(("/v1", "/v1alpha", "/v1beta", "/v1beta1")) and "/publishers/" not in base:
        base = f"{base}/{VERSION}"
    name = id.removeprefix("models/")
    return f"{base}/models/{parse.quote(name, safe='')}:streamGenerateContent?alt=sse"


def _headers(model: Model, endpoint: d.Endpoint) -> dict[str, str]:
    key = endpoint.key
    if not key:
        return headers(endpoint, {})
    if key.startswith((BEARER, ACCESS_TOKEN)):
        return headers(endpoint, {"authorization": BEARER + key.removeprefix(BEARER)})
    return headers(endpoint, {model.compat.key_header or "x-goog-api-key": key})


class _FunctionCall(Struct, frozen=True, rename="camel"):
    id: str | None = None
    name: str | None = None
    args: Raw = Raw(b"{}")
    partial_args: object = None
    will_continue: bool | None = None


class _Part(Struct, frozen=True, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct, frozen=True):
    parts: list[_Part] | None = None


class _Candidate(Struct, frozen=True, rename="camel"):
    index: int | None = None
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Usage(Struct, frozen=True, gc=False, rename="camel"):
    prompt_token_count: object = None
    cached_content_token_count: object = None
    candidates_token_count: object = None
    thoughts_token_count: object = None
    tool_use_prompt_token_count: object = None


class _Feedback(Struct, frozen=True, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Chunk(Struct, frozen=True, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Usage | None = None
    prompt_feedback: _Feedback | None = None
    response_id: str | None = None
    error: object = None


_CHUNK = msgspec.json.Decoder(_Chunk)
_CHUNKS = msgspec.json.Decoder(list[_Chunk])
_decode = event_decoder(_CHUNK, _Chunk())


class _Answer:
    """State between the chunks of one answer. `ended`: nothing important can follow."""

    def __init__(self, model: Model, key: str | None) -> None:
        self._provider = model.provider
        self._key = key
        self._first_only = model.compat.first_tool_call_only
        self._ends: list[d.CallEnd] = []  # of calls: none runs before the answer is complete
        self._usage: _Usage | None = None
        self._id = ""
        self._index: int | None = None  # of the candidate that is read
        self._is_open = False  # a text or thinking block
        self._reason: d.DoneReason = "stop"
        self.ended = False

    def read(self, chunk: _Chunk, data: bytes) -> Iterator[d.Delta]:
        if chunk.error:
            if self.ended:
                return
            raise error_response.error_from_event(data, provider=self._provider, key=self._key)
        if chunk.response_id and not self._id:
            self._id = chunk.response_id
            yield d.Answered(self._id)
        if chunk.usage_metadata is not None and chunk.usage_metadata != self._usage:
            self._usage = chunk.usage_metadata
            yield _tokens(chunk.usage_metadata)
        if chunk.prompt_feedback is not None:
            self._check_feedback(chunk.prompt_feedback)
        candidate = self._candidate(chunk)
        if candidate is None:
            return
        for part in (candidate.content.parts if candidate.content is not None else None) or ():
            yield from self._part(part)
        if (reason := candidate.finish_reason or "") not in NO_REASON:
            self._reason = self._done_reason(reason, candidate.finish_message or "")
            self.ended = True

    def read_document(self, data: bytes) -> Iterator[d.Delta]:
        """Read an answer that came whole, or as a list. Raises an error for any other document."""
        try:
            chunks = decode_event(_CHUNKS, data) if data.startswith(b"[") else [decode_event(_CHUNK, data)]
        except ProviderError:
            chunks = []
        if not any(chunk.candidates or chunk.prompt_feedback for chunk in chunks):
            raise error_response.error_from_document(data, provider=self._provider, key=self._key)
        for chunk in chunks:
            yield from self.read(chunk, msgspec.json.encode({"error": chunk.error}))

    def finish(self) -> Iterator[d.Delta]:
        yield from self._ends
        yield d.Done("toolUse" if self._reason == "stop" and self._ends else self._reason)

    def _candidate(self, chunk: _Chunk) -> _Candidate | None:
        if not chunk.candidates:
            return None
        if self._index is None:
            self._index = min(candidate.index or 0 for candidate in chunk.candidates)
        return next((found for found in chunk.candidates if (found.index or 0) == self._index), None)

    def _part(self, part: _Part) -> Iterator[d.Delta]:
        signature = part.thought_signature or ""
        if part.function_call is not None:
            self._is_open = False
            yield from self._call(part.function_call, signature)
        elif part.text:
            if signature and self._is_open:
                yield d.BlockEnd()  # a signature belongs to its own part only
            self._is_open = True
            yield d.ThinkingPiece(part.text) if part.thought else d.TextPiece(part.text)
            if signature:
                yield from self._sign(signature)
        elif signature:
            if not self._is_open:
                yield d.ThinkingPiece("")
            yield from self._sign(signature)

    def _sign(self, signature: str) -> Iterator[d.Delta]:
        self._is_open = False
        yield d.Signature(signature)
        yield d.BlockEnd()

    def _call(self, call: _FunctionCall, signature: str) -> Iterator[d.Delta]:
        if self._first_only and self._ends:
            return
        key = len(self._ends)
        arguments = bytes(call.args).decode("utf-8", "replace")
        yield d.CallStart(key, call.id or "", call.name or "")
        yield d.CallPiece(key, "{}" if arguments == "null" else arguments)
        # Calls in pieces are never asked for; half of one must not run.
        in_pieces = call.partial_args or call.will_continue
        self._ends.append(d.CallEnd(key, d.CUT_OFF if in_pieces else "", signature))

    def _check_feedback(self, feedback: _Feedback) -> None:
        if (reason := feedback.block_reason or "") in NO_REASON:
            return
        said = feedback.block_reason_message or f"it blocked the request ({reason})."
        raise error_response.declined(self._provider, f"{said} Rephrase the request.")

    def _done_reason(self, reason: str, message: str) -> d.DoneReason:
        """Raises an error if the answer did not end normally."""
        if reason == "CONTINUATION":
            return "length"  # it could continue, but only with a token that histories do not keep
        if reason not in BAD_CALL:
            return done_reason(reason, self._provider)
        said = f"it stopped with the reason {reason}. {message}".rstrip()
        error = {"error": {"message": said, "code": "tool_use_failed"}}
        raise error_response.error_from_event(
            msgspec.json.encode(error), provider=self._provider, key=self._key
        )


def _tokens(usage: _Usage) -> d.Tokens:
    """The prompt includes what came from the cache; thoughts are not part of the candidates."""
    prompt = as_count(usage.prompt_token_count) + as_count(usage.tool_use_prompt_token_count)
    cached = as_count(usage.cached_content_token_count)
    thoughts = as_count(usage.thoughts_token_count)
    return d.Tokens(
        input=max(0, prompt - cached),
        output=as_count(usage.candidates_token_count) + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )
