"""The frame loop of a screen: requests, resizes, composing, painting, and statistics."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

from tau.base.late import late
from tau.tui.component import Component
from tau.tui.render.audit import wrapped_heights
from tau.tui.render.compose import FrameComposer
from tau.tui.render.emit import UNWRAPPED_CELLS
from tau.tui.render.ledger import Ledger
from tau.tui.render.overlays import Overlay
from tau.tui.render.paint import Emitter, FrameRequest, Intent, KeepRows, Painter, PaintResult, Size
from tau.tui.terminal import sequences
from tau.tui.terminal.port import Terminal
from tau.tui.text.width import visible_width
from tau.tui.timer import Handle, Timer

alternate = late("tau.tui.render.alternate")
screen_reader = late("tau.tui.render.screen_reader")
rewrap = late("tau.tui.render.text_anchor")
log = late("tau.base.log")

MIN_INTERVAL_S = 0.033
RESIZE_SETTLE_S = 0.05
MULTIPLEXER_SETTLE_S = 0.1
RESIZE_LAG_S = 0.3
"""How late a resize may be reported: tmux batches the steps of a drag."""
CURSOR_REPORT_S = 0.1
"""How long to wait for the cursor's position, beyond the round trip to the terminal."""
TYPING_S = 2.0
"""For so long after a key the cursor stays at the edit point, where input methods appear."""


DialogPlace = Literal["inline", "alternate"]
"""An inline dialog leaves the conversation in reach of the mouse wheel."""


class Schedule:
    """Batches requests to draw, with a pause between ordinary frames; urgent ones are drawn at once."""

    def __init__(
        self, timer: Callable[[], Timer], draw: Callable[[], None], min_interval_s: float = MIN_INTERVAL_S
    ) -> None:
        self._timer = timer
        self._draw = draw
        self._min_interval_s = min_interval_s
        self._handle: Handle | None = None
        self._urgent = False
        self._held = True
        self._wanted = False
        self._last = float("-inf")

    def request(self, *, urgent: bool = False) -> None:
        """Request a frame: in the next loop iteration if urgent, else after the pause."""
        if self._held:
            self._wanted = True
            self._urgent = self._urgent or urgent
            return
        if self._handle is not None:
            if not urgent or self._urgent:
                return
            self._handle.cancel()
        self._urgent = urgent
        timer = self._timer()
        pause = 0.0 if urgent else self._last + self._min_interval_s - timer.time()
        self._handle = timer.call_later(pause, self._run) if pause > 0 else timer.call_soon(self._run)

    def hold(self) -> None:
        """Pause drawing until `release`; requests are remembered."""
        self._held = True
        self._wanted = self._wanted or self._handle is not None
        self._cancel()

    def release(self) -> None:
        """Resume drawing, with requests made meanwhile."""
        if self._held:
            self._held = False
            if self._wanted:
                urgent, self._urgent = self._urgent, False
                self.request(urgent=urgent)

    def drawn(self) -> None:
        """Note that a frame was drawn: no request is pending."""
        self._cancel()
        self._wanted = self._urgent = False
        self._last = self._timer().time()

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _run(self) -> None:
        self._handle = None
        self._draw()


def _log_frame(painted: PaintResult, ledger: Ledger, size: Size) -> None:
    """Log one line: why and how the frame was drawn, and the ledger afterwards."""
    log.warning(
        f"redraw {painted.intent} {painted.emitter} {size.columns}x{size.rows}"
        f" C={ledger.committed} W={ledger.window_top} B={ledger.boundary} L={ledger.length}"
        f" chunk={painted.chunk_start}..{ledger.committed} chars={len(painted.text)}"
    )


class FrameStats:
    """Totals, and what the last frame did."""

    def __init__(self) -> None:
        self.composed = 0
        """Composed frames, including those that wrote nothing."""
        self.frames = 0
        """Frames that wrote something."""
        self.bytes = 0
        self.last_bytes = 0
        self.emitter: Emitter = "none"
        self.intent: Intent = "first"
        self.ledger = Ledger()
        self.chunk_start = 0
        """The rows [chunk_start, ledger.committed) entered the history with the last frame."""
        self.size = Size(0, 0)


class FrameLoop:
    """Draws components to a terminal on request."""

    def __init__(
        self,
        terminal: Terminal,
        children: Callable[[], Sequence[Component]],
        overlays: Sequence[Overlay],
        timer: Callable[[], Timer],
        *,
        is_linear: bool,
        hardware_cursor: bool,
    ) -> None:
        self.stats = FrameStats()
        self._terminal = terminal
        self._children = children
        self._overlays = overlays
        self._timer = timer
        self._composer = FrameComposer()
        self._painter = (
            screen_reader.LinearPainter() if is_linear else Painter(hardware_cursor=hardware_cursor)
        )
        self._schedule = Schedule(timer, self.draw)
        self._request = FrameRequest()
        self._whole = True
        self._scoped: list[Component] = []
        self._settling: Handle | None = None
        self._written_at = self._resized_at = float("-inf")
        # When rows became final, and the first of them; kept only as long as a resize may go unreported.
        self._finals: deque[tuple[float, int]] = deque(maxlen=64)
        self._reports_due = 0
        self._is_asking = False
        self.typed_at = float("-inf")
        """When the last key of a message came."""
        self._alternate: alternate.AlternatePainter | None = None
        self.dialog: DialogPlace | None = None
        """Where the open dialog belongs. Rows on the alternate screen never enter the history."""
        self._is_beside = False  # the dialog is on the alternate screen
        self.running = False
        self._debug = os.environ.get("TAU_DEBUG_REDRAW") == "1"

    def size(self) -> Size:
        return Size(max(self._terminal.columns, 1), max(self._terminal.rows, 1))

    def begin(self) -> None:
        self.running = True
        self._whole = True
        self._reports_due = 0
        self._schedule.release()
        self._schedule.request(urgent=True)

    def end(self, keep: KeepRows | None) -> None:
        """Draw what is pending and leave the terminal; None leaves without writing."""
        if not self.running:
            return
        if keep is not None:
            self._leave_alternate()
            self._draw(())
            self._write(self._painter.leave(keep, self._terminal.capabilities))
        self.running = False
        self._cancel_settling()
        self._schedule.hold()

    def show_alternate(self, component: Component | None) -> None:
        """Show only this component, on the alternate screen; None returns to the normal one.

        The normal screen is not drawn meanwhile: requests are remembered, also those of a resize.
        """
        self._leave_alternate()
        self._is_beside = False
        self._alternate = None if component is None else alternate.AlternatePainter(component)
        self.request(urgent=True)

    def flush_record(self) -> None:
        """Write out the rest of the record, as when leaving the screen; painting continues below it."""
        if self.running and isinstance(self._painter, Painter):
            self._leave_alternate()
            self._draw(())
            self._write(self._painter.leave("content", self._terminal.capabilities))

    def request(
        self, *, force: bool = False, full: bool = False, cursor_lost: bool = False, urgent: bool = False
    ) -> None:
        self._whole = True
        if force or full:
            was = self._request
            self._request = was._replace(
                force=was.force or force, full=was.full or full, cursor_lost=was.cursor_lost or cursor_lost
            )
        self._schedule.request(urgent=urgent or force or full)

    def request_for(self, component: Component) -> None:
        """Request a frame for one changed component, somewhere below the children."""
        if not self._whole and component not in self._scoped:
            self._scoped.append(component)
        self._schedule.request()

    def forget(self, rows: int) -> None:
        if rows:
            self._painter.forget(rows)
            self._finals.clear()
            self.request()

    def resized(self) -> None:
        """Wait until the size settles: drawing each intermediate step would be wasted."""
        if not self.running:
            return
        if self._alternate is not None:
            self._alternate.forget()
        request = self._request
        columns, rows = self.size()
        if not request.resized:
            since = self._timer().time() - RESIZE_LAG_S
            doubtful = min((live for when, live in self._finals if when >= since), default=None)
            request = request._replace(steady=self._written_at < since, doubtful=doubtful)
        self._request = request._replace(
            resized=True,
            beside=request.beside or self._alternate is not None,
            cursor=None,
            least_columns=min(request.least_columns or columns, columns),
            most_rows=max(request.most_rows, rows),
        )
        self._cancel_settling()
        self._schedule.hold()
        wait_s = MULTIPLEXER_SETTLE_S if self._terminal.capabilities.multiplexer else RESIZE_SETTLE_S
        self._settling = self._timer().call_later(wait_s, self._ask_cursor)

    def on_cursor(self, row: int, column: int) -> None:
        """Take the answer to the last question: by then the terminal has executed all that was written."""
        self._reports_due = max(self._reports_due - 1, 0)
        if self._is_asking and not self._reports_due:
            self._request = self._request._replace(cursor=(row, column))
            self._settled()

    def draw(self) -> None:
        """Draw a frame now, if running."""
        if not self.running:
            return
        if self._is_beside and self.dialog is None:
            # The normal screen still shows what preceded the dialog, until it is drawn.
            is_synchronized = self._terminal.capabilities.synchronized_output
            self._write(sequences.SYNC_BEGIN if is_synchronized else "")
            self.show_alternate(None)
            self._draw(self._overlays)
            self._write(sequences.SYNC_END if is_synchronized else "")
            return
        if self.dialog and self._alternate is None and isinstance(self._painter, Painter):
            size = self.size()
            frame = self._composer.compose(self._children(), size.columns)
            self._whole = True
            if self.dialog == "alternate" or is_tall(frame.rows[frame.boundary :], size):
                self.show_alternate(alternate.FrameWindow(self._composer, self._children, self.size))
                self._is_beside = True
        if self._alternate is not None:
            self._draw_alternate(self._alternate)
        else:
            self._draw(self._overlays)

    def _ask_cursor(self) -> None:
        capabilities = self._terminal.capabilities
        # A terminal that did not answer before will not answer now; the alternate screen has its own cursor.
        if not capabilities.reports_cursor or self._reports_due or self._alternate is not None:
            self._settled()
            return
        self._reports_due += 1
        self._is_asking = True
        self._terminal.write(sequences.ASK_CURSOR)
        wait_s = CURSOR_REPORT_S + capabilities.round_trip_s
        self._settling = self._timer().call_later(wait_s, self._settled)

    def _settled(self) -> None:
        self._cancel_settling()
        self.request(urgent=True)

    def _cancel_settling(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
            self._is_asking = False
            self._schedule.release()

    def _draw(self, overlays: Sequence[Overlay]) -> None:
        self._cancel_settling()
        size, capabilities, painter = self.size(), self._terminal.capabilities, self._painter
        request, self._request = self._request, FrameRequest()
        only = self._only(request, size, overlays)
        self._whole, self._scoped = False, []
        children = self._children()
        kept = painter.kept_place(size, capabilities, request)
        anchor = None
        if kept is not None:
            self._composer.compose(children, painter.size.columns)
            anchor = rewrap.anchor_at(self._composer.record(), kept)
        frame = self._composer.compose(children, size.columns, only)
        if anchor is not None:
            kept = rewrap.find_anchor(self._composer.record(), anchor)
        self._schedule.drawn()
        now, live = self._timer().time(), painter.live
        typing = now - self.typed_at < TYPING_S
        self._resized_at = now if request.resized else self._resized_at
        painted = painter.paint(
            frame,
            size,
            capabilities,
            request=request,
            overlays=overlays,
            kept=kept,
            typing=typing,
            asking=self.dialog is not None,
            unsettled=self._resized_at > self.typed_at,
        )
        if painted.text and not painted.steady:
            self._written_at = now
        if painted.intent != "update":
            self._finals.clear()  # row numbers may have changed
        elif painter.live > live:
            self._finals.append((now, live))
        stats = self.stats
        stats.composed += 1
        stats.frames += bool(painted.text)
        stats.emitter, stats.intent = painted.emitter, painted.intent
        stats.ledger, stats.chunk_start, stats.size = painter.ledger, painted.chunk_start, size
        self._write(painted.text)
        if self._debug and painted.text:
            _log_frame(painted, painter.ledger, size)

    def _draw_alternate(self, painter: "alternate.AlternatePainter") -> None:
        self._cancel_settling()
        if not painter.entered:
            painter.entered = True
            painter.forget()
            self._terminal.use_alternate(True)
        force, self._request = self._request.force, self._request._replace(force=False)
        self._schedule.drawn()
        self._write(painter.paint(self.size(), self._terminal.capabilities, force=force))

    def _leave_alternate(self) -> None:
        if self._alternate is not None and self._alternate.entered:
            self._alternate.entered = False
            self._terminal.use_alternate(False)
            self._write(sequences.CURSOR_SHOW if self._painter.cursor_visible else sequences.CURSOR_HIDE)

    def _only(self, request: FrameRequest, size: Size, overlays: Sequence[Overlay]) -> set[int] | None:
        """Return the children to render if only known components below them changed; None means all."""
        if self._whole or overlays or any(request) or size != self._painter.size:
            return None
        ids = set()
        for component in self._scoped:
            child = next((child for child in self._children() if _holds(child, component)), None)
            if child is None:
                return None
            ids.add(id(child))
        return ids

    def _write(self, text: str) -> None:
        count = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        self.stats.last_bytes = count
        self.stats.bytes += count
        if text:
            self._terminal.write(text)


def is_tall(live: Sequence[str], size: Size) -> bool:
    """Whether these rows may not fit once the terminal is narrower: it pushes some into its history."""
    heights = wrapped_heights(map(visible_width, live), UNWRAPPED_CELLS)
    return sum(heights) > size.rows


def _holds(tree: Component, component: Component) -> bool:
    """Whether a tree contains a component. Private parts, as of a transcript, are not searched."""
    if tree is component:
        return True
    children = getattr(tree, "children", ())
    return any(_holds(child, component) for child in children)
