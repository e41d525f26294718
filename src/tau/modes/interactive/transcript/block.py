"""Base classes of transcript blocks: rows are cached, collapsed or expanded, until something changes."""

from collections.abc import Sequence

from tau.base.sizes import KIB, format_bytes
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.tui.component import CachedComponent, CommitBoundary
from tau.tui.text.clean import clean
from tau.tui.text.wrap import wrap
from tau.tui.widgets.transcript import Block

INDENT = 2
"""Columns of the sign before the first row; other rows align with its text."""
_NARROWEST = 12
"""Rows are not indented on narrower screens."""
KEPT_CHARS = 256 * KIB
"""How much text a block keeps; sessions keep all of it."""


class CachedBlock(CachedComponent, Block):
    """A block that caches its rows until it changes."""

    def __init__(self, scene: BlockContext) -> None:
        self._scene = scene
        self._theme = scene.theme
        self.alone = False
        """Whether only this one is expanded."""

    @property
    def expanded(self) -> bool:
        return self.alone or self._scene.expanded

    @property
    def can_expand(self) -> bool:
        """Whether expanding may show more."""
        return False

    def leave(self) -> None:
        """Release terminal resources when the block is no longer shown."""


class GrowingBlock(CachedBlock):
    """A block that changes until it is finished, including its first row.

    Until then it stays within the window: rows that leave it become history and would show it as running
    forever. It shows its last rows while it grows, and all of them once it is final.
    """

    def __init__(self, scene: BlockContext) -> None:
        super().__init__(scene)
        self._is_taken = False
        self._share = -1
        self._whole: Sequence[str] | None = None
        self._part: Sequence[str] = ()
        scene.unfinished += 1

    def commit_boundary(self) -> CommitBoundary | None:
        """Nothing may scroll away before it is finished."""
        return None if self._is_taken else CommitBoundary(0)

    def is_finished(self) -> bool:
        """Whether it can no longer change."""
        raise NotImplementedError

    def is_final(self) -> bool:
        if not self._is_taken and self.is_finished():
            self._is_taken = True
            self._whole = None
            self._part = ()
            self._scene.unfinished -= 1
        return self._is_taken

    def render(self, width: int) -> Sequence[str]:
        rows = super().render(width)
        if self._is_taken or self._theme.linear:
            return rows
        share = self._scene.share(width)
        if len(rows) <= share:
            return rows
        if rows is not self._whole or share != self._share:
            self._whole, self._share = rows, share
            self._part = self._shortened(rows, share)
        return self._part

    def _shortened(self, rows: Sequence[str], share: int) -> Sequence[str]:
        return [rows[0], *rows[len(rows) - share + 1 :]]


def indent_of(width: int) -> int:
    return INDENT if width >= _NARROWEST else 0


def hung(sign: str, rows: Sequence[str], width: int) -> list[str]:
    """Rows laid out for the remaining width, with a one-column sign before the first."""
    if not indent_of(width):
        return list(rows)
    blanks = " " * INDENT
    lead = f"{sign} " if sign else blanks
    return [lead + row for row in rows[:1]] + [blanks + row if row else row for row in rows[1:]]


def indented(rows: Sequence[str], width: int) -> Sequence[str]:
    """Rows laid out for the remaining width, aligned with the text of the first row."""
    if not indent_of(width):
        return rows
    blanks = " " * INDENT
    return [blanks + row if row else row for row in rows]


def wrapped(text: str, width: int) -> list[str]:
    """Wrap untrusted text beside the indent."""
    return wrap(clean(text), max(width - indent_of(width), 1))


def kept(text: str, limit: int = KEPT_CHARS) -> str:
    """The text, shortened in the middle if it is too long."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    missing = format_bytes(len(text) - head - tail)
    return f"{text[:head]}\n[{missing} not shown; see /export.]\n{text[-tail:]}"


def first_lines(text: str, lines: int, max_chars: int = 4 * KIB) -> tuple[str, int]:
    """The first lines of a text and how many are left out. A long line is cut and counts as one."""
    end = -1
    for _ in range(lines):
        end = text.find("\n", end + 1)
        if end < 0 or end > max_chars:
            break
    if 0 <= end <= max_chars:
        return text[:end], text.count("\n", end) if text[end:].strip() else 0
    if len(text) <= max_chars:
        return text, 0
    return text[:max_chars], text.count("\n", max_chars) + 1
