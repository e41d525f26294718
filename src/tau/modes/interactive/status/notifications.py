"""Notifications for an inattentive user: the window title and an alert."""

from collections.abc import Callable

from tau.agent.events import AgentEnd, AgentEvent, AgentStart, JobChanged
from tau.base.text import clean_line, shortened
from tau.coding.session.session import Session
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display

TITLE_CHARS = 60
_WORKS = "…"


class Notifications:
    """The terminal reports focus; one that cannot counts as focused.

    `on_return` is called when the user returns to the window.
    """

    def __init__(self, display: Display, current: CurrentSession, on_return: Callable[[], None]) -> None:
        self._terminal = display.terminal
        self._current = current
        self._on_return = on_return
        self._focused = True
        self._own_title = ""
        display.screen.on_focus_changed = self._focus

    def __call__(self, event: AgentEvent) -> None:
        match event:
            case AgentStart():
                self.title(working=True)
            case JobChanged(id=id, status="completed" | "failed" as status, queued=False):
                self.call(f"Background job {id} {status}.")
            case AgentEnd():  # it may be retried: notify when the run is over
                self.title()

    def title(self, text: str | None = None, *, working: bool = False) -> None:
        """Set the window title: from an extension, or from the session and folder."""
        if text is not None:
            self._own_title = clean_line(text)
        session = self._current.session
        name = self._own_title or (_name(session) if session is not None else self._current.cwd.name)
        self._terminal.set_title(f"{_WORKS if working else ''}tau: {shortened(name, TITLE_CHARS)}")

    def call(self, message: str) -> None:
        """Notify the user as the settings say."""
        when = self._current.settings.interaction.notify
        if when == "always" or (when == "unfocused" and not self._focused):
            session = self._current.session
            title = "tau" if session is None else f"tau: {_name(session)}"
            self._terminal.notify(title, message)

    def _focus(self, focused: bool) -> None:
        self._focused = focused
        if focused:
            self._on_return()


def _name(session: Session) -> str:
    return session.names.name or session.cwd.name
