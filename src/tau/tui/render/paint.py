"""Turns frames into bytes: the painter tracks the ledger and the screen and chooses an emitter."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tau.tui.images.marks import image_rows
from tau.tui.render import emit
from tau.tui.render.audit import Audit, find_rewrapped_start, wrapped_heights
from tau.tui.render.compose import EMPTY_FRAME, Frame, extract_cursor_marker
from tau.tui.render.ledger import Ledger, LedgerStep, advance, restart
from tau.tui.render.overlays import Overlay, draw_overlays
from tau.tui.render.row_sanitizer import BLANK, RowSanitizer, SafeRow
from tau.tui.terminal import sequences
from tau.tui.terminal.port import Capabilities

Emitter = Literal["none", "cursor", "full", "scroll", "diff", "rewrite"]
Intent = Literal["first", "full", "resize", "force", "update"]
KeepRows = Literal["content", "final", "all"]
"""Which rows stay when leaving the screen: the record (without editor and status lines below it), only its
final rows, or every row."""
_UNSYNCED_HIDE_BYTES = 1024


class Size(NamedTuple):
    columns: int
    rows: int


class FrameRequest(NamedTuple):
    """What a frame must do beyond showing changes."""

    force: bool = False
    """Rewrite every window row."""
    full: bool = False
    """Write the record from its first row, below the existing history: it is a different one."""
    resized: bool = False
    """The terminal was resized meanwhile, even if it is back at the old size: it may have moved rows."""
    least_columns: int = 0
    """The smallest width meanwhile; 0 if it was not resized."""
    most_rows: int = 0
    """The largest height meanwhile."""
    steady: bool = False
    """Nothing was written while the size may have been unknown."""
    cursor_lost: bool = False
    """Other programs may have moved the cursor."""
    trusted: int | None = None
    """C before frames that may have been written for an outdated size."""


ORDINARY = FrameRequest()


class PaintResult(NamedTuple):
    """The result of painting a frame."""

    text: str
    emitter: Emitter
    intent: Intent
    chunk_start: int
    """The rows from here to C entered the history with this frame."""
    first_time: int = 0
    """Rows from here on did so for the first time, as far as known."""


class Cursor(NamedTuple):
    row: int
    column: int
    visible: bool


class Painter:
    """Owns the terminal's content. `paint` returns the bytes that lead to the next frame."""

    def __init__(self, *, hardware_cursor: bool = True) -> None:
        self._hardware_cursor = hardware_cursor
        self.ledger = Ledger()
        self.size = Size(0, 0)
        self._audit = Audit()
        self._sanitizer = RowSanitizer(1)
        self._frame = EMPTY_FRAME
        self._grid: list[SafeRow] = []
        self._covered = False
        # Row and reach as in `Pen`; column -1 means unknown.
        self._cursor = Cursor(0, -1, True)
        self._reach = 1
        self._painting = False
        self._handed_over = 0
        self._known = 0
        self._reflows = False
        self._widest = 0

    @property
    def cursor_visible(self) -> bool:
        return self._cursor.visible

    @property
    def anchored(self) -> bool:
        """Whether the window starts at the top of the screen, with no shell lines above it."""
        return self._reach >= self.size.rows

    def wants_old_width(self, size: Size, capabilities: Capabilities, request: FrameRequest) -> bool:
        """Whether the next frame has a different width than the history, which is never rewritten.

        If so, the current frame at the old width shows which text the history does not have yet.
        """
        keeps = self._intent(size, request) in ("first", "resize")
        return keeps and self.ledger.committed > 0 and size.columns != self.size.columns

    def paint(
        self,
        frame: Frame,
        size: Size,
        capabilities: Capabilities,
        *,
        request: FrameRequest = ORDINARY,
        overlays: Sequence[Overlay] = (),
        before: Frame | None = None,
    ) -> PaintResult:
        """Return the bytes for this frame and update the state. `before`: see `wants_old_width`."""
        intent = self._intent(size, request)
        self._reflows = capabilities.reflows
        shown = [overlay for overlay in overlays if overlay.shows_at(*size)]
        sanitizer = self._sanitizer
        if sanitizer.width != size.columns or sanitizer.hyperlinks != capabilities.hyperlinks:
            sanitizer = self._sanitizer = RowSanitizer(size.columns, hyperlinks=capabilities.hyperlinks)
        elif intent == "update" and frame is self._frame and not shown and not self._covered:
            return PaintResult("", "none", intent, self.ledger.committed, self.ledger.committed)
        step = self._step(intent, frame, size, bool(shown), before, request)
        ledger = step.ledger
        rows = frame.rows[ledger.window_top : ledger.window_top + size.rows]
        marker = extract_cursor_marker(rows)
        window = sanitizer.lines(rows)
        if shown:
            window, marker = draw_overlays(window, shown, sanitizer, size.rows, marker)
            if intent == "resize":  # the window's position was a guess; overlays need a known one
                window += [BLANK] * (size.rows - len(window))
        window = _fit_images(window)
        chunk_rows = frame.rows[step.start : ledger.committed]
        pen, emitter = self._emit(
            intent, step, [sanitizer.line(row) for row in chunk_rows], window, size, request
        )
        text, emitter = self._finish_frame(pen, emitter, self._target(marker, window), capabilities)
        self._audit.truncate(step.start)
        self._audit.commit(chunk_rows)
        self.ledger, self.size, self._frame = ledger, size, frame
        self._widest = max(self._widest, size.columns)
        self._grid, self._covered = window, bool(shown)
        self._reach, self._painting = pen.reach, True
        return PaintResult(text, emitter, intent, step.start, max(step.start, self._known))

    def forget(self, rows: int) -> None:
        """Drop this many rows, all in the history, from the top of the frame."""
        committed, top, boundary, length = self.ledger
        assert rows <= committed, "only rows in the history can be forgotten"
        self.ledger = Ledger(committed - rows, top - rows, boundary - rows, length - rows)
        self._handed_over = max(self._handed_over - rows, 0)
        self._audit.forget(rows)

    def leave(self, keep: KeepRows, capabilities: Capabilities) -> str:
        """Return the bytes that hand the terminal back: cursor visible, in an empty row below the kept rows.

        This uses the last painted frame. Record rows hidden above the window are written now. Painting may
        resume afterwards, starting at that row.
        """
        if not self._painting:
            return ""
        frame, (committed, top, _, length) = self._frame, self.ledger
        end = {"all": length, "content": frame.content_end, "final": frame.boundary}[keep]
        end = max(end, committed)
        lines = [self._sanitizer.line(row) for row in frame.rows[committed:end]]
        pen = emit.Pen(self._cursor.row, self._reach, *self.size)
        pen.write(sequences.AUTOWRAP_OFF)
        unchanged = _count_already_shown(lines, self._grid) if top == committed else 0
        if unchanged < len(lines):
            emit.rewrite(pen, unchanged, lines[unchanged:], (), old=self._grid)
        elif lines:
            pen.to(len(lines) - 1)
        if lines:
            pen.write(f"\r\n{emit.ERASE_BELOW}")
        else:
            emit.erase_below(pen, 0)
            pen.to(0)
            pen.write("\r")
        pen.write(f"{sequences.AUTOWRAP_ON}{sequences.CURSOR_SHOW}")
        # Rows that may still change are shown again if painting resumes: a duplicate is better than a loss.
        self._handed_over = max(committed, min(end, frame.boundary))
        self._audit.commit(frame.rows[committed : self._handed_over])
        self.ledger = Ledger(self._handed_over, self._handed_over, frame.boundary, length)
        self._grid, self._covered, self._painting = [], False, False
        self._cursor, self._reach = Cursor(0, -1, True), 1
        return _in_sync("".join(pen.parts), capabilities)

    def _intent(self, size: Size, request: FrameRequest) -> Intent:
        if request.full and self.size.rows:
            return "full"
        if not self._painting:
            return "first"
        if size != self.size or request.resized:
            return "resize"
        return "force" if request.force else "update"

    def _step(
        self,
        intent: Intent,
        frame: Frame,
        size: Size,
        covered: bool,
        before: Frame | None,
        request: FrameRequest,
    ) -> LedgerStep:
        length, boundary = len(frame.rows), frame.boundary
        if intent == "full":
            self._handed_over = self._known = 0
            return restart(length=length, height=size.rows, boundary=boundary)
        self._known = committed = self.ledger.committed
        if intent == "resize":
            committed = self._surely_kept(size, request)
        if self._known and size.columns != self.size.columns:
            committed = self._after_rewrap(committed, before or self._frame, frame)
        elif length > committed:
            shifted = self._audit.first_shifted(frame.rows)
            committed = committed if shifted is None else min(committed, shifted)
        step = advance(
            committed,
            length=length,
            height=size.rows,
            boundary=boundary,
            frozen=covered and intent != "resize",
            handed_over=self._handed_over if self._audit.first_shifted(frame.rows) is None else 0,
        )
        return step if step.start >= committed else self._check_replaced(step, frame)

    def _check_replaced(self, step: LedgerStep, frame: Frame) -> LedgerStep:
        """Handle a frame that shrank: write its rows if they differ from the start of the history."""
        self._audit.truncate(step.start)
        shifted = self._audit.first_shifted(frame.rows)
        return step if shifted is None else step._replace(start=shifted)

    def _surely_kept(self, size: Size, request: FrameRequest) -> int:
        """Return how many record rows are surely intact above the window.

        Frames written for an outdated size prove nothing. A terminal that does not rewrap cuts rows on its
        screen that are too wide, also those above the window: it may have pulled them back from its history.
        """
        committed = self.ledger.committed
        if request.trusted is not None:
            committed = min(committed, request.trusted)
        if not self._reflows and min(request.least_columns, size.columns) < self._widest:
            highest = max(request.most_rows, size.rows, self.size.rows)
            committed = max(committed - (highest - 1 - self._cursor.row), 0)
        if self._reflows and request.steady:
            pushed = self._pushed_out(size)
            self._audit.commit(self._frame.rows[committed : committed + pushed])
            committed += pushed
        return committed

    def _pushed_out(self, size: Size) -> int:
        """Return how many final window rows the terminal itself must have pushed into its history.

        The cursor is still on screen with its text, at most in the last row: rows that do not fit above it
        are gone. This holds for every terminal known to rewrap.
        """
        committed, top, boundary, _ = self.ledger
        if self._covered or top != committed:
            return 0
        heights = self._heights_above_cursor(size)
        gone = sum(heights) - (size.rows - 1)
        rows = 0
        for height in heights[: max(boundary - committed, 0)]:
            gone -= height
            if gone < 0:
                break
            rows += 1
        return rows

    def _heights_above_cursor(self, size: Size) -> list[int]:
        return wrapped_heights([line.text for line in self._grid[: self._cursor.row]], size.columns)

    def _after_rewrap(self, committed: int, old: Frame, frame: Frame) -> int:
        """Return how many rows of the frame at the new width the history already has, differently wrapped."""
        end = old.content_end
        self._known = find_rewrapped_start(
            old.rows[min(self._known, end) : end], frame.rows, frame.content_end
        )
        committed = find_rewrapped_start(old.rows[min(committed, end) : end], frame.rows, frame.content_end)
        self._audit.truncate(0)
        self._audit.commit(frame.rows[:committed])
        if self._handed_over:
            self._handed_over = committed
        return committed

    def _emit(
        self,
        intent: Intent,
        step: LedgerStep,
        chunk: list[SafeRow],
        window: list[SafeRow],
        size: Size,
        request: FrameRequest,
    ) -> tuple[emit.Pen, Emitter]:
        pen = emit.Pen(self._cursor.row, self._reach, *size)
        if intent == "first":
            # Begin in the row where the shell left the cursor. Nothing on its screen is erased or lost, on
            # any terminal: its lines scroll into the history in order as ours need room.
            image_rows.screen_cleared()
            pen.write(f"{image_rows.take_pending()}\r{emit.ERASE_BELOW}")
            emit.rewrite(pen, 0, chunk, window, old=())
            return pen, "full"
        pen.write(image_rows.take_pending())
        if intent == "update":
            return pen, self._updated(pen, step, chunk, window)
        # Keep the history on every terminal: overwrite the window in place.
        if self._painting:
            pen.write(image_rows.removal_sequence() if intent != "force" else "")
            self._find_top(pen, size, request)
        self._emit_rewrite(pen, 0, chunk, window, old=None)
        return pen, "full" if intent == "full" else "rewrite"

    def _find_top(self, pen: emit.Pen, size: Size, request: FrameRequest) -> None:
        """Move to the first window row after the terminal has moved, wrapped or cut its content.

        The cursor stays with its text or lower: moving up by the rows above it never leaves the window,
        however many rows the terminal pushed into or pulled from its history. A terminal known to rewrap
        needs more steps, unless its content may differ from what we think.
        """
        up, pen.row = self._cursor.row, 0
        if size == self.size and not request.resized:
            if request.cursor_lost and self.anchored:
                up = size.rows
            pen.write(f"\r\x1b[{up}A" if up else "\r")
            return
        if self._reflows and request.steady and size.columns < self.size.columns:
            up = sum(self._heights_above_cursor(size))
        pen.write(f"\r\x1b[{up}A" if up else "\r")
        # Unknown: which of our rows are below, and whether this is the first cell of the screen.
        pen.write(f"{emit.ERASE_RIGHT}\n{emit.ERASE_BELOW}\x1b[A" if size.rows > 1 else emit.ERASE_RIGHT)
        pen.reach = min(2, size.rows)

    def _updated(
        self, pen: emit.Pen, step: LedgerStep, chunk: list[SafeRow], window: list[SafeRow]
    ) -> Emitter:
        grid = self._grid
        shifted = step.ledger.window_top - self.ledger.window_top
        if not chunk:
            emit.update(pen, grid, window, shifted=shifted)
            return "diff"
        unchanged = _count_already_shown(chunk, grid)
        if unchanged < len(chunk):
            self._emit_rewrite(pen, unchanged, chunk[unchanged:], window, old=grid)
            return "rewrite"
        grid = emit.scroll(pen, grid, len(chunk))
        emit.update(pen, grid, window, shifted=shifted - len(chunk))
        return "scroll"

    def _emit_rewrite(
        self,
        pen: emit.Pen,
        start: int,
        chunk: list[SafeRow],
        window: list[SafeRow],
        *,
        old: list[SafeRow] | None,
    ) -> None:
        emit.rewrite(pen, start, chunk, window, old=old)
        if len(window) < pen.reach and (old is None or len(old) > len(window)):
            emit.erase_below(pen, len(window))

    def _target(self, marker: tuple[int, int] | None, window: list[SafeRow]) -> Cursor:
        """Return the cursor target: the edit point, even if hidden (input methods appear there).

        Else the last row with content: a terminal that gets lower drops rows below the cursor first.
        """
        if marker is None:
            return Cursor(max(len(window) - 1, 0), 0, False)
        return Cursor(marker[0], min(marker[1], self._sanitizer.width - 1), self._hardware_cursor)

    def _finish_frame(
        self, pen: emit.Pen, emitter: Emitter, cursor: Cursor, capabilities: Capabilities
    ) -> tuple[str, Emitter]:
        """Finish the frame: move the cursor and wrap everything in synchronized output."""
        body = "".join(pen.parts)
        was, self._cursor = self._cursor, cursor
        pen.parts.clear()
        pen.to(cursor.row)
        if body or pen.parts or cursor.column != was.column:
            pen.write(f"\x1b[{cursor.column + 1}G" if cursor.column else "\r")
        if cursor.visible != was.visible:
            pen.write(sequences.CURSOR_SHOW if cursor.visible else sequences.CURSOR_HIDE)
        text = "".join(pen.parts)
        if not body:
            emitter = "cursor" if text else "none"
        else:
            text = f"{sequences.AUTOWRAP_OFF}{body}{sequences.AUTOWRAP_ON}{text}"
        if not text:
            return "", emitter
        if capabilities.synchronized_output:
            return _in_sync(text, capabilities), emitter
        if was.visible and cursor.visible and len(body) > _UNSYNCED_HIDE_BYTES:
            return f"{sequences.CURSOR_HIDE}{text}{sequences.CURSOR_SHOW}", emitter
        return text, emitter


def _in_sync(text: str, capabilities: Capabilities) -> str:
    return f"{sequences.SYNC_BEGIN}{text}{sequences.SYNC_END}" if capabilities.synchronized_output else text


def _count_already_shown(chunk: Sequence[SafeRow], grid: Sequence[SafeRow]) -> int:
    """Return how many rows of the chunk are already at the top of the window."""
    count = 0
    for wanted, drawn in zip(chunk, grid, strict=False):
        if wanted.text != drawn.text:
            break
        count += 1
    return count


def _fit_images(window: list[SafeRow]) -> list[SafeRow]:
    """Drop images that would begin above the window: they would be painted too low."""
    if not any(line.image for line in window):
        return window
    return [
        line._replace(text=image_rows.fit_row(line.text, row)) if line.image else line
        for row, line in enumerate(window)
    ]
