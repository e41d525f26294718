"""The context of slash commands and selectors."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tau.agent.ui import NoticeLevel
from tau.coding.session.session import Session
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.modes.interactive.commands.command_names import CommandNames
from tau.modes.interactive.composer.message_sender import MessageSender
from tau.modes.interactive.composer.prompt_recall import PromptRecall
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.dialogs.dialog_host import Dialogs
from tau.modes.interactive.event_controller import EventController
from tau.modes.interactive.screen_protocols import AppActions, Display, Notices, Tasks
from tau.modes.interactive.status.activity_line import ActivityLine
from tau.modes.interactive.status.status_line import StatusLine
from tau.modes.interactive.themes.theme_controller import ThemeController
from tau.modes.interactive.ui_controller import ScreenUi
from tau.tui.component import Component

T = TypeVar("T")


class CommandContext(NamedTuple):
    """The parts a command may use, with shortcuts for common operations."""

    display: Display
    current: CurrentSession
    notices: Notices
    tasks: Tasks
    actions: AppActions
    dialogs: Dialogs
    ui: ScreenUi
    activity: ActivityLine
    transcript: EventController
    status_line: StatusLine
    themes: ThemeController
    recall: PromptRecall
    sender: MessageSender
    names: CommandNames

    @property
    def session(self) -> Session | None:
        return self.current.session

    @property
    def settings(self) -> Settings:
        return self.current.settings

    @property
    def paths(self) -> Paths:
        return self.current.paths

    @property
    def cwd(self) -> Path:
        return self.current.cwd

    def require_session(self) -> Session:
        """Raises TauError if there is none."""
        return self.current.require()

    def say(self, text: str, level: NoticeLevel = "info") -> None:
        """Add a line outside the conversation to the transcript."""
        self.notices.say(text, level)

    def hint(self, text: str) -> None:
        self.notices.hint(text)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.tasks.start(work)

    async def ask(self, make: Callable[[Callable[[T | None], None]], Component]) -> T | None:
        """Show a dialog until it is answered."""
        return await self.dialogs.ask(make)
