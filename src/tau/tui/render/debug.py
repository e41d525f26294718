"""Logs what each frame did, if TAU_DEBUG_REDRAW=1."""

import os

from tau.base.late import late
from tau.tui.render.ledger import Ledger
from tau.tui.render.paint import PaintResult, Size

log = late("tau.base.log")


def enabled() -> bool:
    return os.environ.get("TAU_DEBUG_REDRAW") == "1"


def record(painted: PaintResult, ledger: Ledger, size: Size) -> None:
    """Log one line: why and how the frame was drawn, and the ledger afterwards."""
    log.warning(
        f"redraw {painted.intent} {painted.emitter} {size.columns}x{size.rows}"
        f" C={ledger.committed} W={ledger.window_top} B={ledger.boundary} L={ledger.length}"
        f" chunk={painted.chunk_start}..{ledger.committed} chars={len(painted.text)}"
    )
