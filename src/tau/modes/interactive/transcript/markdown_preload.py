"""Loads what Markdown needs while the model has yet to answer, so that its first words hold up no key."""

import threading

from tau.base import log
from tau.base.late import late
from tau.tui.timer import Handle, Timer

lexers = late("pygments.lexers")
markdown = late("tau.tui.widgets.markdown")
parsing = late("tau.tui.widgets.markdown.parse")
python = late("pygments.lexers.python")

DELAY_S = 0.1
"""By then a request is on its way."""


class MarkdownPreload:
    """Done once, in a thread: the loop goes on meanwhile."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._handle: Handle | None = None
        self._is_done = False

    def soon(self) -> None:
        if not self._is_done and self._handle is None:
            self._handle = self._timer.call_later(DELAY_S, self._start)

    def cancel(self) -> None:
        """Not now; it may be asked for again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _start(self) -> None:
        self._handle = None
        self._is_done = True
        threading.Thread(target=_load, name="tau-warming", daemon=True).start()


def _load() -> None:
    """Modules only: what they keep while they work is the loop's."""
    try:
        for module, name in (
            (markdown, "Markdown"),
            (parsing, "parse_blocks"),
            (lexers, "get_lexer_by_name"),
            (python, "PythonLexer"),
        ):
            getattr(module, name)
    except Exception as error:  # whoever needs it in earnest will say so
        log.error("Markdown could not be loaded ahead of time.", error)
