"""Rows of a frame as shared parts, so that passing on a long transcript copies nothing."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import overload

_Row = str
RowPart = Sequence[_Row]


class Rows(Sequence[_Row]):
    """Concatenated parts, read as one immutable sequence.

    The parts must not change either. Two `Rows` of the same part objects are equal without comparing rows.
    """

    __slots__ = ("_length", "_parts", "_starts")

    def __init__(self, parts: Iterable[RowPart] = ()) -> None:
        self._parts: list[RowPart] = []
        self._starts: list[int] = []
        length = 0
        for part in parts:
            if part:
                self._parts.append(part)
                self._starts.append(length)
                length += len(part)
        self._length = length

    @property
    def parts(self) -> Sequence[RowPart]:
        return self._parts

    def same_parts(self, other: "Rows") -> bool:
        """Whether both consist of the same objects."""
        mine, theirs = self._parts, other.parts
        return len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> _Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Row]: ...
    def __getitem__(self, index: int | slice) -> _Row | list[_Row]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            rows = self._between(start, stop) if step > 0 else self._between(stop + 1, start + 1)[::-1]
            return rows if abs(step) == 1 else rows[:: abs(step)]
        position = index + self._length if index < 0 else index
        if not 0 <= position < self._length:
            raise IndexError(index)
        at = bisect_right(self._starts, position) - 1
        return self._parts[at][position - self._starts[at]]

    def __iter__(self) -> Iterator[_Row]:
        for part in self._parts:
            yield from part

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows) and self.same_parts(other):
            return True
        return isinstance(other, Sequence) and len(other) == self._length and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self._length} rows in {len(self._parts)} parts>"

    def _between(self, start: int, stop: int) -> list[_Row]:
        rows: list[_Row] = []
        if start >= stop:
            return rows
        at = bisect_right(self._starts, start) - 1
        while at < len(self._parts) and self._starts[at] < stop:
            first = self._starts[at]
            rows += self._parts[at][max(start - first, 0) : stop - first]
            at += 1
        return rows


class RowLog:
    """Append-only rows. A snapshot has constant size, however long the log is."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[_Row] = []

    def extend(self, rows: Iterable[_Row]) -> None:
        """Append rows; earlier snapshots do not see them."""
        self._rows.extend(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def snapshot(self) -> "LoggedRows":
        """Return a view of the current rows."""
        return LoggedRows(self._rows, len(self._rows))


class LoggedRows(Sequence[_Row]):
    """The first rows of a log, as of its creation."""

    __slots__ = ("_length", "_rows")

    def __init__(self, rows: list[_Row], length: int) -> None:
        self._rows = rows
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> _Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Row]: ...
    def __getitem__(self, index: int | slice) -> _Row | list[_Row]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1:
                return self._rows[start:stop]
            return [self._rows[at] for at in range(start, stop, step)]
        position = index + self._length if index < 0 else index
        if not 0 <= position < self._length:
            raise IndexError(index)
        return self._rows[position]

    def __iter__(self) -> Iterator[_Row]:
        return islice(self._rows, self._length)
