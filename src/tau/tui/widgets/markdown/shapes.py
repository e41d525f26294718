"""What a text is made of once it is read: blocks with styled text in them, for any width."""

from collections.abc import Sequence
from typing import NamedTuple

from tau.tui.widgets.markdown.table import Columns


class TextShape(NamedTuple):
    """A paragraph, a heading, or a piece of a long one."""

    text: str
    gap: bool = False
    """A blank row stands before it; so in all shapes."""
    join: str | None = None
    """What stands between it and the piece before, whose last row goes on here."""
    is_cut: bool = False
    """Its last row goes on in the next piece."""


class CodeShape(NamedTuple):
    """Code, or HTML: lines that are broken anywhere."""

    lines: Sequence[str]
    gap: bool = False
    indent: str = ""
    title: str = ""
    """A row above."""
    end: str = ""
    """A row below."""


class RuleShape(NamedTuple):
    """A line from side to side."""

    gap: bool = False


class BoxShape(NamedTuple):
    """Blocks with something before each row: a quote or an item of a list."""

    children: "Sequence[Shape]"
    gap: bool = False
    first: str = ""
    """Before the first row."""
    rest: str = ""
    """Before the other rows; as wide as `first`."""
    title: str = ""


class TableShape(NamedTuple):
    """Some rows of a table, and what all its rows have in common."""

    columns: Columns
    rows: Sequence[Sequence[str]]
    gap: bool = False
    first_row: int = 0
    """How many rows were shown before; the header stands above the first."""


Shape = TextShape | CodeShape | RuleShape | BoxShape | TableShape
