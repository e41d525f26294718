"""Text changes as a list of replaced spans; everything else is preserved byte for byte."""

from collections.abc import Iterator, Sequence

from msgspec import Struct


class Splice(Struct, frozen=True, gc=False):
    """Replaces the characters from `start` up to `end` with `text`."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """Apply splices, which are sorted and do not overlap."""
    pieces: list[str] = []
    done = 0
    for splice in splices:
        pieces += (text[done : splice.start], splice.text)
        done = splice.end
    return "".join([*pieces, text[done:]])


def composed(first: Sequence[Splice], second: Sequence[Splice], length: int) -> list[Splice]:
    """Merge two successive sets: `second` refers to the result of `first` on a text of `length` characters.

    Overlaps become one splice, so the result refers to the original text.
    """
    pieces: list[str | range] = []
    done = 0
    for splice in first:
        pieces += (range(done, splice.start), splice.text)
        done = splice.end
    pieces.append(range(done, length))
    result: list[str | range] = []
    done = 0
    for splice in second:
        result += (*_cut(pieces, done, splice.start), splice.text)
        done = splice.end
    result += _cut(pieces, done, None)
    return list(_as_splices(result, length))


def _cut(pieces: list[str | range], start: int, end: int | None) -> Iterator[str | range]:
    position = 0
    for piece in pieces:
        left = max(start - position, 0)
        right = len(piece) if end is None else min(end - position, len(piece))
        position += len(piece)
        if left < right:
            yield piece[left:right]


def _as_splices(pieces: list[str | range], length: int) -> Iterator[Splice]:
    done, text = 0, ""
    for piece in [*pieces, range(length, length)]:
        if isinstance(piece, str):
            text += piece
            continue
        if piece.start > done or text:
            yield Splice(done, piece.start, text)
        done, text = piece.stop, ""
