"""Turns a scripted answer into what happens on the wire: bytes, pauses, silence, a cut."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, Struct

from tests.support.fake_answers import (
    Answer,
    CutConnection,
    ErrorEvent,
    InvalidUtf8,
    NotJson,
    Overflow,
    PingsOnly,
    Raw,
    Silence,
    Status,
    TruncatedEvent,
)
from tests.support.fake_dialects import Dialect

Step: TypeAlias = bytes | float | Literal["hold", "cut"]  # a float is a pause in seconds
Streamed: TypeAlias = (
    Answer | CutConnection | TruncatedEvent | InvalidUtf8 | Silence | PingsOnly | NotJson | ErrorEvent
)

MARK = "\ue000"  # represents the invalid byte until the event is encoded


class Document(Struct, frozen=True):
    status: int
    content: bytes
    headers: dict[str, str]


def document(answer: Status | Overflow | Raw, dialect: Dialect) -> Document:
    """An answer that is not a stream."""
    if isinstance(answer, Raw):
        return Document(
            answer.status, answer.body.encode(answer.encoding), {"content-type": answer.content_type}
        )
    if isinstance(answer, Overflow):
        kind, message = dialect.overflow
        answer = Status(400, message, kind)
    headers = {"content-type": "application/json", **answer.headers}
    if answer.retry_after is not None:
        headers["retry-after"] = answer.retry_after
    if answer.body is UNSET:
        content = msgspec.json.encode(dialect.error(answer.status, answer.kind, answer.message))
    elif isinstance(answer.body, str):
        content = answer.body.encode()
    else:
        content = msgspec.json.encode(answer.body)
    return Document(answer.status, content, headers)


def play(answer: Streamed, dialect: Dialect, body: dict[str, Any]) -> Iterator[Step]:
    if isinstance(answer, Answer):
        for event in dialect.events(answer, body):
            if answer.delay_s:
                yield answer.delay_s
            yield event
        return
    if isinstance(answer, InvalidUtf8):
        marked = Answer.text(answer.text[:2] + MARK + answer.text[3:])
        for event in dialect.events(marked, body):
            yield dialect.replaced(event, MARK.encode(), b"\xe9")
        return
    events = play(answer.of, dialect, body)
    yield from islice(events, answer.after_events)
    match answer:
        case CutConnection():
            yield "cut"
        case TruncatedEvent():
            following = next(event for event in events if isinstance(event, bytes))
            yield following[: len(following) // 2]
        case Silence():
            yield "hold"
        case PingsOnly():
            while True:
                yield dialect.ping
                yield answer.interval_s
        case NotJson():
            yield dialect.raw_event(answer.data.encode())
            yield from events
        case ErrorEvent():
            yield dialect.error_event(answer.kind, answer.message)
        case _:
            assert_never(answer)
