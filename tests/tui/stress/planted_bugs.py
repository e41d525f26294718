"""Bugs to plant in the real renderer: the gate must find each of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pytest import MonkeyPatch

from tau.tui.component import CURSOR_MARKER
from tau.tui.images import kitty
from tau.tui.render import compose, emit, frame_loop, ledger, paint
from tau.tui.render.audit import Audit
from tau.tui.render.emit import patch as patch_row
from tau.tui.render.paint import Painter
from tau.tui.render.row_sanitizer import RowSanitizer, SafeRow
from tau.tui.terminal import sequences
from tau.tui.widgets.transcript import Transcript


class Bug(NamedTuple):
    """What is wrong, where it shows, and how to cause it."""

    name: str
    says: str
    install: Callable[[MonkeyPatch], None]
    shapes: tuple[str, ...] = ("tiny", "plain", "normal")


def skip_a_row_of_the_chunk(patch: MonkeyPatch) -> None:
    def advance(*args: Any, **rest: Any) -> Any:
        step = ADVANCE(*args, **rest)
        return (
            step._replace(start=min(step.start + 1, step.ledger.committed))
            if step.ledger.committed - step.start > 1
            else step
        )

    patch.setattr(paint, "advance", advance)


def show_a_committed_row(patch: MonkeyPatch) -> None:
    def advance(*args: Any, **rest: Any) -> Any:
        step = ADVANCE(*args, **rest)
        top = step.ledger.window_top
        if top and top == step.ledger.committed:
            step = step._replace(ledger=step.ledger._replace(window_top=top - 1))
        return step

    patch.setattr(paint, "advance", advance)


def clear_history_in_an_update(patch: MonkeyPatch) -> None:
    def updated(self: Painter, pen: Any, step: Any, chunk: Any, *rest: Any) -> Any:
        if chunk:
            pen.write("\x1b[3J")
        return UPDATED(self, pen, step, chunk, *rest)

    patch.setattr(Painter, "_updated", updated)


def home_in_an_update(patch: MonkeyPatch) -> None:
    def to(self: Any, row: int) -> None:
        if row == 0 and self.row and self.reach >= self.height:
            self.parts.append("\x1b[H")
            self.row = 0
        else:
            TO(self, row)

    patch.setattr(emit.Pen, "to", to)


def commit_past_the_seam(patch: MonkeyPatch) -> None:
    patch.setattr(
        paint, "advance", lambda *args, **rest: ADVANCE(*args, **{**rest, "boundary": rest["length"]})
    )


def commit_less_than_is_final(patch: MonkeyPatch) -> None:
    def joined(parts: Any, seams: Any) -> Any:
        return JOINED(parts, [seam and seam._replace(commit_safe_end=None) for seam in seams])

    patch.setattr(compose, "join_parts", joined)


def lose_a_row_on_shrink(patch: MonkeyPatch) -> None:
    def advance(committed: int, **rest: Any) -> Any:
        step = ADVANCE(committed, **rest)
        if rest["length"] < committed and step.ledger.window_top + 1 < rest["length"]:
            lower = step.ledger._replace(window_top=step.ledger.window_top + 1)
            step = step._replace(ledger=lower)
        return step

    patch.setattr(paint, "advance", advance)


def commit_under_an_overlay(patch: MonkeyPatch) -> None:
    patch.setattr(paint, "advance", lambda *args, **rest: ADVANCE(*args, **{**rest, "frozen": False}))


def scroll_an_overlay_away(patch: MonkeyPatch) -> None:
    patch.setattr(paint, "_count_already_shown", lambda chunk, grid: min(len(chunk), len(grid)))


def leak_the_cursor_mark(patch: MonkeyPatch) -> None:
    def line(self: RowSanitizer, row: str) -> SafeRow:
        head, mark, tail = row.partition(CURSOR_MARKER)
        return GATE_LINE(self, row) if not mark else SafeRow(row, len(head) + len(tail))

    patch.setattr(RowSanitizer, "line", line)
    patch.setattr(paint, "extract_cursor_marker", lambda rows: TAKE_MARKER(list(rows)))


def never_recommit(patch: MonkeyPatch) -> None:
    patch.setattr(Audit, "first_shifted", lambda self, frame: None)


def leave_the_end_of_a_row(patch: MonkeyPatch) -> None:
    patch.setattr(emit, "patch", lambda old, new: PATCH(old, new).removesuffix("\x1b[K"))


def leave_rows_below(patch: MonkeyPatch) -> None:
    patch.setattr(emit, "erase_below", lambda pen, row: None)


def leave_autowrap_off(patch: MonkeyPatch) -> None:
    patch.setattr(sequences, "AUTOWRAP_ON", "")


def move_the_cursor_after_the_frame(patch: MonkeyPatch) -> None:
    def in_sync(text: str, capabilities: Any) -> str:
        head, wrap, tail = text.rpartition(sequences.AUTOWRAP_ON)
        return IN_SYNC(head + wrap, capabilities) + tail if wrap else IN_SYNC(text, capabilities)

    patch.setattr(paint, "_in_sync", in_sync)


def park_below_the_content(patch: MonkeyPatch) -> None:
    def target(self: Painter, marker: Any, window: Any) -> Any:
        cursor = TARGET(self, marker, window)
        return cursor if marker else cursor._replace(row=max(self.size.rows - 1, 0))

    patch.setattr(Painter, "_target", target)


def cursor_a_column_off(patch: MonkeyPatch) -> None:
    patch.setattr(
        paint, "extract_cursor_marker", lambda rows: (at := TAKE_MARKER(rows)) and (at[0], at[1] + 1)
    )


def let_pictures_move_the_cursor(patch: MonkeyPatch) -> None:
    patch.setattr(kitty, "place", lambda *args: PLACE(*args).replace(",C=1", ""))


def clear_the_history_on_resize(patch: MonkeyPatch) -> None:
    def go_to_live(self: Painter, pen: Any, *rest: Any) -> None:
        GO_TO_LIVE(self, pen, *rest)
        pen.write("\x1b[3J")

    patch.setattr(Painter, "_go_to_live", go_to_live)


def write_over_the_shell_on_resize(patch: MonkeyPatch) -> None:
    def go_to_live(self: Painter, pen: Any, request: Any, capabilities: Any) -> None:
        GO_TO_LIVE(self, pen, request._replace(steady=True), capabilities._replace(reflows=True))

    patch.setattr(Painter, "_go_to_live", go_to_live)


def write_over_what_was_taken_back(patch: MonkeyPatch) -> None:
    """The window is assumed to start in the first row of the screen."""

    def go_to_live(self: Painter, pen: Any, *rest: Any) -> None:
        if self.anchored:
            pen.write(f"\r\x1b[{pen.height}A")
            pen.row, pen.reach = 0, pen.height
        else:
            GO_TO_LIVE(self, pen, *rest)

    patch.setattr(Painter, "_go_to_live", go_to_live)


def take_all_rows_for_wrapped(patch: MonkeyPatch) -> None:
    patch.setattr(frame_loop, "RESIZE_LAG_S", float("-inf"))


def forget_hidden_rows_at_the_end(patch: MonkeyPatch) -> None:
    def leave(self: Painter, keep: Any, capabilities: Any) -> str:
        self.ledger = self.ledger._replace(committed=self.ledger.window_top)
        return LEAVE(self, keep, capabilities)

    patch.setattr(Painter, "leave", leave)


def let_final_blocks_change(patch: MonkeyPatch) -> None:
    def render(self: Transcript, width: int) -> Any:
        self.rebuild()
        return RENDER(self, width)

    patch.setattr(Transcript, "render", render)


def half_a_background(patch: MonkeyPatch) -> None:
    """Trailing blanks are not written, whatever their color."""

    def line(self: RowSanitizer, row: str) -> SafeRow:
        found = GATE_LINE(self, row)
        bare = found.text.replace(" " * 8, "")
        return SafeRow(bare, min(found.width, len(bare))) if "\x1b[48" in row and not found.image else found

    patch.setattr(RowSanitizer, "line", line)


ADVANCE, JOINED = ledger.advance, compose.join_parts
UPDATED, GO_TO_LIVE, TARGET, LEAVE = Painter._updated, Painter._go_to_live, Painter._target, Painter.leave
TO, PATCH, IN_SYNC, TAKE_MARKER = emit.Pen.to, patch_row, paint._in_sync, compose.extract_cursor_marker
GATE_LINE, PLACE, RENDER = RowSanitizer.line, kitty.place, Transcript.render

BUGS = (
    Bug("off by one", "The first row of a chunk never gets into the history.", skip_a_row_of_the_chunk),
    Bug("window above C", "A row that is in the history is shown on the grid again.", show_a_committed_row),
    Bug("ED 3 in an update", "The history is cleared when rows are committed.", clear_history_in_an_update),
    Bug("home in an update", "The cursor goes home by its absolute place.", home_in_an_update),
    Bug("past the seam", "Rows that may still change enter the history.", commit_past_the_seam),
    Bug(
        "short of the seam",
        "Rows at rest in a block that still grows are held back.",
        commit_less_than_is_final,
    ),
    Bug("lost on shrink", "A frame cut back into the history shows a row too few.", lose_a_row_on_shrink),
    Bug("overlay and commits", "Rows are committed although an overlay is shown.", commit_under_an_overlay),
    Bug(
        "overlay in history", "The grid scrolls away as it is, with an overlay on it.", scroll_an_overlay_away
    ),
    Bug("leaked mark", "The mark of the cursor is written to the terminal.", leak_the_cursor_mark),
    Bug("no recommit", "Rows that moved above the window are never written again.", never_recommit),
    Bug("stale end of a row", "A row that got shorter keeps its old end.", leave_the_end_of_a_row),
    Bug("stale rows below", "A window that got shorter keeps its old last rows.", leave_rows_below),
    Bug("autowrap off", "Autowrap stays off after a frame.", leave_autowrap_off),
    Bug(
        "cursor after ESU",
        "The cursor moves after the synchronized frame.",
        move_the_cursor_after_the_frame,
        ("tiny",),
    ),
    Bug(
        "parked too low", "Without a mark the cursor waits at the bottom of the grid.", park_below_the_content
    ),
    Bug("beside the mark", "The cursor stands one column beside its mark.", cursor_a_column_off),
    Bug(
        "picture",
        "A picture moves the cursor, so that rows are written too low.",
        let_pictures_move_the_cursor,
        ("normal",),
    ),
    Bug("history cleared", "A resize clears the history.", clear_the_history_on_resize),
    Bug(
        "mux overwritten",
        "Rows that a multiplexer took back from its history are written over.",
        write_over_what_was_taken_back,
        ("mux",),
    ),
    Bug(
        "overwritten",
        "Rows that a terminal took back from its history are written over.",
        write_over_what_was_taken_back,
        ("plain", "stiff"),
    ),
    Bug(
        "late resize",
        "Rows written for a size the terminal no longer has are thought to be wrapped.",
        take_all_rows_for_wrapped,
        ("mux", "tiny", "plain"),
    ),
    Bug(
        "shell overwritten",
        "A terminal that does not rewrap is assumed to: the shell lines above are overwritten.",
        write_over_the_shell_on_resize,
        ("bare", "stiff"),
    ),
    Bug(
        "lost at the end", "Rows hidden above the window are not written out.", forget_hidden_rows_at_the_end
    ),
    Bug("not frozen", "A final block that changes changes on the screen.", let_final_blocks_change),
    Bug("background", "Coloured blanks are left out.", half_a_background),
)
