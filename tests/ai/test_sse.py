"""Server-sent events in any chunking."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai import sse
from tau.ai.sse import Splitter, SseEvent, decode_event, read_events
from tau.base.errors import ProviderError


class Body:
    """A response with the given chunks."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk

    async def read(self, limit: int = 1_048_576) -> bytes:
        return b"".join(self._chunks)[:limit]


def split(*chunks: bytes) -> list[SseEvent]:
    splitter = Splitter()
    return [event for chunk in chunks for event in splitter.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [("message", b"a"), ("message", b"b")]),
        (b"event: x\ndata: a\n\n", [("x", b"a")]),
        (b"event:x\ndata:a\n\n", [("x", b"a")]),
        (b"data: a\nevent: x\n\n", [("x", b"a")]),
        (b"event: x\nevent: y\ndata: a\n\n", [("y", b"a")]),
        (b"event: \ndata: a\n\n", [("message", b"a")]),
        (b"data: a\ndata: b\ndata\n\n", [("message", b"a\nb\n")]),
        (b"data:  two spaces \n\n", [("message", b" two spaces ")]),
        (b"data\n\n", [("message", b"")]),
        (b": comment\n\n: another\ndata: a\n\n", [("message", b"a")]),
        (b"id: 7\nretry: 10\nunknown: x\ndata: a: b\n\n", [("message", b"a: b")]),
        (b"event: lonely\n\ndata: a\n\n", [("message", b"a")]),
        (b"\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n", [("message", b"a"), ("message", b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [("message", b"a")]),
        (b"data: a\r\n\r\nevent: x\r\ndata: b\r\n\r\n", [("message", b"a"), ("x", b"b")]),
        (b"data: a\r\rdata: b\rdata: c\r\r", [("message", b"a"), ("message", b"b\nc")]),
        (b"data: a\n\r\ndata: b\r\n\n", [("message", b"a"), ("message", b"b")]),
        (b"data: \xff\xfe\n\n", [("message", b"\xff\xfe")]),
        ("event: é\ndata: ü\n\n".encode(), [("é", "ü".encode())]),
        (b"datax: a\ndata : b\n\n", []),
        (b"data: cut off\n", []),
    ],
)
def test_sse_format(stream: bytes, expected: list[SseEvent]) -> None:
    assert split(stream) == expected
    assert split(*(bytes([byte]) for byte in stream)) == expected


lines = st.one_of(
    st.sampled_from(
        [b"", b"", b"", b":", b"data", b"data:", b"data: x", b"event: e", b"event:", b"\xef\xbb\xbf"]
    ),
    st.binary(max_size=8),
    st.builds(lambda value: b"data: " + value, st.binary(max_size=8)),
)
streams = st.lists(st.tuples(lines, st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]))).map(
    lambda parts: b"".join(line + end for line, end in parts)
)


@given(streams, st.lists(st.integers(min_value=0, max_value=400), max_size=12))
def test_chunk_boundaries_do_not_matter(stream: bytes, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[begin:end] for begin, end in pairwise(bounds)]
    assert split(*chunks) == split(stream)


@given(streams)
def test_fast_paths_agree_with_the_reference_parser(stream: bytes) -> None:
    assert split(stream) == by_the_book(stream)


def by_the_book(stream: bytes) -> list[SseEvent]:
    """Line by line, as the format is defined."""
    found: list[SseEvent] = []
    name = b""
    data: list[bytes] = []
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for line in text.split(b"\n")[:-1]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                found.append((name.decode("utf-8", "replace") or "message", b"\n".join(data)))
            name, data = b"", []
        elif field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return found


def read(*chunks: bytes) -> list[SseEvent]:
    async def main() -> list[SseEvent]:
        return [event async for event in read_events(Body(*chunks))]

    return asyncio.run(main())


def test_events_of_a_response_come_one_by_one() -> None:
    assert read(b"data: a\n\ndata: b\n", b"", b"\ndata: c\n\n") == [
        ("message", b"a"),
        ("message", b"b"),
        ("message", b"c"),
    ]


def test_event_cut_off_by_the_end_is_dropped() -> None:
    assert read(b"data: a\n\ndata: {half") == [("message", b"a")]


def test_trailing_blank_lines_are_not_an_event() -> None:
    assert read(b"data: a\n\n\n") == [("message", b"a")]


def test_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "EVENT_BYTES", 1000)
    splitter = Splitter()
    assert splitter.feed(b"data: " + b"x" * 900) == []
    with pytest.raises(ProviderError, match="an event of more than 1000 bytes"):
        splitter.feed(b"x" * 100)


def test_large_event_in_many_chunks_is_reassembled() -> None:
    data = b"x" * 1_000_000
    stream = b"data: " + data + b"\n\n"
    chunks = [stream[at : at + 100] for at in range(0, len(stream), 100)]
    assert split(*chunks) == [("message", data)]


class Thing(msgspec.Struct):
    text: str


THING = msgspec.json.Decoder(Thing)


def test_event_is_decoded() -> None:
    assert decode_event(THING, b'{"text": "ok", "more": 1}') == Thing("ok")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"text": "caf\xe9 noir"}', "caf\ufffd noir"),
        (b'{"text": "half \\ud83d"}', "half \ufffd"),
        (b'{"text": "\\ude00 half"}', "\ufffd half"),
        (b'{"text": "\\ud83d\\ude00 \\ud83d \\\\ud83d \\""}', '\U0001f600 \ufffd \\ud83d "'),
    ],
)
def test_invalid_character_does_not_cost_the_event(data: bytes, text: str) -> None:
    assert decode_event(THING, data) == Thing(text)


@pytest.mark.parametrize(
    "data",
    [
        b"{not json",
        b'{"text": 1}',
        b"",
        b'{"text": "\xff',
        b"<html>" * 100,
        b'{"x":' + b"[" * 60_000 + b"]" * 60_000 + b"}",
    ],
)
def test_undecodable_event_is_an_error_with_an_excerpt(data: bytes) -> None:
    with pytest.raises(ProviderError, match="an invalid event") as caught:
        decode_event(THING, data)
    assert caught.value.retryable
    assert data[:6].decode("utf-8", "replace") in str(caught.value)
    assert len(str(caught.value)) < 300
