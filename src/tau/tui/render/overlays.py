"""Overlays: components over the window, one above the other. They never touch the frame nor the ledger."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from tau.tui.component import Component
from tau.tui.render.compose import take_marker
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
"""Cells, or a share of the screen such as "50%"."""


class OverlayOptions(NamedTuple):
    """Where an overlay stands and how large it may be."""

    width: _Size = "80%"
    min_width: int = 20
    max_height: _Size = "100%"
    anchor: Anchor = "center"
    offset_x: int = 0
    offset_y: int = 0
    margin: int = 0
    """Cells that stay free at each side of the screen."""
    takes_focus: bool = True
    """False for a note that one only reads."""
    visible: Callable[[int, int], bool] | None = None
    """Asked with the columns and rows of the screen; False hides it for as long as the screen is so small."""


class Overlay:
    """One component over the others, as `show_overlay` gave it out."""

    def __init__(
        self, component: Component, options: OverlayOptions, changed: Callable[["Overlay"], None]
    ) -> None:
        self.component = component
        self.options = options
        self.focus_before: Component | None = None
        """Who gets the keys back."""
        self._hidden = False
        self._closed = False
        self._changed = changed

    @property
    def hidden(self) -> bool:
        """Out of sight for a while; it keeps its place in the stack."""
        return self._hidden

    @hidden.setter
    def hidden(self, value: bool) -> None:
        if value != self._hidden:
            self._hidden = value
            self._changed(self)

    @property
    def closed(self) -> bool:
        return self._closed

    def hide(self) -> None:
        """Take it away for good; once more does nothing."""
        if not self._closed:
            self._closed = True
            self._changed(self)

    def shows_at(self, columns: int, rows: int) -> bool:
        """Whether it can be seen on a screen of this size."""
        if self._hidden or self._closed:
            return False
        visible = self.options.visible
        return visible is None or visible(columns, rows)


class Rect(NamedTuple):
    """A rectangle of the screen."""

    column: int
    row: int
    width: int
    height: int


def cells(size: _Size, whole: int) -> int:
    """A size in cells; what cannot be read as one is the whole."""
    if isinstance(size, int):
        return size
    number = size.removesuffix("%").strip()
    try:
        return int(whole * float(number) / 100) if size.endswith("%") else int(number)
    except (ValueError, OverflowError):
        return whole


def placed(options: OverlayOptions, row_count: int, columns: int, rows: int) -> Rect:
    """Where an overlay with so many rows goes; always inside the screen."""
    margin = max(0, min(options.margin, (columns - 1) // 2, (rows - 1) // 2))
    room_x, room_y = columns - 2 * margin, rows - 2 * margin
    width = width_of(options, columns)
    height = max(0, min(row_count, cells(options.max_height, rows), room_y))
    across = options.anchor.rpartition("-")[2] if options.anchor != "left-center" else "left"
    across = "right" if options.anchor == "right-center" else across
    column = {"left": 0, "right": room_x - width}.get(across, (room_x - width) // 2)
    down = options.anchor.partition("-")[0]
    row = {"top": 0, "bottom": room_y - height}.get(down, (room_y - height) // 2)
    column = min(max(margin + column + options.offset_x, 0), max(columns - width, 0))
    row = min(max(margin + row + options.offset_y, 0), max(rows - height, 0))
    return Rect(column, row, width, height)


def width_of(options: OverlayOptions, columns: int) -> int:
    """The width its component is rendered with."""
    room = columns - 2 * max(0, min(options.margin, (columns - 1) // 2))
    return max(1, min(max(cells(options.width, columns), options.min_width), room))


class CoveredRows(NamedTuple):
    """A window with its overlays."""

    lines: list[SafeRow]
    cursor: tuple[int, int] | None


def cover(
    lines: Sequence[SafeRow],
    overlays: Sequence[Overlay],
    gate: RowSanitizer,
    rows: int,
    cursor: tuple[int, int] | None,
) -> CoveredRows:
    """The lines of a window with the overlays drawn over them, the last one on top."""
    done = list(lines)
    for overlay in overlays:
        drawn = _rendered(overlay, width_of(overlay.options, gate.width))
        box = placed(overlay.options, len(drawn), gate.width, rows)
        shown = drawn[: box.height]
        marker = take_marker(shown)
        if overlay.options.takes_focus:
            cursor = None
        if marker is not None:
            cursor = box.row + marker[0], min(box.column + marker[1], gate.width - 1)
        while len(done) < box.row + len(shown):
            done.append(BLANK)
        for at, row in enumerate(shown, box.row):
            done[at] = _over(done[at], row, box, gate)
    return CoveredRows(done, cursor)


def _rendered(overlay: Overlay, width: int) -> list[str]:
    try:
        return list(overlay.component.render(width))
    except Exception:
        return []


def _over(line: SafeRow, row: str, box: Rect, gate: RowSanitizer) -> SafeRow:
    under = "" if line.image else line.text
    end = box.column + box.width
    left = pad(cut(under, 0, box.column), box.column) if box.column else ""
    right = cut(under, end, gate.width) if line.width > end else ""
    middle = gate.line(row).text if not right else fit(gate.line(row).text, box.width)
    return gate.line(f"{left}{middle}{right}")
