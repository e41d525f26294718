"""The dialect `ollama-chat`: POST /api/chat, answered by one JSON document per line.

Unlike Ollama's imitation of `openai-completions`, it takes the size of the context.
"""

from collections.abc import AsyncGenerator, Iterator

import msgspec
from msgspec import Raw, Struct

from tau.ai import dialect as d
from tau.ai.apis.ollama_body import build_body
from tau.ai.apis.request import as_count, headers, post
from tau.ai.apis.stop_reasons import done_reason
from tau.ai.model import Model
from tau.ai.ndjson import ResponseLines
from tau.ai.sse import decode_event
from tau.ai.transport import Transport
from tau.base.errors import ProviderError
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")


async def stream(
    model: Model, request: d.Request, endpoint: d.Endpoint, http: Transport
) -> AsyncGenerator[d.Delta, None]:
    ours = {"accept": "application/x-ndjson"}
    if endpoint.key:
        ours["authorization"] = f"Bearer {endpoint.key}"
    body = build_body(model, request)
    target, tokens = url(endpoint.base_url), body["options"]["num_predict"]
    async with post(
        http, target, headers(endpoint, ours), body, model=model, endpoint=endpoint, answer_tokens=tokens
    ) as response:
        del body
        # A whole document is an answer to a request for none, or another server's.
        is_document = response.headers.get("content-type", "").startswith(("application/json", "text/html"))
        answer = _Answer(model, endpoint.key, is_document=is_document)
        lines = ResponseLines(response)
        try:
            async for line in lines:
                for delta in answer.read(line):
                    yield delta
                if answer.ended:
                    break
        except ProviderError:
            if not answer.ended:
                raise
        answer.check_end(lines.tail)
        for delta in answer.finish():
            yield delta


def url(base_url: str) -> str:
    """The request URL. Addresses of Ollama often end in `/v1`, where it imitates OpenAI."""
    return f"{base_url.rstrip('/').removesuffix('/v1').removesuffix('/api')}/api/chat"


class _Function(Struct, frozen=True):
    name: str | None = None
    arguments: Raw = Raw(b"{}")


class _Call(Struct, frozen=True):
    id: str | None = None
    function: _Function = _Function()


class _Message(Struct, frozen=True):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(Struct, frozen=True):
    message: _Message | None = None
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: object = None
    eval_count: object = None
    error: object = None


_LINE = msgspec.json.Decoder(_Line)
_decode = _LINE.decode


class _Answer:
    """State between the lines of one answer. `ended`: nothing important can follow."""

    def __init__(self, model: Model, key: str | None, *, is_document: bool) -> None:
        self._may_be_document = is_document  # until a line is known
        self._provider = model.provider
        self._key = key
        self._first_only = model.compat.first_tool_call_only
        self._calls = 0  # none ends, and so runs, before the answer is complete
        self._reason: d.DoneReason = "stop"
        self.ended = False

    def read(self, data: bytes) -> Iterator[d.Delta]:
        line = self._decode(data)
        if line.error:
            raise error_response.error_from_event(data, provider=self._provider, key=self._key)
        if (message := line.message) is not None:
            self._may_be_document = False
            if message.thinking:
                yield d.ThinkingPiece(message.thinking)
            if message.content:
                yield d.TextPiece(message.content)
            for call in message.tool_calls or ():
                yield from self._call(call)
        if line.done:
            if line.prompt_eval_count is not None or line.eval_count is not None:
                yield d.Tokens(as_count(line.prompt_eval_count), as_count(line.eval_count))
            self._reason = done_reason(line.done_reason or "stop", self._provider)
            self.ended = True

    def _decode(self, data: bytes) -> _Line:
        try:
            return _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if self._may_be_document or data.lstrip().startswith(b"<"):
                raise error_response.error_from_document(
                    data, provider=self._provider, key=self._key
                ) from None
            return decode_event(_LINE, data)

    def check_end(self, tail: bytes) -> None:
        """Raises ProviderError if the answer is not complete. `tail` is what came after the last line."""
        if self.ended:
            return
        if self._may_be_document:
            raise error_response.error_from_document(tail or b"{}", provider=self._provider, key=self._key)
        raise error_response.cut_off(self._provider)

    def finish(self) -> Iterator[d.Delta]:
        for key in range(self._calls):
            yield d.CallEnd(key)
        yield d.Done("toolUse" if self._reason == "stop" and self._calls else self._reason)

    def _call(self, call: _Call) -> Iterator[d.Delta]:
        if self._first_only and self._calls:
            return
        key = self._calls
        self._calls += 1
        arguments = bytes(call.function.arguments).decode("utf-8", "replace")
        yield d.CallStart(key, call.id or "", call.function.name or "")
        yield d.CallPiece(key, "{}" if arguments == "null" else arguments)
