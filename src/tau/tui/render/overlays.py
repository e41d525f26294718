"""Overlays: components stacked over the window. They never touch the frame or the ledger."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from tau.tui.component import Component
from tau.tui.render.compose import extract_cursor_marker
from tau.tui.render.row_sanitizer import BLANK, RowSanitizer, SafeRow
from tau.tui.text.cut import cut, fit, pad

Anchor = Literal[
    "center",
    "top-left",
    "top-center",
    "top-right",
    "left-center",
    "right-center",
    "bottom-left",
    "bottom-center",
    "bottom-right",
]
_Size = int | str
"""Cells, or a percentage of the screen such as "50%"."""


class OverlayOptions(NamedTuple):
    """Position and maximum size of an overlay."""

    width: _Size = "80%"
    min_width: int = 20
    max_height: _Size = "100%"
    anchor: Anchor = "center"
    offset_x: int = 0
    offset_y: int = 0
    margin: int = 0
    """Cells to leave free at each side of the screen."""
    takes_focus: bool = True
    """False for a read-only note."""
    visible: Callable[[int, int], bool] | None = None
    """Called with the screen's columns and rows; False hides the overlay at that size."""


class Overlay:
    """A component over the others, as returned by `show_overlay`."""

    def __init__(
        self, component: Component, options: OverlayOptions, changed: Callable[["Overlay"], None]
    ) -> None:
        self.component = component
        self.options = options
        self.focus_before: Component | None = None
        """The component that had the focus before."""
        self._hidden = False
        self.closed = False
        self._changed = changed

    @property
    def hidden(self) -> bool:
        """Temporarily invisible; it keeps its place in the stack."""
        return self._hidden

    @hidden.setter
    def hidden(self, value: bool) -> None:
        if value != self._hidden:
            self._hidden = value
            self._changed(self)

    def hide(self) -> None:
        """Close it for good; repeating this does nothing."""
        if not self.closed:
            self.closed = True
            self._changed(self)

    def shows_at(self, columns: int, rows: int) -> bool:
        """Whether it is visible on a screen of this size."""
        if self._hidden or self.closed:
            return False
        visible = self.options.visible
        return visible is None or visible(columns, rows)


class Rect(NamedTuple):
    """A rectangle of the screen."""

    column: int
    row: int
    width: int
    height: int


def resolve_size(size: _Size, whole: int) -> int:
    """Resolve a size to cells; an invalid one means the whole."""
    if isinstance(size, int):
        return size
    number = size.removesuffix("%").strip()
    try:
        return int(whole * float(number) / 100) if size.endswith("%") else int(number)
    except (ValueError, OverflowError):
        return whole


def place_overlay(options: OverlayOptions, row_count: int, columns: int, rows: int) -> Rect:
    """Place an overlay with this many rows, always inside the screen."""
    margin = max(0, min(options.margin, (columns - 1) // 2, (rows - 1) // 2))
    room_x, room_y = columns - 2 * margin, rows - 2 * margin
    width = overlay_width(options, columns)
    height = max(0, min(row_count, resolve_size(options.max_height, rows), room_y))
    across = options.anchor.rpartition("-")[2] if options.anchor != "left-center" else "left"
    across = "right" if options.anchor == "right-center" else across
    column = {"left": 0, "right": room_x - width}.get(across, (room_x - width) // 2)
    down = options.anchor.partition("-")[0]
    row = {"top": 0, "bottom": room_y - height}.get(down, (room_y - height) // 2)
    column = min(max(margin + column + options.offset_x, 0), max(columns - width, 0))
    row = min(max(margin + row + options.offset_y, 0), max(rows - height, 0))
    return Rect(column, row, width, height)


def overlay_width(options: OverlayOptions, columns: int) -> int:
    """Return the width to render its component with."""
    room = columns - 2 * max(0, min(options.margin, (columns - 1) // 2))
    return max(1, min(max(resolve_size(options.width, columns), options.min_width), room))


def draw_overlays(
    lines: Sequence[SafeRow],
    overlays: Sequence[Overlay],
    sanitizer: RowSanitizer,
    rows: int,
    cursor: tuple[int, int] | None,
) -> tuple[list[SafeRow], tuple[int, int] | None]:
    """Draw the overlays over the lines of a window, the last one on top; returns lines and cursor."""
    done = list(lines)
    for overlay in overlays:
        drawn = _render(overlay, overlay_width(overlay.options, sanitizer.width))
        box = place_overlay(overlay.options, len(drawn), sanitizer.width, rows)
        shown = drawn[: box.height]
        marker = extract_cursor_marker(shown)
        if overlay.options.takes_focus:
            cursor = None
        if marker is not None:
            cursor = box.row + marker[0], min(box.column + marker[1], sanitizer.width - 1)
        while len(done) < box.row + len(shown):
            done.append(BLANK)
        for at, row in enumerate(shown, box.row):
            done[at] = _over(done[at], row, box, sanitizer)
    return done, cursor


def _render(overlay: Overlay, width: int) -> list[str]:
    try:
        return list(overlay.component.render(width))
    except Exception:
        return []


def _over(line: SafeRow, row: str, box: Rect, sanitizer: RowSanitizer) -> SafeRow:
    under = "" if line.image else line.text
    end = box.column + box.width
    left = pad(cut(under, 0, box.column), box.column) if box.column else ""
    right = cut(under, end, sanitizer.width) if line.width > end else ""
    middle = sanitizer.line(row).text if not right else fit(sanitizer.line(row).text, box.width)
    return sanitizer.line(f"{left}{middle}{right}")
