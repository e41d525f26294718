"""The painter for screen readers: plain lines in order, no cursor addressing, nothing redrawn.

Record rows are printed once, when final. Rows below the record are printed when they change. The edited field
is echoed: text typed at its end is appended, text deleted there is erased with backspaces, and any other edit
prints the line again.
"""

import re
from collections.abc import Sequence

from tau.tui.component import CURSOR_MARKER
from tau.tui.render.audit import Audit, visible_text
from tau.tui.render.compose import EMPTY_FRAME, Frame
from tau.tui.render.ledger import Ledger, RowPlace
from tau.tui.render.overlays import Overlay, overlay_width
from tau.tui.render.paint import ORDINARY, Emitter, FrameRequest, Intent, KeepRows, PaintResult, Size
from tau.tui.render.row_sanitizer import RowSanitizer
from tau.tui.terminal.port import Capabilities
from tau.tui.text.width import visible_width

_DRAWING = re.compile("[\u2500-\u259f\u2800-\u28ff]+")
_SELECTED = "Selected"
"""How a list names the selected row, since symbols are not read out."""
_TAB = re.compile(r"Tab \d+ of \d+: ")
"""How a tab bar names the active tab."""
_CONTINUATION = "  "
"""Prefix of further lines of the selected item."""


class LinearPainter:
    """Replaces the painter for linear themes."""

    cursor_visible = True

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.size = Size(0, 0)
        self._audit = Audit()
        self._frame = EMPTY_FRAME
        self._sanitizer = RowSanitizer(1)
        self._below: list[str] = []
        self._overlays: dict[int, list[str]] = {}
        self._echoed = ""
        """Text in the terminal's last line, before the cursor."""

    @property
    def live(self) -> int:
        """The first row that is not printed."""
        return self.ledger.committed

    def kept_place(self, size: Size, capabilities: Capabilities, request: FrameRequest) -> RowPlace | None:
        """Return how many rows of the last frame are printed, if the width changed since."""
        printed = self.ledger.committed
        is_kept = printed and not request.full and size.columns != self.size.columns
        return RowPlace(printed) if is_kept else None

    def paint(
        self,
        frame: Frame,
        size: Size,
        capabilities: Capabilities,
        *,
        request: FrameRequest = ORDINARY,
        overlays: Sequence[Overlay] = (),
        kept: RowPlace | None = None,
        typing: bool = False,
        asking: bool = False,
        unsettled: bool = False,
    ) -> PaintResult:
        """Print the lines that are new since the last frame."""
        intent: Intent = "first" if not self.size.rows else "full" if request.full else "update"
        start = self._printed(frame, request, kept)
        if self._sanitizer.width != size.columns:
            self._sanitizer = RowSanitizer(size.columns, hyperlinks=False)
        end = max(frame.live_start if frame.has_boundary else 0, start)
        record = frame.rows[start:end]
        lines = self._plain(record)
        below, field = self._split(frame.rows[frame.content_end if frame.has_boundary else 0 :])
        lines += find_new_lines(self._below, below)
        self._below = below
        shown = [overlay for overlay in overlays if overlay.shows_at(*size)]
        for overlay in shown:
            rows, field = self._split(overlay.component.render(overlay_width(overlay.options, size.columns)))
            lines += find_new_lines(self._overlays.get(id(overlay), []), rows)
            self._overlays[id(overlay)] = rows
        visible_now = {id(overlay) for overlay in shown}
        self._overlays = {key: rows for key, rows in self._overlays.items() if key in visible_now}
        text = self._print_lines(lines) + self._echo(field, fresh=bool(lines))
        self._audit.truncate(start)
        self._audit.commit(record)
        self.ledger = Ledger(end, end, frame.boundary, len(frame.rows))
        self.size, self._frame = size, frame
        emitter: Emitter = "none" if not text else "scroll" if lines else "diff"
        return PaintResult(text, emitter, intent, start)

    def forget(self, rows: int) -> None:
        """Drop this many printed rows from the top of the frame."""
        committed, top, boundary, length = self.ledger
        self.ledger = Ledger(committed - rows, max(top - rows, 0), boundary - rows, length - rows)
        self._audit.forget(rows)

    def leave(self, keep: KeepRows, capabilities: Capabilities) -> str:
        """Print the rest of the record, final or not, and end the line."""
        frame, printed = self._frame, self.ledger.committed
        end = {"all": len(frame.rows), "content": frame.content_end, "final": frame.live_start}[keep]
        end = max(end if frame.has_boundary else printed, printed)
        text = self._print_lines(self._plain(frame.rows[printed:end]))
        if not text and self._echoed:
            text = "\r\n"
        self._echoed = ""
        self._below, self._overlays = [], {}
        kept = max(printed, min(end, frame.live_start)) if frame.has_boundary else 0
        self._audit.commit(frame.rows[printed:kept])
        self.ledger = Ledger(kept, kept, frame.boundary, len(frame.rows))
        return text

    def _printed(self, frame: Frame, request: FrameRequest, kept: RowPlace | None) -> int:
        """Return how many rows of this frame are already printed."""
        printed = self.ledger.committed
        if request.full or not printed:
            return 0
        if kept is not None:
            printed = kept.row
            self._audit.truncate(0)
            self._audit.commit(frame.rows[:printed])
            return printed
        shifted = self._audit.first_shifted(frame.rows)
        return min(printed, len(frame.rows)) if shifted is None else shifted

    def _plain(self, rows: Sequence[str]) -> list[str]:
        return [spoken_text(self._sanitizer.line(row).text) for row in rows]

    def _split(self, rows: Sequence[str]) -> tuple[list[str], str | None]:
        """Return the non-empty lines, and the text of the field with the cursor, if any."""
        lines: list[str] = []
        field = None
        for row in rows:
            if CURSOR_MARKER in row:
                head, _, tail = row.partition(CURSOR_MARKER)
                # Keep the marker in the text for now, so that spaces before the cursor are not lost.
                field = spoken_text(
                    self._sanitizer.part(head).text + "\x00" + self._sanitizer.line(tail).text
                )
                field = field.replace("\x00", "")
            elif line := spoken_text(self._sanitizer.line(row).text):
                lines.append(line)
        return lines, field

    def _print_lines(self, lines: Sequence[str]) -> str:
        if not lines:
            return ""
        start = "\r\n" if self._echoed else ""
        self._echoed = ""
        return start + "".join(f"{line}\r\n" for line in lines)

    def _echo(self, field: str | None, *, fresh: bool) -> str:
        was, self._echoed = self._echoed, field or ""
        if fresh or not was:
            return self._echoed
        if self._echoed.startswith(was):
            return self._echoed[len(was) :]
        if was.startswith(self._echoed) and self._echoed:
            return "\b \b" * visible_width(was[len(self._echoed) :])
        return f"\r\n{self._echoed}"


def spoken_text(row: str) -> str:
    """Return a row's readable text, without styles, borders and bars."""
    text = visible_text(row)
    bare = text if text.isascii() else _DRAWING.sub("", text)
    return text if bare == text else bare.strip()


def find_new_lines(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the new lines; if the selection moved, also to another tab, only those of the selected item."""
    known = set(old)
    added = [line for line in new if line not in known]
    chosen: list[str] = []
    in_chosen = False
    for line in new:
        is_head = line.startswith(_SELECTED) or _TAB.match(line) is not None
        in_chosen = is_head or (in_chosen and line.startswith(_CONTINUATION))
        if in_chosen and line not in known:
            chosen.append(line)
    return chosen if _has_selection(old) and _has_selection(chosen) else added


def _has_selection(lines: Sequence[str]) -> bool:
    return any(line.startswith(_SELECTED) for line in lines)
