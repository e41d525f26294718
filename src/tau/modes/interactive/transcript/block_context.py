"""What the blocks of a transcript share: theme and keys, and what of them is folded."""

from collections.abc import Callable
from pathlib import Path

from tau.tui.images.budget import ImageBudget
from tau.tui.input.bindings import Keymap
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities


class BlockContext:
    """One for all blocks. Its owner changes a field, then has the transcript drawn anew."""

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
        """Seconds of a clock that never goes back."""
        self.capabilities = capabilities
        """What the terminal can do, as far as is known now."""
        self.budget = budget
        """Of pictures on the terminal."""
        self._room = room
        self.unfinished = 0
        """How many blocks wait for what they show."""
        self.expanded = False
        """Whether everything is shown in full."""
        self.hide_thinking = False
        self.hyperlinks = True

    @property
    def cwd(self) -> Path:
        return self._cwd()

    def share(self, width: int) -> int:
        """The rows that each of the blocks which are not finished may take, so that all of them are seen."""
        count = max(self.unfinished, 1)
        return max((self._room(width) - count) // count, 1)

    def hint(self, hidden: int, what: str = "line", *, missing: int = 0) -> str:
        """What stands where something is left out, with the key that shows it.

        `missing` more are not here at all, so that no key can show them.
        """
        plural = "" if hidden + missing == 1 else "s"
        key = self._keys.label("app.tools.expand")
        shown = f"{hidden:,} of them" if missing else "all"
        shows = f" ({key} shows {shown})" if key and hidden else ""
        return f"{self.theme.symbols.ellipsis} {hidden + missing:,} more {what}{plural}{shows}"
