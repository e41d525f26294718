"""A scrollable view of a component."""

from collections.abc import Callable, Sequence

from tau.tui.component import Component, LiveComponent
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.cut import truncate

_END = 1 << 60


class ScrollView(LiveComponent):
    """Always `height` rows. If the child has more, the last row shows the position."""

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        child: Component,
        height: int,
        *,
        follow: bool = False,
        on_cancel: Callable[[], None] | None = None,
    ) -> None:
        self.child = child
        self.on_cancel = on_cancel
        self._theme = theme
        self._keys = keys
        self._height = max(height, 1)
        self._offset = _END if follow else 0
        self._follow = follow
        """Whether it stays at the end when the child grows, unless scrolled away."""
        self._length = 0
        self._seen: tuple[int, int, Sequence[str]] | None = None
        self._rows: list[str] = []

    @property
    def focused(self) -> bool:
        """Focus passes to the child, which gets the keys first."""
        return self.child.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self.child.focused = focused

    @property
    def offset(self) -> int:
        """The first visible row of the child."""
        return min(self._offset, self._last)

    def set_height(self, height: int) -> None:
        """Change the number of rows."""
        self._height = max(height, 1)
        self._seen = None

    def scroll_to(self, offset: int) -> None:
        """Scroll to this row of the child, clamped."""
        self._offset = min(max(offset, 0), self._last)
        if self._follow and self._offset == self._last:
            self._offset = _END

    def scroll_by(self, rows: int) -> None:
        """Scroll down by this many rows, or up if negative."""
        self.scroll_to(self.offset + rows)

    def handle_input(self, event: InputEvent) -> bool:
        if self.child.handle_input(event):
            return True
        page = max(self._shown - 1, 1)
        for action, rows in (("up", -1), ("down", 1), ("pageUp", -page), ("pageDown", page)):
            if self._keys.matches(event, f"tui.select.{action}"):
                self.scroll_by(rows)
                return True
        if self.on_cancel is not None and self._keys.matches(event, "tui.select.cancel"):
            self.on_cancel()
            return True
        return False

    def invalidate(self) -> None:
        self._seen = None
        self.child.invalidate()

    def render(self, width: int) -> list[str]:
        inside = self.child.render(width)
        self._length = len(inside)
        seen = self._seen
        if seen is None or seen[0] != width or seen[1] != self.offset or seen[2] is not inside:
            self._seen = (width, self.offset, inside)
            self._rows = self._window(inside, width)
        return self._rows

    @property
    def _shown(self) -> int:
        """How many rows of the child fit."""
        return self._height if self._height == 1 or self._length <= self._height else self._height - 1

    @property
    def _last(self) -> int:
        return max(self._length - self._shown, 0)

    def _window(self, inside: Sequence[str], width: int) -> list[str]:
        start, shown = self.offset, self._shown
        rows = list(inside[start : start + shown])
        rows += [""] * (shown - len(rows))
        if shown < self._height:
            rows.append(self._theme["muted"](truncate(self._position(start, shown), width, "")))
        return rows

    def _position(self, start: int, shown: int) -> str:
        end = min(start + shown, self._length)
        if self._theme.linear:
            return f"Lines {start + 1} to {end} of {self._length}"
        signs = self._theme.symbols
        up = signs.scroll_up if start > 0 else " "
        down = signs.scroll_down if end < self._length else " "
        return f"{up}{down} {start + 1}-{end} of {self._length}"
