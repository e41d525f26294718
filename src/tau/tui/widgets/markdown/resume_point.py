"""Where the changeable part of a text begins, and the blocks around it.

Each frame parses the text from there. If that is inside a list, quote, table or fence, some lines are
prepended that reopen these.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tau.tui.widgets.highlight import Highlighter
    from tau.tui.widgets.markdown.layout import Columns
    from tau.tui.widgets.markdown.parse import BlockNode

HIDDEN = "x"
"""A hidden word that keeps a reopened block from being empty."""
HTML_HEAD_LINES = 2
"""The line that reopens an HTML block, and one that keeps it from looking like a table header."""
TASK_CHARS = 4


class NestingLevel(NamedTuple):
    """An enclosing block: a quote or a list item."""

    kind: str
    indent: int = 0
    """How many columns its marker takes."""
    markup: str = ""
    number: int | None = None
    task: str = ""

    def opening(self) -> str:
        """The marker that reopens it, as wide as the original."""
        if self.kind == "quote":
            return "> "
        digits = 0 if self.number is None else min(max(self.indent - 2, 1), 9)
        after = min(self.indent - 1 - digits, 4)
        return f"{' ' * (self.indent - 1 - digits - after)}{'1' * digits}{self.markup}{' ' * after}"

    def continuation(self) -> str:
        """The prefix of its continuation lines."""
        return "> " if self.kind == "quote" else " " * self.indent


class PartialBlock(NamedTuple):
    """A partially rendered block."""

    kind: str
    code: "Highlighter | None" = None
    columns: "Columns | None" = None
    shown_rows: int = 0
    join: str | None = None
    """The separator between paragraph pieces; None: the next begins a new row."""


class ResumePoint(NamedTuple):
    """Where parsing resumes."""

    path: tuple[NestingLevel, ...] = ()
    gap: bool = False
    """A blank row comes first."""
    was_shown: bool = False
    """Something precedes it in the enclosing block."""
    number: int | None = None
    """A list continues here with this item number (-1 for bullets)."""
    rest: PartialBlock | None = None
    head: tuple[str, ...] = ()
    """The lines that lead there; not shown."""
    is_in_line: bool = False
    """A paragraph continues mid-line; its rest begins with the hidden word."""

    def continued_line(self, lines: Sequence[str]) -> int:
        """Return the line that continues a paragraph or list, where no table may begin; -1 if none."""
        first = len(self.head)
        if self.number is not None:
            return first if len(lines) > first and "|" in lines[first] else -1
        if self.rest is None or self.rest.kind != "paragraph":
            return -1
        return first - (not self.is_in_line)

    @property
    def nesting(self) -> int:
        """The depth of that line as markdown-it counts: two for an item and its list, one for a quote."""
        return sum([2 if level.kind == "item" else 1 for level in self.path])


class BlockRange(NamedTuple):
    """A block of the tree and its role in the whole text."""

    node: "BlockNode"
    children: "tuple[BlockRange, ...]" = ()
    gap: bool = False
    is_continued: bool = False
    """Its beginning was already rendered."""
    number: int | None = None
    """An item's number; None for bullets."""
    task: str = ""
    """The character in a task's checkbox: a space or an x."""


def opening_lines(path: Sequence[NestingLevel], inside: Sequence[str] = ()) -> tuple[str, ...]:
    """Return lines that open the blocks of a path, then some inside."""
    lines: list[str] = []
    before = ""
    for level in path:
        lines.append(before + level.opening() + HIDDEN)
        before += level.continuation()
        lines.append(before.rstrip())
    return (*lines, *[before + line for line in inside])


def locate_blocks(
    nodes: "Sequence[BlockNode]", lines: Sequence[str], place: ResumePoint
) -> tuple[BlockRange, ...]:
    """Return the blocks parsed from a resume point, without the lines that lead there."""
    return _Placing(lines, place).blocks(nodes, 0, True, False)


class _Placing:
    def __init__(self, lines: Sequence[str], place: ResumePoint) -> None:
        self._lines = lines
        self._place = place

    def blocks(
        self, nodes: "Sequence[BlockNode]", depth: int, leads: bool, in_item: bool
    ) -> tuple[BlockRange, ...]:
        """Return the blocks inside one; `leads`: the first ones lead to the resume point or begin there."""
        place = self._place
        ranges: list[BlockRange] = []
        was_shown = False
        rest = list(nodes)
        if leads and depth:
            rest.pop(0)  # the hidden word
        if leads and depth < len(place.path):
            ranges.append(self._build_opened(rest.pop(0), depth))
            was_shown = True
        elif leads:
            was_shown = place.was_shown
            if rest:
                ranges.append(self._first(rest.pop(0), depth))
                was_shown = was_shown or ranges[0].node.kind != "definition"
        for node in rest:
            gap = was_shown and (
                not in_item or self._follows_blank(node, ranges[-1].node if ranges else None)
            )
            ranges.append(self._block(node, depth, gap))
            was_shown = was_shown or node.kind != "definition"
        return tuple(ranges)

    def _build_opened(self, node: "BlockNode", depth: int) -> BlockRange:
        """Build a block that leads to the resume point."""
        if node.kind != "list":
            return BlockRange(node, self.blocks(node.children, depth + 1, True, False), is_continued=True)
        level = self._place.path[depth]
        number = level.number
        item = node.children[0]
        inside = self.blocks(item.children, depth + 1, True, True)
        first = BlockRange(item, inside, is_continued=True, number=number, task=level.task)
        following = None if number is None else number + 1
        return BlockRange(node, (first, *self._items(node.children[1:], depth, following, None, item)))

    def _first(self, node: "BlockNode", depth: int) -> BlockRange:
        """Build the first block at the resume point."""
        place = self._place
        if place.rest is not None:
            return BlockRange(node, is_continued=True)
        return self._block(node, depth, place.gap, place.number)

    def _block(self, node: "BlockNode", depth: int, gap: bool, number: int | None = None) -> BlockRange:
        if node.kind == "list":
            if number is None:
                number = int(node.children[0].info or "-1")
            first = None if number < 0 else number
            return BlockRange(node, self._items(node.children, depth, first, gap))
        if node.kind == "quote":
            return BlockRange(node, self.blocks(node.children, depth + 1, False, False), gap)
        return BlockRange(node, gap=gap)

    def _items(
        self,
        items: "Sequence[BlockNode]",
        depth: int,
        number: int | None,
        gap: bool | None,
        before: "BlockNode | None" = None,
    ) -> tuple[BlockRange, ...]:
        """Number items starting at `number`; `gap` applies to the first one, if known."""
        ranges: list[BlockRange] = []
        for item in items:
            children = self.blocks(item.children, depth + 1, False, True)
            has_gap = self._follows_blank(item, before) if gap is None else gap
            ranges.append(BlockRange(item, children, has_gap, number=number, task=_task(item)))
            number = None if number is None else number + 1
            gap, before = None, item
        return tuple(ranges)

    def _follows_blank(self, node: "BlockNode", before: "BlockNode | None") -> bool:
        """Whether the line above is blank and not part of preceding code."""
        if not node.start or self._lines[node.start - 1].strip(" \t>"):
            return False
        while before is not None and before.children and before.kind != "table":
            before = before.children[-1]
        return before is None or before.kind not in ("fence", "html") or before.end < node.start


def _task(item: "BlockNode") -> str:
    """Return the checkbox character of a task item (`[x] ` or `[ ] `), or ""."""
    first = item.children[0] if item.children else None
    if first is None or first.kind != "paragraph" or len(first.content) <= TASK_CHARS:
        return ""
    mark = first.content[:TASK_CHARS]
    return mark[1].lower() if mark in ("[ ] ", "[x] ", "[X] ") else ""
