"""What each operation does to a rig."""

from collections.abc import Callable

from tests.tui.stress.operations import Op
from tests.tui.stress.parts import Panel
from tests.tui.stress.rig import Rig


def append(rig: Rig, op: Op) -> None:
    """A whole block that is final at once; sometimes several."""
    for _ in range(1 + (op.two % 10 == 0) * 3):
        passage = rig.begin(1 + op.one % 6)
        rig.end(passage)
    rig.screen.request_render()


def stream(rig: Rig, op: Op) -> None:
    """More lines at the end of what is being written."""
    rig.stream_on(1 + op.one % (12 if op.two % 20 == 0 else 3))


def begin(rig: Rig, op: Op) -> None:
    """Another changeable block, below one that may still change."""
    rig.begin(1 + op.one % 4)
    rig.screen.request_render()


def mutate(rig: Rig, op: Op) -> None:
    """Replace a line somewhere in a block that is not final."""
    passage = rig.live(op.one)
    if passage is not None and passage.lines:
        at = -1 if passage.steady else op.two % len(passage.lines)
        passage.lines[at] = rig.new_line(passage)
        passage.changed()
    rig.screen.request_render()


def tick(rig: Rig, op: Op) -> None:
    """The last line of a block changes while those above it rest."""
    passage = rig.live(op.one)
    if passage is not None and passage.lines:
        passage.lines[-1] = rig.new_line(passage, longest=2)
        passage.changed()
    rig.screen.request_render()


def finalize(rig: Rig, op: Op) -> None:
    passage = rig.live(op.one)
    if passage is not None:
        rig.end(passage)
    rig.screen.request_render()


def shrink(rig: Rig, op: Op) -> None:
    """A block that is not final loses lines at its end."""
    passage = rig.live(op.one)
    if passage is not None:
        keep = len(passage.lines) - 1 if passage.steady else len(passage.lines) * (op.two % 4) // 4
        del passage.lines[keep:]
        passage.changed()
    rig.screen.request_render()


def rewind(rig: Rig, op: Op) -> None:
    """Remove the last blocks, final or not."""
    for _ in range(1 + op.one % 3):
        rig.remove_last()
    rig.screen.request_render()


def late(rig: Rig, op: Op) -> None:
    """Change a final block, which must not show."""
    passage = rig.passages[op.one % len(rig.passages)] if rig.passages else None
    if passage is not None and passage.final and passage.lines:
        line = rig.new_line(passage)
        passage.lines[op.two % len(passage.lines)] = line
        passage.changed()
        new = {item.word for item in line}
        rig.judge.stale |= new
        if rig.is_frozen(passage):
            rig.judge.forbidden |= new
    rig.screen.request_render()


def overlay(rig: Rig, op: Op) -> None:
    rig.names += 1
    panel = Panel(f"p{rig.names}", 1 + op.one % 4)
    rig.overlays.append(rig.screen.show_overlay(panel))


def close(rig: Rig, op: Op) -> None:
    if rig.overlays:
        rig.overlays.pop(op.one % len(rig.overlays)).hide()


def resize(rig: Rig, op: Op) -> None:
    rig.resize(rig.shape.size(op.one, op.two), rested=op.two % 2 == 0)


def drag(rig: Rig, op: Op) -> None:
    """Several sizes before anything is drawn."""
    rig.resize(*(rig.shape.size(op.one + step, op.two) for step in range(2 + op.two % 3)))


def race(rig: Rig, op: Op) -> None:
    """Frames are written for a size the terminal no longer has."""
    rig.resize_unnoticed(*rig.shape.size(op.one, op.two), 1 + op.two % 5, 1 + op.one % 6)


def image(rig: Rig, op: Op) -> None:
    rig.show_image(4 + op.two % 5, 1 + op.one % 4)
    rig.screen.request_render()


def focus(rig: Rig, op: Op) -> None:
    rig.screen.focus(rig.field if op.one % 3 else None)
    rig.screen.request_render()


def type_text(rig: Rig, op: Op) -> None:
    rig.terminal.type("abcdefghijklmnopqrstuvwxyz"[op.one % 26] * (1 + op.two % 5))
    rig.screen.request_render()


def erase(rig: Rig, op: Op) -> None:
    rig.terminal.press(*["backspace"] * (1 + op.one % 12))
    rig.screen.request_render()


def status(rig: Rig, op: Op) -> None:
    rig.status.text = f"step {op.one} {'=' * (op.two % 60)}"
    rig.screen.request_render()


def spin(rig: Rig, op: Op) -> None:
    """The spinner turns, requesting only itself; now and then it appears or disappears."""
    if op.one % 4 == 0:
        rig.spinner.shown = not rig.spinner.shown
    rig.spinner.turn += 1
    rig.screen.render_component(rig.spinner)


def force(rig: Rig, op: Op) -> None:
    rig.screen.request_render(force=True)


def reset(rig: Rig, op: Op) -> None:
    rig.screen.reset_display()


def clear(rig: Rig, op: Op) -> None:
    """Another session replaces this one."""
    rig.passages.clear()
    rig.transcript.clear()
    for _ in range(op.one % 8):
        rig.end(rig.begin(1 + op.two % 6))
    rig.replaced = True
    rig.screen.request_render(force=True, full=True)


def suspend(rig: Rig, op: Op) -> None:
    if rig.pending:
        rig.frame()
    rig.leave(op.one % 5)
    rig.frame()


def scroll(rig: Rig, op: Op) -> None:
    """The user scrolls up, or back to the bottom."""
    if rig.pending:
        rig.frame()
    rig.judge.scroll(op.one % 60 if op.two % 4 else 0)


def idle(rig: Rig, op: Op) -> None:
    """Frames without changes, so that resting rows are detected."""
    for _ in range(1 + op.one % 5):
        rig.screen.request_render()
        rig.frame()
    rig.screen.request_render()


ACTIONS: dict[str, Callable[[Rig, Op], None]] = {
    **{
        one.__name__: one
        for one in (append, stream, begin, mutate, tick, finalize, shrink, rewind, late, overlay, close)
    },
    **{
        one.__name__: one
        for one in (resize, drag, race, image, focus, erase, status, spin, force, reset, clear)
    },
    **{one.__name__: one for one in (suspend, scroll, idle)},
    "type": type_text,
}
