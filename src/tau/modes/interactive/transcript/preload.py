"""Preloads what draws an answer while waiting for the model, so that its first words do not block keys."""

import threading

from tau.base import log
from tau.base.late import late
from tau.tui.timer import Handle, Timer

lexers = late("pygments.lexers")
markdown = late("tau.tui.widgets.markdown")
parsing = late("tau.tui.widgets.markdown.parse")
tool_views = late("tau.modes.interactive.tool_views.preload")
python = late("pygments.lexers.python")

DELAY_S = 0.1
"""By then a request has been sent."""


class RendererPreload:
    """Runs once, in a thread, without blocking the event loop."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._handle: Handle | None = None
        self._is_done = False

    def soon(self) -> None:
        if not self._is_done and self._handle is None:
            self._handle = self._timer.call_later(DELAY_S, self._start)

    def cancel(self) -> None:
        """Cancel for now; it can be requested again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _start(self) -> None:
        self._handle = None
        self._is_done = True
        threading.Thread(target=_load, name="tau-preload", daemon=True).start()


def _load() -> None:
    """Import modules only; their state belongs to the event loop."""
    try:
        # Accessing a name of a late module loads it.
        _ = markdown.Markdown, parsing.parse_blocks, lexers.get_lexer_by_name, python.PythonLexer
        tool_views.load()
    except Exception as error:  # the first real use reports the error
        log.error("Could not preload the renderers.", error)
