"""Paints one component on the alternate screen, which has no history: nothing of it stays behind."""

from collections.abc import Callable, Sequence

from tau.base import log
from tau.tui.component import Component
from tau.tui.render import emit
from tau.tui.render.compose import FrameComposer, extract_cursor_marker
from tau.tui.render.paint import Size
from tau.tui.render.row_sanitizer import RowSanitizer
from tau.tui.terminal import sequences
from tau.tui.terminal.port import Capabilities


class FrameWindow(Component):
    """The last rows of the frame, as on the normal screen."""

    def __init__(
        self, composer: FrameComposer, children: Callable[[], Sequence[Component]], size: Callable[[], Size]
    ) -> None:
        self._composer = composer
        self._children = children
        self._size = size

    def render(self, width: int) -> Sequence[str]:
        return self._composer.compose(self._children(), width).rows[-self._size().rows :]


class AlternatePainter:
    """Owns the alternate screen from entering to leaving it; rewrites the rows that changed."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.entered = False
        """Whether the terminal shows it."""
        self._size = Size(0, 0)
        self._grid: list[str] = []
        self._sanitizer = RowSanitizer(1)

    def forget(self) -> None:
        """Paint every row next time: the terminal may have moved or cut them."""
        self._size = Size(0, 0)

    def paint(self, size: Size, capabilities: Capabilities, *, force: bool = False) -> str:
        """Return the bytes that lead to the next frame."""
        rows = list(self._render(size.columns))[: size.rows]
        marker = extract_cursor_marker(rows)
        if self._sanitizer.width != size.columns or self._sanitizer.hyperlinks != capabilities.hyperlinks:
            self._sanitizer = RowSanitizer(size.columns, hyperlinks=capabilities.hyperlinks)
        grid = ["" if line.image else line.text for line in self._sanitizer.lines(rows)]
        grid += [""] * (size.rows - len(grid))
        parts: list[str] = []
        fresh = force or size != self._size
        if fresh:
            parts.append(f"{sequences.STYLES_RESET}\x1b[H{emit.ERASE_BELOW}")
        for at, row in enumerate(grid):
            if row != ("" if fresh else self._grid[at]):
                # Erasing after a full row would take its last column.
                parts.append(f"\x1b[{at + 1};1H{emit.ERASE_RIGHT}{row}")
        self._grid, self._size = grid, size
        if parts:
            parts = [sequences.AUTOWRAP_OFF, sequences.CURSOR_HIDE, *parts, sequences.AUTOWRAP_ON]
        if marker is None:
            parts.append(sequences.CURSOR_HIDE if fresh else "")
        else:
            column = min(marker[1], size.columns - 1)
            parts.append(f"\x1b[{marker[0] + 1};{column + 1}H{sequences.CURSOR_SHOW}")
        text = "".join(parts)
        if not text or not capabilities.synchronized_output:
            return text
        return f"{sequences.SYNC_BEGIN}{text}{sequences.SYNC_END}"

    def _render(self, width: int) -> Sequence[str]:
        try:
            return self.component.render(width)
        except Exception as error:
            log.error(f"{type(self.component).__name__} could not be rendered", error)
            return self._grid
