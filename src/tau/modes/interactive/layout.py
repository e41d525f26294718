"""The regions of the screen from top to bottom, each with one owner."""

from tau.tui.component import Component
from tau.tui.widgets.container import Container
from tau.tui.widgets.transcript import Transcript


class ScreenLayout:
    """Everything below the transcript stays on the screen and never enters the terminal's history."""

    def __init__(self, editor: Component) -> None:
        self.transcript = Transcript()
        """The conversation. Owner: the event controller."""
        self.pending = Container()
        """Queued messages. Owner: the event controller."""
        self.activity = Container()
        """What is running, for how long, and which key stops it. Owner: the activity line."""
        self.todo = Container()
        """The agent's tasks. Owner: the todo panel."""
        self.agents = Container()
        """Agents that work in the background. Owner: the agents panel."""
        self.banner = Container()
        """Errors and what to do about them. Owner: the banner."""
        self.hints = Container()
        """Hints while a dialog is open: above it, since they would push it out of a small window."""
        self.above = Container()
        """Extension widgets above the editor. Owner: the UI controller."""
        self.slot = Container([editor])
        """The editor, or the dialog that replaces it. Owner: the dialogs."""
        self.below = Container()
        """Extension widgets below the editor."""

    def parts(self) -> list[Component]:
        """From top to bottom."""
        return [
            self.transcript,
            self.pending,
            self.activity,
            self.todo,
            self.agents,
            self.banner,
            self.hints,
            self.above,
            self.slot,
            self.below,
        ]
