"""Creates and wires the parts of the screen."""

import asyncio

from tau.modes.interactive.background_tasks import BackgroundTasks
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.command_controller import CommandController
from tau.modes.interactive.commands.command_names import CommandNames
from tau.modes.interactive.composer.composer import Composer
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.dialogs.dialog_host import Dialogs
from tau.modes.interactive.event_controller import EventController
from tau.modes.interactive.input_controller import InputController
from tau.modes.interactive.screen_protocols import AppActions, Display, ScreenPorts
from tau.modes.interactive.status.activity_line import ActivityLine
from tau.modes.interactive.status.notices import ScreenNotices
from tau.modes.interactive.status.notifications import Notifications
from tau.modes.interactive.status.status_line import StatusLine
from tau.modes.interactive.themes.theme_controller import ThemeController
from tau.modes.interactive.ui_controller import ScreenUi


class ScreenParts:
    """Created in dependency order."""

    def __init__(
        self, display: Display, current: CurrentSession, group: asyncio.TaskGroup, actions: AppActions
    ) -> None:
        self.activity = ActivityLine(display, current)
        self.transcript = EventController(display, current, self.activity)
        self.notices = ScreenNotices(display, self.transcript)
        self.tasks = BackgroundTasks(group, self.notices)
        self.status_line = StatusLine(display, current, self.tasks)
        self.themes = ThemeController(display, current, self.notices, self.status_line.refresh)
        self.notifications = Notifications(display, current, self.themes.watch.check_now)
        self.dialogs = Dialogs(display.screen, display.layout, display.editor)
        self.names = CommandNames(current, display.timer)
        ports = ScreenPorts(display, current, self.notices, self.tasks, actions)
        self.composer = Composer(ports, self.activity, self.names.is_command)
        self.ui = ScreenUi(ports, self.dialogs, self.activity, self.notifications, self.composer)
        self.context = CommandContext(
            *ports,
            self.dialogs,
            self.ui,
            self.activity,
            self.transcript,
            self.status_line,
            self.themes,
            self.composer.recall,
            self.composer.sender,
            self.names,
        )
        self.commands = CommandController(self.context)
        self.input = InputController(self.context, self.composer, self.commands.complete)
