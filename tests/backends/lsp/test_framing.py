"""Frames survive any cut of the stream; everything else is a named error."""

import random

import pytest

from tau.base.framing import MAX_FRAME_BYTES, FrameError, FrameReader, frame
from tests.support.soak import seeds

BODIES = [b"{}", b'{"a": "\\u00e9"}', b"", b"x" * 5000, "é😀".encode()]


def test_messages_are_the_same_however_the_stream_is_cut() -> None:
    stream = b"".join(map(frame, BODIES))
    for size in (1, 2, 7, 100, len(stream)):
        reader = FrameReader()
        found = [body for at in range(0, len(stream), size) for body in reader.feed(stream[at : at + size])]
        assert found == BODIES
        assert not reader.is_inside


def test_other_headers_are_ignored() -> None:
    stream = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length: 2\r\n\r\n{}"
    assert FrameReader().feed(stream) == [b"{}"]


@pytest.mark.parametrize(
    ("stream", "problem"),
    [
        (b"Content-Length: 10000000000\r\n\r\n", "announced a message of 9.3 GiB; at most 64 MiB is read"),
        (b"Content-Length: -1\r\n\r\n", "instead of a header"),
        (b"Content-Length: 1e9\r\n\r\n", "instead of a header"),
        (b"Hello, I am a server\n", "instead of a header"),
        (b"Content-X: " + b"x" * 5000, "sent a header of more than 4 KiB"),
    ],
)
def test_a_bad_stream_is_named(stream: bytes, problem: str) -> None:
    with pytest.raises(FrameError, match=problem):
        FrameReader().feed(stream)


def test_half_a_message_is_noticed() -> None:
    reader = FrameReader()
    assert reader.feed(frame(b"hello")[:-1]) == []
    assert reader.is_inside


@pytest.mark.parametrize("seed", seeds(20, 20_000))
def test_a_damaged_stream_is_read_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    stream = bytearray(b"".join(map(frame, BODIES)))
    for _ in range(rng.randrange(1, 8)):
        stream[rng.randrange(len(stream))] = rng.randrange(256)
    reader = FrameReader(MAX_FRAME_BYTES)
    try:
        while stream:
            size = rng.randrange(1, 200)
            for body in reader.feed(bytes(stream[:size])):
                assert len(body) <= MAX_FRAME_BYTES
            del stream[:size]
    except FrameError as error:
        assert str(error)
