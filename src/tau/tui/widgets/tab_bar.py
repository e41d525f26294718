"""A row of tabs, one of them active; it scrolls when they do not all fit."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tau.tui.component import LiveComponent
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap


class Tab(NamedTuple):
    """One tab; `note` is a short text after its label, such as a count."""

    value: str
    label: str
    note: str = ""


class TabBar(LiveComponent):
    """Left, right and Tab move, wrapping around."""

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        tabs: Iterable[Tab] = (),
        *,
        active: str = "",
        on_change: Callable[[Tab], None] | None = None,
    ) -> None:
        self._theme = theme
        self._keys = keys
        self.on_change = on_change
        self._tabs: list[Tab] = []
        self._at = 0
        self._first = 0
        self._rows: list[str] | None = None
        self._drawn_for = (0, False)
        self.set_tabs(tabs)
        self.activate(active)

    def set_tabs(self, tabs: Iterable[Tab]) -> None:
        """Replace the tabs; the active one stays active if still present."""
        before = self.active
        self._tabs = [Tab(tab.value, clean_line(tab.label), clean_line(tab.note)) for tab in tabs]
        self._at = self._first = 0
        self._rows = None
        if before is not None:
            self.activate(before.value)

    @property
    def active(self) -> Tab | None:
        return self._tabs[self._at] if self._tabs else None

    def activate(self, value: str) -> bool:
        """Activate the tab with this value without calling `on_change`."""
        for number, tab in enumerate(self._tabs):
            if tab.value == value:
                self._at = number
                self._rows = None
                return True
        return False

    def handle_input(self, event: InputEvent) -> bool:
        matches = self._keys.matches
        if not self._tabs:
            return False
        if matches(event, "tui.editor.cursorLeft"):
            step = -1
        elif matches(event, "tui.editor.cursorRight") or matches(event, "tui.input.tab"):
            step = 1
        else:
            return False
        before = self._at
        self._at = (self._at + step) % len(self._tabs)
        self._rows = None
        if self._at != before and self.on_change is not None:
            self.on_change(self._tabs[self._at])
        return True

    def invalidate(self) -> None:
        self._rows = None

    def render(self, width: int) -> Sequence[str]:
        if self._rows is None or self._drawn_for != (width, self.focused):
            self._drawn_for = (width, self.focused)
            self._rows = self._render_rows(max(width, 1)) if self._tabs else []
        return self._rows

    def _render_rows(self, width: int) -> list[str]:
        if self._theme.linear:
            tab = self._tabs[self._at]
            note = f" ({tab.note})" if tab.note else ""
            return wrap(f"Tab {self._at + 1} of {len(self._tabs)}: {tab.label}{note}", width)
        ellipsis = self._theme.symbols.ellipsis
        widths = [visible_width(f"{tab.label} {tab.note}".rstrip()) + 2 for tab in self._tabs]
        first, last = self._visible(widths, width)
        parts = [self._tab(number) for number in range(first, last)]
        left = self._theme["dim"](ellipsis) if first > 0 else ""
        right = self._theme["dim"](ellipsis) if last < len(self._tabs) else ""
        marks = visible_width(left) + visible_width(right)
        if marks >= width:
            return [truncate(" ".join(parts), width, ellipsis)]
        return [left + truncate(" ".join(parts), width - marks, ellipsis) + right]

    def _visible(self, widths: list[int], width: int) -> tuple[int, int]:
        """Return the visible tab range: it includes the active one and moves as little as possible."""
        if sum(widths) + len(widths) - 1 <= width:
            self._first = 0
            return 0, len(widths)
        room = width - 2
        self._first = min(self._first, self._at)
        while self._first < self._at and _needed(widths[self._first : self._at + 1]) > room:
            self._first += 1
        last = self._at + 1
        while last < len(widths) and _needed(widths[self._first : last + 1]) <= room:
            last += 1
        while self._first > 0 and _needed(widths[self._first - 1 : last]) <= room:
            self._first -= 1
        return self._first, last

    def _tab(self, number: int) -> str:
        theme, tab = self._theme, self._tabs[number]
        note = f" {tab.note}" if tab.note else ""
        if number != self._at:
            return theme["muted"](f" {tab.label}") + theme["dim"](f"{note} ")
        # Brackets mark the active tab even without colors.
        left, right = ("[", "]") if not theme["selectedBackground"].open else (" ", " ")
        text = theme["accent" if self.focused else "selected"](f"{left}{tab.label}{note}{right}")
        return theme["selectedBackground"](text)


def _needed(widths: list[int]) -> int:
    return sum(widths) + max(len(widths) - 1, 0)
