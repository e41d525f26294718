"""Turns frames into bytes: the painter tracks the ledger and the screen and chooses an emitter."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tau.base.late import late
from tau.tui.images.marks import image_rows
from tau.tui.render import emit
from tau.tui.render.audit import Audit, wrapped_heights
from tau.tui.render.compose import EMPTY_FRAME, Frame, extract_cursor_marker
from tau.tui.render.ledger import Ledger, LedgerStep, RowPlace, advance, restart
from tau.tui.render.overlays import Overlay, draw_overlays
from tau.tui.render.row_sanitizer import BLANK, RowSanitizer, SafeRow
from tau.tui.terminal import sequences
from tau.tui.terminal.port import Capabilities
from tau.tui.text.cut import cut, pad, truncate
from tau.tui.text.width import visible_width

rewrap = late("tau.tui.render.text_anchor")

Emitter = Literal["none", "cursor", "full", "scroll", "diff", "rewrite"]
Intent = Literal["first", "full", "resize", "force", "update"]
KeepRows = Literal["content", "final", "all"]
"""Which rows stay when leaving the screen: the record (without editor and status lines below it), only its
final rows, or every row."""
_UNSYNCED_HIDE_BYTES = 1024
_NOWHERE = RowPlace(-1)


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
    """Nothing was written while the terminal may already have had its new size."""
    doubtful: int | None = None
    """The first row that became final meanwhile."""
    cursor: tuple[int, int] | None = None
    """The row and column of the cursor as reported since, counted from 0."""
    beside: bool = False
    """The alternate screen was shown meanwhile: the terminal erased nothing of the normal one."""
    cursor_lost: bool = False
    """Other programs may have moved the cursor."""


ORDINARY = FrameRequest()


class PaintResult(NamedTuple):
    """The result of painting a frame."""

    text: str
    emitter: Emitter
    intent: Intent
    chunk_start: int
    """The rows from here to C entered the history with this frame."""
    steady: bool = False
    """Of the rows whose wrapping moves the cursor, none was written."""


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
        # The beginning of this row was written at another width: these letters.
        self._begun = _NOWHERE
        self._begun_letters = ""
        # The row of the frame with the last prompt mark; -1 if there is none.
        self._marked = -1

    @property
    def cursor_visible(self) -> bool:
        return self._cursor.visible

    @property
    def anchored(self) -> bool:
        """Whether the window starts at the top of the screen, with no shell lines above it."""
        return self._reach >= self.size.rows

    @property
    def live(self) -> int:
        """The first row that the next frame may change; those above belong to the terminal."""
        if self._covered or not self._painting or not self._frame.has_boundary:
            return self.ledger.committed
        return max(self.ledger.committed, min(self.ledger.boundary, self.ledger.length))

    def kept_place(self, size: Size, capabilities: Capabilities, request: FrameRequest) -> RowPlace | None:
        """Return where painting continues in the last frame, if that place must be found at a new width."""
        if size.columns == self.size.columns or self._intent(size, request) not in ("first", "resize"):
            return None
        row = self._intact(size, capabilities, request)
        return RowPlace(row, self._begun.skipped if row == self._begun.row else 0) if row else None

    def _intact(self, size: Size, capabilities: Capabilities, request: FrameRequest) -> int:
        """Return the first row to write again, since the terminal has cut it.

        A terminal that does not rewrap cuts rows that are too wide, also those above the window that it has
        pulled back from its history. Any terminal cuts them that was already narrower when they were drawn.
        """
        live, top = self.live, self.ledger.window_top
        least = min(request.least_columns or size.columns, size.columns)
        if not self._painting:
            return live
        if not capabilities.reflows:
            highest = max(request.most_rows, size.rows, self.size.rows)
            lowest = highest - 1 if request.cursor is None else request.cursor[0]
            first = max(top - max(lowest - self._cursor.row, 0), 0)
            if request.doubtful is not None:  # rows have left the screen since
                first = max(min(first, request.doubtful - highest), 0)
            is_cut = [visible_width(row) > least for row in self._frame.rows[first:live]]
        else:
            first = live if request.doubtful is None else min(request.doubtful, live)
            lines = map(self._sanitizer.line, self._frame.rows[first:live])
            is_cut = [line.width > least and not emit.is_rewritten(line) for line in lines]
        return first + is_cut.index(True) if True in is_cut else live

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
        """Return the bytes for this frame and update the state.

        `kept`: where `kept_place` is in this frame. `typing`: the cursor must be at the edit point.
        `asking`: a dialog is open. `unsettled`: the size has changed since the last key.
        """
        intent = self._intent(size, request)
        shown = [overlay for overlay in overlays if overlay.shows_at(*size)]
        sanitizer = self._sanitizer
        if sanitizer.width != size.columns or sanitizer.hyperlinks != capabilities.hyperlinks:
            sanitizer = self._sanitizer = RowSanitizer(size.columns, hyperlinks=capabilities.hyperlinks)
        elif intent == "update" and frame is self._frame and not shown and not self._covered:
            return PaintResult("", "none", intent, self.ledger.committed)
        if intent == "resize" and kept is None:
            kept = RowPlace(self._intact(size, capabilities, request))
        step = self._step(intent, frame, size, bool(shown), kept)
        ledger = step.ledger
        rows = self._rows(frame, ledger.window_top, ledger.window_top + size.rows)
        marker = extract_cursor_marker(rows)
        window = sanitizer.lines(rows)
        if shown:
            window, marker = draw_overlays(window, shown, sanitizer, size.rows, marker)
            if intent == "resize":  # the window's position was a guess; overlays need a known one
                window += [BLANK] * (size.rows - len(window))
        window = _fit_images(window)
        chunk = [sanitizer.line(row) for row in self._rows(frame, step.start, ledger.committed)]
        pen = emit.Pen(self._cursor.row, self._reach, *size)
        parks = unsettled or (asking and marker is None and capabilities.cursor_follows_text)
        top = ledger.window_top if not shown and (parks or not typing) else None
        cursor = self._place_cursor(frame, top, marker, window, capabilities, parks)
        if intent == "update":
            emitter = self._updated(pen, step, chunk, window, frame, bool(shown))
        else:
            final = max(frame.boundary - step.start, 0) if frame.has_boundary and not shown else 0
            emitter = self._repainted(intent, pen, chunk, window, final, request, capabilities)
        self._audit.truncate(step.start)
        self._audit.commit(frame.rows[step.start : ledger.committed])
        grid, shifted = self._grid, ledger.window_top - self.ledger.window_top
        self.ledger, self.size, self._frame = ledger, size, frame
        self._grid, self._covered, self._painting = window, bool(shown), True
        if capabilities.erases_marked_rows:
            self._mark_live(pen, emitter)
        below = None if capabilities.cursor_follows_text else cursor.row + 1
        is_still = emitter == "diff" and cursor.row == self._cursor.row and shifted == 0
        steady = is_still and _same_rows(grid, window, cursor.row, below)
        text, emitter = self._finish_frame(pen, emitter, cursor, capabilities)
        self._reach = pen.reach
        return PaintResult(text, emitter, intent, step.start, steady)

    def _mark_live(self, pen: emit.Pen, emitter: Emitter) -> None:
        """Mark the first live row, so that the terminal erases what follows when its size changes."""
        row = max(self.live, self.ledger.window_top)
        if row != self._marked or emitter in ("full", "rewrite"):
            pen.to(row - self.ledger.window_top)
            pen.write(f"\r{sequences.PROMPT_MARK}")
            self._marked = row

    def forget(self, rows: int) -> None:
        """Drop this many rows, all in the history, from the top of the frame."""
        committed, top, boundary, length = self.ledger
        assert rows <= committed, "only rows in the history can be forgotten"
        self.ledger = Ledger(committed - rows, top - rows, boundary - rows, length - rows)
        self._handed_over = max(self._handed_over - rows, 0)
        self._audit.forget(rows)
        self._marked = max(self._marked - rows, -1)
        if self._begun.row >= 0:
            self._begun = self._begun._replace(row=self._begun.row - rows)

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
        lines = [self._sanitizer.line(row) for row in self._rows(frame, committed, end)]
        pen = emit.Pen(self._cursor.row, self._reach, *self.size)
        pen.write(sequences.AUTOWRAP_OFF)
        unchanged = _count_already_shown(lines, self._grid) if top == committed else 0
        if unchanged < len(lines):
            last = min(len(lines), pen.height) - 1
            emit.rewrite(pen, unchanged, lines[unchanged:], last, old=self._grid)
        elif lines:
            pen.to(len(lines) - 1)
        if lines:
            pen.write(f"\r\n{emit.ERASE_BELOW}")
        else:
            emit.erase_below(pen, 0)
            pen.to(0)
            pen.write("\r")
        if self._marked >= 0:
            pen.write(sequences.OUTPUT_MARK)  # what comes now is not ours to erase
            self._marked = -1
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

    def _rows(self, frame: Frame, start: int, end: int) -> list[str]:
        """Return rows as they are shown: without what was written of them at another width."""
        rows = frame.rows[start:end]
        at = self._begun.row - start
        if 0 <= at < len(rows):
            rows[at] = rewrap.skip_letters(rows[at], self._begun_letters)
        return rows

    def _step(
        self, intent: Intent, frame: Frame, size: Size, covered: bool, kept: RowPlace | None
    ) -> LedgerStep:
        length, boundary = len(frame.rows), frame.boundary
        if intent == "full":
            self._handed_over, self._begun = 0, _NOWHERE
            return restart(length=length, height=size.rows, boundary=boundary)
        committed = self.ledger.committed
        is_rewrapped = size.columns != self.size.columns
        if kept is not None and is_rewrapped:
            committed, self._begun = kept.row, kept if kept.skipped and not covered else _NOWHERE
            if kept.skipped:
                self._begun_letters = rewrap.first_letters(frame.rows[kept.row], kept.skipped)
            self._audit.truncate(0)
            self._audit.commit(frame.rows[:committed])
            self._handed_over = committed if self._handed_over else 0
        elif kept is not None:
            self._audit.commit(self._frame.rows[committed : kept.row])
            committed = kept.row
        if not is_rewrapped and length > committed:
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
        return step if step.start >= committed else _check_replaced(self._audit, step, frame)

    def _repainted(
        self,
        intent: Intent,
        pen: emit.Pen,
        chunk: list[SafeRow],
        window: list[SafeRow],
        final: int,
        request: FrameRequest,
        capabilities: Capabilities,
    ) -> Emitter:
        """Write all rows of the window, after those for the history. Nothing above it changes."""
        if intent == "first":
            # Begin in the row where the shell left the cursor. Nothing on its screen is erased or lost, on
            # any terminal: its lines scroll into the history in order as ours need room.
            image_rows.screen_cleared()
            pen.write(f"{image_rows.take_pending()}\r{emit.ERASE_BELOW}")
            emit.rewrite(pen, 0, [*chunk, *window], len(window) - 1, old=(), final=final)
            return "full"
        pen.write(image_rows.take_pending())
        if self._painting:
            pen.write(image_rows.removal_sequence() if intent != "force" else "")
            if Size(pen.columns, pen.height) == self.size and not request.resized:
                self._go_to_top(pen, request)
            else:
                self._go_to_live(pen, request, capabilities)
        _emit_rewrite(pen, 0, [*chunk, *window], len(window) - 1, old=None, final=final)
        return "full" if intent == "full" else "rewrite"

    def _go_to_top(self, pen: emit.Pen, request: FrameRequest) -> None:
        """Move to the first window row."""
        up = self.size.rows if request.cursor_lost and self.anchored else self._cursor.row
        pen.write(f"\r\x1b[{up}A" if up else "\r")
        pen.row = 0

    def _go_to_live(self, pen: emit.Pen, request: FrameRequest, capabilities: Capabilities) -> None:
        """Move to the first live row after the terminal has moved, wrapped or cut its content.

        A terminal that rewraps keeps the cursor with its text, whatever happens above and below: only the
        rows between count. xterm.js moves it as if all rows were above, but leaves its own row alone. Rows
        written since the terminal was resized are not wrapped; rather leave a row behind than erase one.
        """
        columns, (at, column, _) = pen.columns, self._cursor
        size = Size(columns, pen.height)
        first = self.live if capabilities.reflows else self._intact(size, capabilities, request)
        top = max(first - self.ledger.window_top, 0)
        down = top - at
        is_erased = self._marked == max(first, self.ledger.window_top) and not request.beside
        if capabilities.reflows and request.steady and not is_erased:
            heights = wrapped_heights([line.width for line in self._grid], columns)
            down -= sum(heights[top:at]) - len(heights[top:at])
            if not capabilities.cursor_follows_text:
                down -= sum(heights[at + 1 :]) - len(heights[at + 1 :])
            elif request.cursor is None or request.cursor[1] == column % columns:
                down -= max(column, 0) // columns
        pen.write(f"\r\x1b[{-down}A" if down < 0 else "\r" + "\n" * down)
        emit.clear_from_here(pen)
        pen.row, pen.reach = 0, min(2, pen.height)

    def _updated(
        self,
        pen: emit.Pen,
        step: LedgerStep,
        chunk: list[SafeRow],
        window: list[SafeRow],
        frame: Frame,
        covered: bool,
    ) -> Emitter:
        pen.write(image_rows.take_pending())
        grid, live = self._grid, self.live
        top = step.ledger.window_top
        shifted = top - self.ledger.window_top
        if step.start == self.ledger.committed and frame.has_boundary and not (self._covered or covered):
            final = [self._sanitizer.line(row) for row in self._rows(frame, live, frame.boundary)]
            unchanged = _count_already_shown(final, grid[max(live - self.ledger.window_top, 0) :])
            is_new = unchanged < min(len(final), max(step.ledger.committed - live, 0))
            # A terminal that gets lower without our knowing drops rows below the cursor, or erases them all.
            may_be_lost = any(line.text for line in (final if self._marked >= 0 else final[1:]))
            if is_new or may_be_lost or any(map(emit.is_rewritten, final)):
                pen.to(max(live - self.ledger.window_top, 0))
                emit.clear_from_here(pen)
                below = window[max(max(frame.boundary, live) - top, 0) :]
                emit.rewrite(pen, pen.row, [*final, *below], len(window) - 1, old=(), final=len(final))
                return "rewrite"
        if not chunk:
            emit.update(pen, grid, window, shifted=shifted)
            return "diff"
        unchanged = _count_already_shown(chunk, grid)
        if unchanged < len(chunk):
            lines = [*chunk[unchanged:], *window]
            _emit_rewrite(pen, unchanged, lines, len(window) - 1, old=grid)
            return "rewrite"
        grid = emit.scroll(pen, grid, len(chunk))
        emit.update(pen, grid, window, shifted=shifted - len(chunk))
        return "scroll"

    def _place_cursor(
        self,
        frame: Frame,
        top: int | None,
        marker: tuple[int, int] | None,
        window: list[SafeRow],
        capabilities: Capabilities,
        parks: bool,
    ) -> Cursor:
        """Return the cursor's place: hidden in the first live row while the record above the editor grows, or
        if it `parks`; never with `top` None.

        There a terminal keeps it in place when its size changes, so that the next frame finds its rows.
        """
        is_growing = frame.boundary < frame.content_end
        parks = frame.has_boundary and (is_growing or parks)
        if top is None or not parks or (marker is not None and marker[0] + top < frame.content_end):
            return self._target(marker, window)
        row = max(frame.boundary - top, 0)
        if is_growing and not capabilities.cursor_follows_text:
            _shorten(window, row + 1, marker[0] if marker is not None else len(window))
        if marker is not None and self._hardware_cursor:
            window[marker[0]] = _with_cursor(window[marker[0]], marker[1], self._sanitizer.width)
        return Cursor(row, 0, False)

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


def _emit_rewrite(
    pen: emit.Pen,
    start: int,
    lines: list[SafeRow],
    last: int,
    *,
    old: list[SafeRow] | None,
    final: int = 0,
) -> None:
    emit.rewrite(pen, start, lines, last, old=old, final=final)
    if last + 1 < pen.reach and (old is None or len(old) > last + 1):
        emit.erase_below(pen, last + 1)


def _with_cursor(line: SafeRow, column: int, width: int) -> SafeRow:
    """Draw a cursor where the terminal's would be."""
    column = min(column, width - 1)
    left, under = pad(cut(line.text, 0, column), column), cut(line.text, column, column + 1) or " "
    right = cut(line.text, column + 1, width)
    return SafeRow(f"{left}\x1b[7m{under}\x1b[27m{right}", max(line.width, column + 1))


def _shorten(window: list[SafeRow], start: int, end: int) -> None:
    """Cut rows below the cursor that a narrower terminal would wrap, and so move the cursor."""
    for at in range(start, end):
        line = window[at]
        if line.width > emit.UNWRAPPED_CELLS and not line.image:
            text = truncate(line.text, emit.UNWRAPPED_CELLS)
            window[at] = SafeRow(text, visible_width(text))


def _in_sync(text: str, capabilities: Capabilities) -> str:
    return f"{sequences.SYNC_BEGIN}{text}{sequences.SYNC_END}" if capabilities.synchronized_output else text


def _same_rows(old: list[SafeRow], new: list[SafeRow], above: int, below: int | None) -> bool:
    """Whether the rows above one row, and those below another one, are the same."""
    return old[:above] == new[:above] and (below is None or old[below:] == new[below:])


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


def _check_replaced(audit: Audit, step: LedgerStep, frame: Frame) -> LedgerStep:
    """Handle a frame that shrank: write its rows if they differ from the start of the history."""
    audit.truncate(step.start)
    shifted = audit.first_shifted(frame.rows)
    return step if shifted is None else step._replace(start=shifted)
