"""The greeting of a new conversation."""

from typing import TYPE_CHECKING

from tau.base.version import VERSION
from tau.tui.component import Component
from tau.tui.text.wrap import wrap

if TYPE_CHECKING:
    from tau.modes.interactive.ports import Display


class Greeting(Component):
    """Says what can be typed, in three lines."""

    def __init__(self, display: "Display") -> None:
        self._display = display
        self._rows: list[str] = []
        self._width = 0

    def render(self, width: int) -> list[str]:
        if width != self._width:
            theme, label = self._display.theme, self._display.keys.label
            hints = (
                f"Type a message and press {label('tui.input.submit')}. Use @ for files, / for commands, "
                "! for the shell.",
                f"{label('app.interrupt')} stops the agent. /help shows more, "
                f"{label('app.help.hotkeys')} all keys.",
            )
            title = theme["accent"](theme["strong"](f"tau {VERSION}"))
            self._rows = wrap("\n".join((title, *(theme["muted"](hint) for hint in hints))), width)
            self._width = width
        return self._rows

    def invalidate(self) -> None:
        self._width = 0
