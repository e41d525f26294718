"""Parsed patches, and their changes to the lines of one text."""

from typing import Literal, Protocol

from msgspec import Struct

HunkKind = Literal[
    "replace",
    "delete",
    "insert before",
    "insert after",
    "insert head",
    "insert tail",
    "replace block",
    "delete block",
    "insert after block",
]

BLOCK_KINDS = ("replace block", "delete block", "insert after block")


class LineSpan(Struct, frozen=True):
    """Lines `first` to `last`, both included, counted from 1."""

    first: int
    last: int


class BlockResolver(Protocol):
    """Finds the syntactic block that begins on a line; None if there is none."""

    def __call__(self, path: str, text: str, line: int, /) -> LineSpan | None: ...


class Hunk(Struct, frozen=True):
    """One operation as written. `line` is its line in the patch; head and tail have no numbers (0)."""

    kind: HunkKind
    first: int
    last: int
    rows: tuple[str, ...]
    line: int

    @property
    def header(self) -> str:
        """The operation as written, without the colon."""
        if self.kind in ("replace", "delete"):
            return f"{self.kind} {self.first}..{self.last}"
        return self.kind if self.first == 0 else f"{self.kind} {self.first}"


class Section(Struct, frozen=True):
    """The hunks for one file under one tag."""

    path: str
    tag: str
    hunks: tuple[Hunk, ...]
    line: int


class Patch(Struct, frozen=True):
    sections: tuple[Section, ...]
    warnings: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths as written, without duplicates."""
        return tuple(dict.fromkeys(section.path for section in self.sections))


class LineChange(Struct, frozen=True):
    """Replaces lines `first` to `last` of a text with `rows`; if `last < first`, inserts before `first`.

    `anchor` is the line that the patch names for an insertion, 0 for head and tail; `rank` orders insertions
    in one place, and `line` is the hunk's line in the patch.
    """

    first: int
    last: int
    rows: tuple[str, ...]
    line: int = 0
    anchor: int = 0
    rank: int = 0

    @property
    def inserts(self) -> bool:
        return self.last < self.first

    @property
    def growth(self) -> int:
        """The number of lines added, minus those removed."""
        return len(self.rows) - (self.last - self.first + 1)


class LineShift(Struct, frozen=True):
    """What an edit did to line numbers: lines `first` to `last` are gone, those after them moved."""

    first: int
    last: int
    growth: int


class ResolvedBlock(Struct, frozen=True):
    """A block operation and the lines of its block."""

    header: str
    span: LineSpan

    def __str__(self) -> str:
        first, last = self.span.first, self.span.last
        return f"{self.header} → resolved lines {first}-{last} ({count_lines(last - first + 1)})"


def count_lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
