"""Splits a kernel's output into printed text and marks where rich output belongs."""

from collections.abc import Iterator

SEQUENCE_DIGITS = 8


class Marks:
    """A mark is NUL, the kernel's secret, a number in hexadecimal digits, NUL; it may arrive in pieces."""

    def __init__(self, secret: str) -> None:
        self._start = b"\0" + secret.encode()
        self._length = len(self._start) + SEQUENCE_DIGITS + 1
        self._held = b""

    def split(self, data: bytes) -> Iterator[bytes | int]:
        """Yield output chunks and mark numbers in order. A partial mark is held back."""
        data = self._held + data
        self._held = b""
        while data:
            place = data.find(b"\0")
            while place >= 0 and not self._may_begin(data[place : place + len(self._start)]):
                place = data.find(b"\0", place + 1)
            if place < 0:
                yield data
                return
            if place:
                yield data[:place]
            if len(data) - place < self._length:
                self._held = data[place:]
                return
            yield int(data[place + len(self._start) : place + self._length - 1], 16)
            data = data[place + self._length :]

    def _may_begin(self, piece: bytes) -> bool:
        return self._start.startswith(piece)
