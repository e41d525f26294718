"""What the parts of the screen use of each other: small protocols, passed in on creation."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, Protocol

from tau.agent.ui import NoticeLevel
from tau.ai.wire import ImageContent
from tau.modes.interactive.current_session import CurrentSession, SessionSwitch
from tau.modes.interactive.layout import ScreenLayout
from tau.tui.input.bindings import Keymap
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.timer import Timer
from tau.tui.widgets.editor.editor import Editor


class Display(Protocol):
    """What drawing needs: the screen, its editor, the theme and the keys."""

    terminal: Terminal
    screen: Screen
    layout: ScreenLayout
    editor: Editor
    theme: Theme
    keys: Keymap
    timer: Timer

    def request_render(self, *, force: bool = False, full: bool = False) -> None: ...


class Notices(Protocol):
    """Messages to the user: transcript lines, an error above the editor, a hint below it."""

    def say(self, text: str, level: NoticeLevel = "info") -> None: ...
    def show_error(self, text: str) -> None: ...
    def clear_error(self) -> None: ...
    def hint(self, text: str, level: NoticeLevel = "info", seconds: float | None = None) -> None: ...
    def clear_hints(self) -> None: ...


class Tasks(Protocol):
    """Background work; errors become notices."""

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...


class AppActions(Protocol):
    """Application-wide actions: switching sessions, sending, quitting."""

    def leave(self, change: SessionSwitch | None) -> None:
        """Switch to another session; None quits."""

    def quit(self) -> None: ...

    def submit(self, text: str, images: Sequence[ImageContent] = (), *, follow_up: bool = False) -> None:
        """A command, a shell or Python line, or a message."""

    def send(self, text: str) -> None:
        """Send a message, whatever it starts with. Raises TauError."""

    def wake(self) -> None: ...
    def run_command(self, text: str) -> None: ...


class ScreenPorts(NamedTuple):
    """What most parts need."""

    display: Display
    current: CurrentSession
    notices: Notices
    tasks: Tasks
    actions: AppActions
