"""The dialect `openai-completions`: POST /chat/completions, answered by server-sent events.

Many servers deviate from it; whatever can be understood is accepted.
"""

from collections.abc import AsyncGenerator, Iterator

import msgspec
from msgspec import Struct

from tau.ai.apis.openai_body import build_body
from tau.ai.apis.request import encode, headers, is_stream
from tau.ai.dialect import (
    CallEnd,
    CallPiece,
    CallStart,
    Delta,
    Done,
    Endpoint,
    Request,
    TextPiece,
    ThinkingPiece,
    Tokens,
)
from tau.ai.model import Model
from tau.ai.sse import decode_event, events
from tau.ai.transport import Transport
from tau.ai.wire import new_call_id
from tau.base.errors import ProviderError
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")

DONE = b"[DONE]"

LENGTH = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
FILTERED = frozenset({"content_filter", "sensitive", "safety"})
BROKEN = frozenset({"error", "network_error", "insufficient_system_resource"})


async def stream(
    model: Model, request: Request, endpoint: Endpoint, http: Transport
) -> AsyncGenerator[Delta, None]:
    """Stream the answer to `request`."""
    url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
    ours = {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    async with http.open(
        "POST", url, headers=headers(endpoint, ours), body=encode(build_body(model, request))
    ) as response:
        if not is_stream(response):
            raise await error_response.refusal(response, provider=model.provider, key=endpoint.key)
        answer = _Answer(model, endpoint.key)
        try:
            async for _, data in events(response):
                if data == DONE:
                    answer.ended = True
                    break
                chunk = answer.decode(data)
                if text := _only_text(chunk):
                    yield TextPiece(text)
                else:
                    for delta in answer.read(chunk, data):
                        yield delta
        except ProviderError:
            if not answer.ended:  # some servers finish and then just close the connection
                raise
        if not answer.ended:
            raise error_response.cut_off(model.provider)
        for delta in answer.finish():
            yield delta


class _Function(Struct, frozen=True):
    name: object = None
    arguments: object = None


class _CallPart(Struct, frozen=True):
    index: object = None
    id: object = None
    function: _Function | None = None


class _Delta(Struct, frozen=True):
    content: object = None
    reasoning_content: object = None
    reasoning: object = None
    reasoning_text: object = None
    refusal: object = None
    tool_calls: list[_CallPart] | None = None
    function_call: _Function | None = None


class _Choice(Struct, frozen=True):
    delta: _Delta | None = None
    finish_reason: str | None = None
    usage: object = None


class _Chunk(Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: object = None
    error: object = None
    kind: object = msgspec.field(default=None, name="object")


_CHUNK = msgspec.json.Decoder(_Chunk)
_decode = _CHUNK.decode


def _only_text(chunk: _Chunk) -> str | None:
    """The text of a text-only chunk, as nearly all are."""
    if not chunk.choices or chunk.usage is not None or chunk.error is not None:
        return None
    choice = chunk.choices[0]
    delta = choice.delta
    if delta is None or choice.finish_reason is not None or delta.tool_calls:
        return None
    if delta.reasoning_content or delta.reasoning or delta.reasoning_text or delta.function_call:
        return None
    return delta.content if type(delta.content) is str else None


class _Call:
    """A streaming call. It starts when its name is known."""

    __slots__ = ("id", "key", "name", "named_by_us", "pieces", "started")

    def __init__(self, key: int, id: str) -> None:
        self.key = key
        self.id = id or new_call_id()
        self.named_by_us = not id
        self.name = ""
        self.pieces: list[str] = []
        self.started = False

    def is_whole(self) -> bool:
        try:
            msgspec.json.decode("".join(self.pieces))
        except msgspec.DecodeError:
            return False
        return True

    def start(self) -> list[Delta]:
        if self.started:
            return []
        self.started = True
        return [
            CallStart(self.key, self.id, self.name),
            *(CallPiece(self.key, piece) for piece in self.pieces),
        ]

    def add(self, piece: str) -> list[Delta]:
        self.pieces.append(piece)
        return [CallPiece(self.key, piece)] if self.started else []


class _Answer:
    """State between the chunks of one answer. `ended`: nothing important can follow."""

    def __init__(self, model: Model, key: str | None) -> None:
        self._provider = model.provider
        self._key = key
        self._first_only = model.compat.first_tool_call_only
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._cut_off = False
        self.ended = False

    def decode(self, data: bytes) -> _Chunk:
        try:
            return _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return decode_event(_CHUNK, data) if data.strip() else _Chunk()

    def read(self, chunk: _Chunk, data: bytes) -> Iterator[Delta]:
        if chunk.error or chunk.kind == "error":
            raise error_response.stream_failure(data, provider=self._provider, key=self._key)
        choice = chunk.choices[0] if chunk.choices else None
        if choice is not None and choice.delta is not None:
            delta = choice.delta
            if not delta.tool_calls or delta.content or delta.reasoning_content or delta.reasoning:
                yield from self._content(delta)
            for part in delta.tool_calls or ():
                yield from self._call(part)
            if delta.function_call is not None:
                yield from self._call(_CallPart(0, None, delta.function_call))
        if choice is not None and choice.finish_reason:
            self._refuse(choice.finish_reason)
            self._cut_off = choice.finish_reason in LENGTH
            self.ended = True
        usage = chunk.usage or (choice.usage if choice is not None else None)
        if isinstance(usage, dict):
            yield _tokens(usage)

    def finish(self) -> Iterator[Delta]:
        for call in self._kept():
            yield from call.start()
            yield CallEnd(call.key)
        yield Done("length" if self._cut_off else "toolUse" if self._calls else "stop")

    def _content(self, delta: _Delta) -> Iterator[Delta]:
        for thought in (delta.reasoning_content, delta.reasoning, delta.reasoning_text):
            if thought and isinstance(thought, str):
                yield ThinkingPiece(thought)  # some servers send it under two names
                break
        for content in (delta.content, delta.refusal):
            if isinstance(content, str):
                if content:
                    yield TextPiece(content)
            elif isinstance(content, list):
                yield from _parts(content)

    def _kept(self) -> list[_Call]:
        return self._calls[:1] if self._first_only else self._calls

    def _call(self, part: _CallPart) -> list[Delta]:
        function = part.function or _Function()
        name = function.name if isinstance(function.name, str) else ""
        id = part.id if isinstance(part.id, str) else "" if part.id is None else str(part.id)
        index = part.index if isinstance(part.index, int) else None
        call = self._find(index, id, name)
        if call is None:
            call = _Call(len(self._calls), id)
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
        if self._first_only and call is not self._calls[0]:
            return []
        arguments = function.arguments
        if isinstance(arguments, (dict, list)):
            arguments = msgspec.json.encode(arguments).decode()
        pieces = call.add(arguments) if arguments and isinstance(arguments, str) else []
        if name and not call.started:
            call.name = name
            return call.start()
        return pieces

    def _find(self, index: int | None, id: str, name: str) -> _Call | None:
        """The call that a part continues; None if it starts another one."""
        if index is not None:
            call = self._by_index.get(index)
            other = call is not None and id and name and call.id != id and not call.named_by_us
            return None if other else call
        if id and (found := next((call for call in self._calls if call.id == id), None)):
            return found
        last = self._calls[-1] if self._calls else None
        if last is None or (id and name):
            return None
        if name and (name != last.name or last.is_whole()):
            return None
        return last

    def _refuse(self, reason: str) -> None:
        """Raise what a reason means that is no good end."""
        if reason in FILTERED:
            raise error_response.refused(
                self._provider, "its content filter stopped the answer. Rephrase the request."
            )
        if reason in BROKEN:
            raise error_response.stream_failure(
                msgspec.json.encode({"message": f"it stopped with the reason {reason}."}),
                provider=self._provider,
            )


def _parts(content: list[object]) -> Iterator[Delta]:
    """Content as a list of text and thinking."""
    for part in content:
        if not isinstance(part, dict):
            continue
        if isinstance(text := part.get("text"), str) and text:
            yield TextPiece(text)
        thinking = part.get("thinking")
        for item in thinking if isinstance(thinking, list) else [{"text": thinking}]:
            if isinstance(item, dict) and isinstance(text := item.get("text"), str) and text:
                yield ThinkingPiece(text)


def _tokens(usage: dict[str, object]) -> Tokens:
    """Servers put the same figures in different places.

    `prompt_tokens` includes what came from the cache. Where the total is more than prompt and completion, the
    difference was thought and is paid as output.
    """
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    prompt = _count(usage.get("prompt_tokens"))
    completion = _count(usage.get("completion_tokens"))
    cached = _count(
        details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    )
    written = _count(details.get("cache_write_tokens"))
    return Tokens(
        max(0, prompt - cached - written),
        max(completion, _count(usage.get("total_tokens")) - prompt),
        cached,
        written,
    )


def _count(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and value > 0 else 0
