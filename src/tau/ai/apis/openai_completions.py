"""The dialect `openai-completions`: POST /chat/completions, answered by server-sent events.

Many servers deviate from it; whatever can be understood is accepted.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator

import msgspec
from msgspec import Struct

from tau.ai import dialect as d
from tau.ai.apis.openai_body import build_body
from tau.ai.apis.request import as_count, as_text, headers, post
from tau.ai.apis.stop_reasons import done_reason
from tau.ai.model import Model
from tau.ai.sse import DOCUMENT, decode_document, event_decoder, read_events
from tau.ai.transport import Transport
from tau.ai.wire import new_call_id
from tau.base.errors import ProviderError
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")

DONE = b"[DONE]"


async def stream(
    model: Model, request: d.Request, endpoint: d.Endpoint, http: Transport
) -> AsyncGenerator[d.Delta, None]:
    url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
    ours = {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    body = build_body(model, request)
    sent, tokens = headers(endpoint, ours), body.get(model.compat.max_tokens_field, 0)
    async with post(http, url, sent, body, model=model, endpoint=endpoint, answer_tokens=tokens) as response:
        del body
        answer = _Answer(model, endpoint.key)
        try:
            async for name, data in read_events(response):
                if name == DOCUMENT:
                    for delta in answer.read_document(data):
                        yield delta
                    break
                if data == DONE:
                    answer.ended = True
                    break
                chunk = _decode(data)
                if not answer.details and not answer.field and (text := _only_text(chunk, answer.place)):
                    yield d.TextPiece(text)
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
    extra_content: object = None


class _Delta(Struct, frozen=True):
    content: object = None
    reasoning_content: object = None
    reasoning: object = None
    reasoning_text: object = None
    reasoning_details: object = None
    refusal: object = None
    tool_calls: list[_CallPart] | None = None
    function_call: _Function | None = None


class _Choice(Struct, frozen=True):
    index: object = 0
    delta: _Delta | None = None
    message: _Delta | None = None  # in an answer that does not stream
    finish_reason: str | None = None
    usage: object = None

    @property
    def place(self) -> int:
        return self.index if type(self.index) is int else 0


class _Chunk(Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: object = None
    error: object = None
    kind: object = msgspec.field(default=None, name="object")
    id: object = None
    provider: object = None


_CHUNK = msgspec.json.Decoder(_Chunk)
_decode = event_decoder(_CHUNK, _Chunk())


def _only_text(chunk: _Chunk, place: int | None) -> str | None:
    """The text of a text-only chunk, as nearly all are."""
    if not chunk.choices or len(chunk.choices) > 1 or chunk.usage is not None or chunk.error is not None:
        return None
    choice = chunk.choices[0]
    delta = choice.delta
    if delta is None or choice.index != place or choice.finish_reason is not None or delta.tool_calls:
        return None
    if delta.reasoning_content or delta.reasoning or delta.reasoning_text or delta.function_call:
        return None
    if delta.reasoning_details:
        return None
    return delta.content if type(delta.content) is str else None


class _Call:
    """A streaming call. It starts when its name is known."""

    __slots__ = ("extra", "id", "id_is_ours", "key", "name", "overtaken", "pieces", "started")

    def __init__(self, key: int, id: str) -> None:
        self.key = key
        self.id = id or new_call_id()
        self.id_is_ours = not id
        self.name = ""
        self.pieces: list[str] = []
        self.started = False
        self.overtaken = False
        self.extra: object = None  # sent back with the call

    def is_whole(self) -> bool:
        try:
            msgspec.json.decode("".join(self.pieces))
        except (msgspec.DecodeError, RecursionError):
            return False
        return True

    def start(self) -> list[d.Delta]:
        if self.started:
            return []
        self.started = True
        return [
            d.CallStart(self.key, self.id, self.name),
            *(d.CallPiece(self.key, piece) for piece in self.pieces),
        ]

    def add(self, piece: str) -> list[d.Delta]:
        self.pieces.append(piece)
        return [d.CallPiece(self.key, piece)] if self.started else []


class _Answer:
    """State between the chunks of one answer. `ended`: nothing important can follow."""

    def __init__(self, model: Model, key: str | None) -> None:
        self._model = model
        self._provider = model.provider
        self._key = key
        self._first_only = model.compat.first_tool_call_only
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._cut_off = self._ended_in_calls = False
        self.ended = False
        self.place: int | None = None  # of the choice that is read, once known
        self.details: list[dict[str, object]] = []  # of the open reasoning, to send back
        self._names_field = model.compat.thinking_field == "same"
        self.field = ""  # of the open thinking block

    def read(self, chunk: _Chunk, data: bytes) -> Iterator[d.Delta]:
        choice = self._choice(chunk)
        usage = chunk.usage or (choice.usage if choice is not None else None)
        if isinstance(usage, dict):
            yield _tokens(usage, reports_cost=self._model.compat.reports_cost)
            if self._model.compat.routes_upstream:
                yield d.Answered(as_text(chunk.id), as_text(chunk.provider))
        if chunk.error or chunk.kind == "error":
            if self.ended:
                return  # the answer is complete, and its usage may still follow
            raise error_response.error_from_event(data, provider=self._provider, key=self._key)
        delta = None if choice is None else choice.delta or choice.message
        if delta is not None:
            thinking = delta.reasoning_content or delta.reasoning or delta.reasoning_details
            if not delta.tool_calls or delta.content or thinking:
                yield from self._content_deltas(delta)
            if delta.tool_calls:
                self.field = ""
                yield from self._flush_details()
            for part in delta.tool_calls or ():
                yield from self._call(part)
            if delta.function_call is not None:
                yield from self._call(_CallPart(0, None, delta.function_call))
        if choice is not None and choice.finish_reason:
            reason = done_reason(choice.finish_reason, self._provider)
            self._cut_off = reason == "length"
            self._ended_in_calls = reason == "toolUse"
            self.ended = True

    def _choice(self, chunk: _Chunk) -> _Choice | None:
        """Our part of a chunk. A server may send several choices, in any order, and count them from 1."""
        if not chunk.choices:
            return None
        if self.place is None:
            self.place = min(choice.place for choice in chunk.choices)
        return next((choice for choice in chunk.choices if choice.place == self.place), None)

    def read_document(self, data: bytes) -> Iterator[d.Delta]:
        """Read an answer that came whole. Raises an error for any other document."""
        chunk = decode_document(_CHUNK, data) or _Chunk()
        choice = self._choice(chunk)
        if chunk.error or choice is None or choice.message is None:
            raise error_response.error_from_document(data, provider=self._provider, key=self._key)
        yield from self.read(chunk, data)
        self.ended = True

    def _flush_details(self) -> Iterator[d.Delta]:
        """Keep the details of the reasoning so far as the signature of a thinking block."""
        if self.details:
            yield d.ThinkingPiece("")
            yield d.Signature(msgspec.json.encode(self.details).decode())
            yield d.BlockEnd()
            self.details = []

    def finish(self) -> Iterator[d.Delta]:
        yield from self._flush_details()
        for call in self._calls[:1] if self._first_only else self._calls:
            yield from call.start()
            # Only a server that has seen the end of a call knows that it has no arguments.
            unknown = call.overtaken or not self._ended_in_calls
            empty = not "".join(call.pieces).strip()
            signature = msgspec.json.encode(call.extra).decode() if isinstance(call.extra, dict) else ""
            yield d.CallEnd(call.key, d.CUT_OFF if unknown and empty else "", signature)
        yield d.Done("length" if self._cut_off else "toolUse" if self._calls else "stop")

    def _content_deltas(self, delta: _Delta) -> Iterator[d.Delta]:
        for field in ("reasoning_content", "reasoning", "reasoning_text"):
            thinking = getattr(delta, field)
            if thinking and isinstance(thinking, str):
                yield d.ThinkingPiece(thinking)  # some servers send it under two names
                if self._names_field and not self.field:
                    self.field = field
                    yield d.Signature(field)
                break
        else:
            for detail in _reasoning_details(delta):
                if (thinking := detail.get("text") or detail.get("summary")) and isinstance(thinking, str):
                    yield d.ThinkingPiece(thinking)
        _merge_details(self.details, _reasoning_details(delta))
        for content in (delta.content, delta.refusal):
            if content:
                self.field = ""
                yield from self._flush_details()
            if isinstance(content, str):
                if content:
                    yield d.TextPiece(content)
            elif isinstance(content, list):
                yield from _parts(content)

    def _call(self, part: _CallPart) -> list[d.Delta]:
        function = part.function or _Function()
        name = function.name if isinstance(function.name, str) else ""
        id = part.id if isinstance(part.id, str) else "" if part.id is None else str(part.id)
        index = part.index if isinstance(part.index, int) else None
        call = self._find(index, id, name)
        if call is None:
            overtaken = self._by_index.get(index) if index is not None else self._last()
            if overtaken is not None:
                overtaken.overtaken = True
            call = _Call(len(self._calls), id)
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
        if part.extra_content:
            call.extra = part.extra_content
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

    def _last(self) -> _Call | None:
        return self._calls[-1] if self._calls else None

    def _find(self, index: int | None, id: str, name: str) -> _Call | None:
        """The call that a part continues; None if it starts another one."""
        if index is not None:
            call = self._by_index.get(index)
            other = call is not None and id and name and call.id != id and not call.id_is_ours
            return None if other else call
        if id and (found := next((call for call in self._calls if call.id == id), None)):
            return found
        last = self._last()
        if last is None or (id and name):
            return None
        if name and (name != last.name or last.is_whole()):
            return None
        return last


def _reasoning_details(delta: _Delta) -> list[dict[str, object]]:
    details = delta.reasoning_details
    return [item for item in details if isinstance(item, dict)] if isinstance(details, list) else []


def _merge_details(details: list[dict[str, object]], more: Iterable[dict[str, object]]) -> None:
    """Join the pieces of texts and summaries, which stream; other details come whole."""
    for item in more:
        last = details[-1] if details else {}
        same = all(last.get(name) == item.get(name) for name in ("type", "index"))
        if not details or not same or item.get("type") not in ("reasoning.text", "reasoning.summary"):
            details.append(dict(item))
            continue
        for name, value in item.items():
            if name in ("text", "summary") and isinstance(value, str):
                last[name] = f"{last.get(name) or ''}{value}"
            elif value is not None:
                last[name] = value


def _parts(content: list[object]) -> Iterator[d.Delta]:
    """Content as a list of text and thinking."""
    for part in content:
        if not isinstance(part, dict):
            continue
        if isinstance(text := part.get("text"), str) and text:
            yield d.TextPiece(text)
        thinking = part.get("thinking")
        for item in thinking if isinstance(thinking, list) else [{"text": thinking}]:
            if isinstance(item, dict) and isinstance(text := item.get("text"), str) and text:
                yield d.ThinkingPiece(text)
        if isinstance(signature := part.get("signature"), str) and signature:
            yield d.ThinkingPiece("")
            yield d.Signature(signature)
            yield d.BlockEnd()


def _tokens(usage: dict[str, object], *, reports_cost: bool = False) -> d.Tokens:
    """Servers put the same figures in different places.

    `prompt_tokens` includes what came from the cache. Where the total is more than prompt and completion, the
    difference was thought and is paid as output.
    """
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    prompt = as_count(usage.get("prompt_tokens"))
    completion = as_count(usage.get("completion_tokens"))
    cached = as_count(
        details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    )
    written = as_count(details.get("cache_write_tokens"))
    cost = usage.get("cost")
    return d.Tokens(
        max(0, prompt - cached - written),
        max(completion, as_count(usage.get("total_tokens")) - prompt),
        cached,
        written,
        cost=max(0.0, float(cost)) if reports_cost and isinstance(cost, (int, float)) else None,
    )
