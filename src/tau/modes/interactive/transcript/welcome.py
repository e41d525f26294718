"""The first lines of a new conversation."""

from typing import TYPE_CHECKING

from tau.base.version import VERSION
from tau.tui.component import Component
from tau.tui.text.wrap import wrap

if TYPE_CHECKING:
    from tau.modes.interactive.app import App


class Welcome:
    """Says what can be typed, in three lines; `interaction.quietStart` leaves it out."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def show(self) -> None:
        if not self._app.settings.interaction.quiet_start:
            self._app.layout.transcript.add(Greeting(self._app))
            self._app.screen.request_render()


class Greeting(Component):
    def __init__(self, app: "App") -> None:
        self._app = app
        self._rows: list[str] = []
        self._width = 0

    def render(self, width: int) -> list[str]:
        if width != self._width:
            theme, label = self._app.theme, self._app.keys.label
            hints = (
                f"Type a message and press {label('tui.input.submit')}. @ names a file, / a command, "
                "! runs one.",
                f"{label('app.interrupt')} stops the agent. /help tells more, "
                f"{label('app.help.hotkeys')} all keys.",
            )
            title = theme["accent"](theme["strong"](f"tau {VERSION}"))
            self._rows = wrap("\n".join((title, *(theme["muted"](hint) for hint in hints))), width)
            self._width = width
        return self._rows

    def invalidate(self) -> None:
        self._width = 0
