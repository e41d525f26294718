"""What a part of the screen may ask of the rest: small protocols, given to it when it is made."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from tau.agent.ui import NoticeLevel
from tau.ai.wire import ImageContent
from tau.modes.interactive.layout import ScreenLayout
from tau.modes.interactive.session_switch import SessionSwitch
from tau.tui.input.bindings import Keymap
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.timer import Timer
from tau.tui.widgets.editor.editor import Editor


class Display(Protocol):
    """What drawing takes: the screen and its editor, how things look, which keys there are."""

    terminal: Terminal
    screen: Screen
    layout: ScreenLayout
    editor: Editor
    theme: Theme
    keys: Keymap
    timer: Timer

    def request_render(self, *, force: bool = False, full: bool = False) -> None: ...


class Notices(Protocol):
    """Messages to the person: lines in the transcript, an error above the editor, a passing hint below it."""

    def say(self, text: str, level: NoticeLevel = "info") -> None: ...
    def show_error(self, text: str) -> None: ...
    def clear_error(self) -> None: ...
    def hint(self, text: str, level: NoticeLevel = "info", seconds: float | None = None) -> None: ...
    def clear_hints(self) -> None: ...


class Tasks(Protocol):
    """Work beside everything else; an error in it becomes a notice."""

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...


class AppActions(Protocol):
    """What concerns the whole application: its session, what is sent to that, its end."""

    def leave(self, change: SessionSwitch | None) -> None:
        """Go on with another session; None: quit."""

    def quit(self) -> None: ...

    def submit(self, text: str, images: Sequence[ImageContent] = (), *, follow_up: bool = False) -> None:
        """A command, a line for the shell or Python, or a message."""

    def send(self, text: str) -> None:
        """A message, whatever it begins with. Raises TauError."""

    def run_command(self, text: str) -> None: ...
