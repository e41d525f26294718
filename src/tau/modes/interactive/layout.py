"""The parts of the screen from top to bottom, each with one owner."""

from tau.tui.component import Component
from tau.tui.widgets.container import Container
from tau.tui.widgets.transcript import Transcript


class ScreenLayout:
    """Everything below the transcript stays on the screen: it never enters the terminal's history."""

    def __init__(self, editor: Component) -> None:
        self.transcript = Transcript()
        """What was said and done. Owner: the event view."""
        self.pending = Container()
        """Messages that wait to be sent. Owner: the event view."""
        self.activity = Container()
        """What runs now, how long, and which key stops it. Owner: the activity line."""
        self.todo = Container()
        """The agent's tasks. Owner: the task panel."""
        self.banner = Container()
        """What went wrong and what to do. Owner: the banner."""
        self.above = Container()
        """Widgets of others above the editor. Owner: the user interface that tools ask."""
        self.slot = Container([editor])
        """The editor, or the dialog that stands in its place. Owner: the dialogs."""
        self.below = Container()
        """Widgets of others below the editor."""

    def parts(self) -> list[Component]:
        """From top to bottom."""
        return [
            self.transcript,
            self.pending,
            self.activity,
            self.todo,
            self.banner,
            self.above,
            self.slot,
            self.below,
        ]
