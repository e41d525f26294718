"""The values between the steps: what a patch says, and what that means for the lines of one text."""

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
    """Finds the syntactic block that begins on a line; None if there is none that parses."""

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
        """How it is written, without the colon."""
        if self.kind in ("replace", "delete"):
            return f"{self.kind} {self.first}..{self.last}"
        return self.kind if self.first == 0 else f"{self.kind} {self.first}"


class Section(Struct, frozen=True):
    """The hunks for one file as it was shown under one tag."""

    path: str
    tag: str
    hunks: tuple[Hunk, ...]
    line: int


class Patch(Struct, frozen=True):
    sections: tuple[Section, ...]
    warnings: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path once, as written, in the order of the patch."""
        return tuple(dict.fromkeys(section.path for section in self.sections))


class LineChange(Struct, frozen=True):
    """Replaces lines `first` to `last` of a text with `rows`; a change with `last < first` only inserts.

    It inserts before line `first`. `anchor` is the line that the patch names for an insertion, 0 for head
    and tail; `rank` orders insertions at one place, and `line` is the hunk's line in the patch.
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
        """By how many lines the text gets longer."""
        return len(self.rows) - (self.last - self.first + 1)


class ResolvedBlock(Struct, frozen=True):
    """A block operation and the lines that it was found to mean."""

    header: str
    span: LineSpan

    def __str__(self) -> str:
        count = self.span.last - self.span.first + 1
        lines = "1 line" if count == 1 else f"{count} lines"
        return f"{self.header} → resolved lines {self.span.first}-{self.span.last} ({lines})"
