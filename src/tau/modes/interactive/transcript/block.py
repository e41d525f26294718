"""What transcript blocks share: their context, and base classes that cache, collapse and expand rows."""

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tau.base.sizes import KIB, format_bytes
from tau.tui.component import CachedComponent, CommitBoundary
from tau.tui.images.budget import ImageBudget
from tau.tui.input.bindings import Keymap
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities
from tau.tui.text.clean import clean
from tau.tui.text.wrap import wrap
from tau.tui.widgets.transcript import Block

if TYPE_CHECKING:
    from tau.coding.extensions import Renderers


class BlockContext:
    """Shared by all blocks. After changing a field, redraw the transcript."""

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        *,
        cwd: Callable[[], Path],
        now: Callable[[], float],
        capabilities: Callable[[], Capabilities] = Capabilities,
        budget: ImageBudget | None = None,
        room: Callable[[int], int] = lambda width: 1 << 20,
    ) -> None:
        self.theme = theme
        self._keys = keys
        self._cwd = cwd
        self.now = now
        """A monotonic clock, in seconds."""
        self.capabilities = capabilities
        """Terminal capabilities known so far."""
        self.budget = budget
        """Identifies images on the terminal."""
        self._room = room
        self.unfinished = 0
        """How many blocks are unfinished."""
        self.expanded = False
        """Whether blocks show everything, as in the pager."""
        self.hide_thinking = False
        self.renderers: Renderers | None = None
        """What extensions draw."""
        self.hyperlinks = True

    @property
    def cwd(self) -> Path:
        return self._cwd()

    def share(self, width: int) -> int:
        """Rows available to each unfinished block, so that all stay visible."""
        count = max(self.unfinished, 1)
        return max((self._room(width) - count) // count, 1)

    def hint(self, hidden: int, what: str = "line", *, missing: int = 0) -> str:
        """A note that something is hidden, with the key that shows it.

        `missing` more are unavailable, so no key can show them.
        """
        plural = "" if hidden + missing == 1 else "s"
        key = self._keys.label("app.tools.expand")
        shown = f"{hidden:,} of them" if missing else "all"
        shows = f" ({key} shows {shown})" if key and hidden else ""
        return f"{self.theme.symbols.ellipsis} {hidden + missing:,} more {what}{plural}{shows}"


INDENT = 2
"""Columns of the sign before the first row; other rows align with its text."""
_NARROWEST = 12
"""Rows are not indented on narrower screens."""
KEPT_CHARS = 256 * KIB
"""How much text a block keeps; sessions keep all of it."""


class CachedBlock(CachedComponent, Block):
    """A block that caches its rows until it changes."""

    def __init__(self, context: BlockContext) -> None:
        self._context = context
        self._theme = context.theme

    @property
    def expanded(self) -> bool:
        return self._context.expanded

    def copy_for(self, context: BlockContext) -> Self:
        """A copy that is drawn elsewhere, such as in the pager; it does not follow later changes."""
        twin = copy(self)
        twin.move_to(context)
        return twin

    def move_to(self, context: BlockContext) -> None:
        """Draw it for this context from now on, without what is on the terminal."""
        self._context = context
        self.invalidate()

    @property
    def can_expand(self) -> bool:
        """Whether expanding may show more."""
        return False

    def release(self) -> None:
        """Release terminal resources when the block is no longer shown."""


class GrowingBlock(CachedBlock):
    """A block that changes until it is finished, including its first row.

    Until then it stays within the window: rows that leave it become history and would show it as running
    forever. It shows its last rows while it grows, and all of them once it is final.
    """

    def __init__(self, context: BlockContext) -> None:
        super().__init__(context)
        self._is_done = False
        self._share = -1
        self._whole: Sequence[str] | None = None
        self._part: Sequence[str] = ()
        context.unfinished += 1

    def commit_boundary(self) -> CommitBoundary | None:
        """Nothing may scroll away before it is finished."""
        return None if self._is_done else CommitBoundary(0)

    def is_finished(self) -> bool:
        """Whether it can no longer change."""
        raise NotImplementedError

    def is_final(self) -> bool:
        if not self._is_done and self.is_finished():
            self._is_done = True
            self._whole = None
            self._part = ()
            self._context.unfinished -= 1
        return self._is_done

    def render(self, width: int) -> Sequence[str]:
        rows = super().render(width)
        if self._is_done or self._theme.linear:
            return rows
        share = self._context.share(width)
        if len(rows) <= share:
            return rows
        if rows is not self._whole or share != self._share:
            self._whole, self._share = rows, share
            self._part = self._shorten(rows, share)
        return self._part

    def move_to(self, context: BlockContext) -> None:
        super().move_to(context)
        self._whole, self._part = None, ()

    def _shorten(self, rows: Sequence[str], share: int) -> Sequence[str]:
        return [rows[0], *rows[len(rows) - share + 1 :]]


def indent_width(width: int) -> int:
    return INDENT if width >= _NARROWEST else 0


def with_sign(sign: str, rows: Sequence[str], width: int, bar: str = "") -> list[str]:
    """Rows laid out for the remaining width, a one-column sign before the first, `bar` before the others."""
    if not indent_width(width):
        return list(rows)
    blanks = " " * INDENT
    lead = f"{sign} " if sign else blanks
    rest = [f"{bar} {row}".rstrip() if bar else blanks + row if row else row for row in rows[1:]]
    return [lead + row for row in rows[:1]] + rest


def indent_rows(rows: Sequence[str], width: int) -> Sequence[str]:
    """Rows laid out for the remaining width, aligned with the text of the first row."""
    if not indent_width(width):
        return rows
    blanks = " " * INDENT
    return [blanks + row if row else row for row in rows]


def wrap_text(text: str, width: int) -> list[str]:
    """Wrap untrusted text beside the indent."""
    return wrap(clean(text), max(width - indent_width(width), 1))


def cut_middle(text: str, limit: int = KEPT_CHARS) -> str:
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
