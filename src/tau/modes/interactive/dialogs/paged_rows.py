"""A window into a long list of blocks that renders only the blocks it shows."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol


class PagerBlock(Protocol):
    """One block of a pager's text. `rows` is cached by the block."""

    @property
    def is_prompt(self) -> bool: ...
    @property
    def can_expand(self) -> bool: ...
    @property
    def expanded(self) -> bool: ...
    def expand(self, expanded: bool) -> None: ...
    def rows(self, width: int) -> Sequence[str]: ...


class PagerPlace(NamedTuple):
    """A row of a block; an empty row separates it from the block above."""

    block: int = 0
    row: int = 0


class PagedRows:
    """Stays at the end as blocks arrive, unless scrolled away."""

    def __init__(self, blocks: Callable[[], Sequence[PagerBlock]]) -> None:
        self._blocks = blocks
        self.top = PagerPlace()
        self.follows = True
        self._selected = -1
        self.width = 80
        self.height = 20

    @property
    def blocks(self) -> Sequence[PagerBlock]:
        return self._blocks()

    def rows_of(self, block: int) -> Sequence[str]:
        rows = self.blocks[block].rows(self.width)
        return ["", *rows] if block and rows else rows

    def resize(self, width: int, height: int) -> None:
        """Set the size; the first visible block stays at the top, at about the same text."""
        if width != self.width and not self.follows and self.blocks:
            before = max(len(self.rows_of(self.top.block)), 1)
            self.width = width
            after = len(self.rows_of(self.top.block))
            self.top = self.top._replace(row=min(self.top.row * after // before, max(after - 1, 0)))
        self.width, self.height = width, max(height, 1)

    def window(self) -> list[tuple[int, str]]:
        """The visible rows, each with its block."""
        self._settle()
        shown: list[tuple[int, str]] = []
        start = self.top.row
        for block in range(self.top.block, len(self.blocks)):
            rows = self.rows_of(block)
            shown += [(block, row) for row in rows[start : start + self.height - len(shown)]]
            start = 0
            if len(shown) >= self.height:
                break
        return shown

    def scroll_by(self, rows: int) -> None:
        """Scroll down by this many rows, or up if negative; the selection stays in sight."""
        chosen = self.chosen
        block, row = self.top
        row += rows
        while row < 0 and block > 0:
            block -= 1
            row += len(self.rows_of(block))
        while block < len(self.blocks) - 1 and row >= (length := len(self.rows_of(block))):
            row -= length
            block += 1
        self.go_to(PagerPlace(block, max(row, 0)))
        self._selected = -1 if self.follows else chosen

    def go_to(self, place: PagerPlace) -> None:
        """Put this row at the top, or as near as the end allows."""
        self.top = place
        self.follows = False
        self._selected = place.block
        self._settle()

    def go_to_end(self) -> None:
        self.follows = True
        self._selected = -1

    @property
    def chosen(self) -> int:
        """The block that keys act on: the selected one, or the nearest in sight; at the end, the last."""
        visible = [block for block, row in self.window() if row]
        if not visible:
            return 0
        return visible[-1] if self._selected < 0 else min(max(self._selected, visible[0]), visible[-1])

    def select(self, block: int, row: int = 0) -> None:
        """Select a block, and scroll only if its row is out of sight."""
        self._selected = block
        shown = self.window()
        first = self.top.row if block == self.top.block else 0
        visible = sum(1 for number, _ in shown if number == block)
        if not first <= row < first + visible:
            self.go_to(PagerPlace(block, row))
            self._selected = block

    def find_prompt(self, step: int) -> int | None:
        """The next prompt after the selected block, or before it."""
        at = self.chosen + step
        while 0 <= at < len(self.blocks) and not self.blocks[at].is_prompt:
            at += step
        return at if 0 <= at < len(self.blocks) else None

    def find_block(self, step: int) -> int:
        """The next block that shows anything; the selected one if there is none."""
        at = self.chosen + step
        while 0 <= at < len(self.blocks) and not self.rows_of(at):
            at += step
        return at if 0 <= at < len(self.blocks) else self.chosen

    def _settle(self) -> None:
        end = self._end()
        self.top = PagerPlace(min(self.top.block, max(len(self.blocks) - 1, 0)), self.top.row)
        if self.follows or self.top >= end:
            self.top, self.follows = end, True

    def _end(self) -> PagerPlace:
        """The top of the last page."""
        left = self.height
        for block in range(len(self.blocks) - 1, -1, -1):
            length = len(self.rows_of(block))
            if length >= left:
                return PagerPlace(block, length - left)
            left -= length
        return PagerPlace()
