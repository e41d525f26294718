"""State shared by transcript blocks: theme, keys, and what is expanded."""

from collections.abc import Callable
from pathlib import Path

from tau.tui.images.budget import ImageBudget
from tau.tui.input.bindings import Keymap
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities


class BlockContext:
    """Shared by all blocks. After changing a field, redraw the transcript."""

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        *,
        cwd: Callable[[], Path],
        now: Callable[[], float],
        capabilities: Callable[[], Capabilities] = Capabilities,
        budget: ImageBudget | None = None,
        room: Callable[[int], int] = lambda width: 1 << 20,
    ) -> None:
        self.theme = theme
        self._keys = keys
        self._cwd = cwd
        self.now = now
        """A monotonic clock, in seconds."""
        self.capabilities = capabilities
        """Terminal capabilities known so far."""
        self.budget = budget
        """Identifies images on the terminal."""
        self._room = room
        self.unfinished = 0
        """How many blocks are unfinished."""
        self.expanded = False
        """Whether everything is expanded."""
        self.hide_thinking = False
        self.hyperlinks = True

    @property
    def cwd(self) -> Path:
        return self._cwd()

    def share(self, width: int) -> int:
        """Rows available to each unfinished block, so that all stay visible."""
        count = max(self.unfinished, 1)
        return max((self._room(width) - count) // count, 1)

    def hint(self, hidden: int, what: str = "line", *, missing: int = 0) -> str:
        """A note that something is hidden, with the key that shows it.

        `missing` more are unavailable, so no key can show them.
        """
        plural = "" if hidden + missing == 1 else "s"
        key = self._keys.label("app.tools.expand")
        shown = f"{hidden:,} of them" if missing else "all"
        shows = f" ({key} shows {shown})" if key and hidden else ""
        return f"{self.theme.symbols.ellipsis} {hidden + missing:,} more {what}{plural}{shows}"
