"""Parsed Markdown as shapes: blocks of styled text, independent of width."""

from collections.abc import Sequence
from typing import NamedTuple

from tau.tui.widgets.markdown.table import Columns


class TextShape(NamedTuple):
    """A paragraph, a heading, or a piece of a long one."""

    text: str
    gap: bool = False
    """A blank row precedes it; the same for all shapes."""
    join: str | None = None
    """The separator from the previous piece, whose last row continues here."""
    is_cut: bool = False
    """Its last row continues in the next piece."""


class CodeShape(NamedTuple):
    """Code or HTML: lines that may break anywhere."""

    lines: Sequence[str]
    gap: bool = False
    indent: str = ""
    title: str = ""
    """A row above."""
    end: str = ""
    """A row below."""


class RuleShape(NamedTuple):
    """A horizontal rule."""

    gap: bool = False


class BoxShape(NamedTuple):
    """Blocks with a prefix on each row: a quote or a list item."""

    children: "Sequence[Shape]"
    gap: bool = False
    first: str = ""
    """Prefix of the first row."""
    rest: str = ""
    """Prefix of the other rows; as wide as `first`."""
    title: str = ""


class TableShape(NamedTuple):
    """Some rows of a table, and its shared columns."""

    columns: Columns
    rows: Sequence[Sequence[str]]
    gap: bool = False
    first_row: int = 0
    """How many rows were rendered before; the header precedes the first."""


Shape = TextShape | CodeShape | RuleShape | BoxShape | TableShape
