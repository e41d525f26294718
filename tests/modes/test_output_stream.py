"""Output that is written without joining its lines."""

import os
import threading

from tau.modes.output_stream import PIECES_AT_ONCE, OutputStream


def written(lines: list[bytes]) -> bytes:
    """What arrives at the other end of a pipe, which takes 64 KiB at a time."""
    reading, writing = os.pipe()
    received = bytearray()

    def read() -> None:
        while piece := os.read(reading, 10_000):
            received.extend(piece)

    reader = threading.Thread(target=read)
    reader.start()
    OutputStream(writing).write_all(lines)
    os.close(writing)
    reader.join()
    os.close(reading)
    return bytes(received)


def test_more_lines_than_the_system_takes_at_once_arrive_in_order() -> None:
    lines = [b"%d\n" % number for number in range(5 * PIECES_AT_ONCE + 1)]
    assert written(lines) == b"".join(lines)


def test_lines_longer_than_a_pipe_arrive_whole() -> None:
    lines = [b"a" * 200_000, b"", b"b", b"c" * 70_000]
    assert written(lines) == b"".join(lines)


def test_reader_that_is_gone_is_noticed_once() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = OutputStream(writing)
    stream.write_all([b"x", b"y"])
    assert stream.gone
    stream.write(b"z")
    os.close(writing)
