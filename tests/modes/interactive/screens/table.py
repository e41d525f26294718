"""All screens by name."""

from tests.modes.interactive.screens import asking, lists, talking, telling, writing
from tests.modes.interactive.screens.stage import Screen

PARTS = (talking.SCREENS, writing.SCREENS, asking.SCREENS, lists.SCREENS, telling.SCREENS)
SCREENS: dict[str, Screen] = {name: screen for part in PARTS for name, screen in part.items()}

NO_SCREEN = {
    "selectors.pick_list.pick": "part of other dialogs",
    "selectors.panel.ask_line": "part of other dialogs",
    "command_context.CommandContext.ask": "part of other dialogs",
    "ui_controller.ScreenUi.show": "part of other dialogs",
    "ui_controller.ScreenUi.custom": "shows a component of the caller's own",
    "dialogs.first_run._fetched": "is there only while the demo model is being fetched",
}
"""Functions that open a dialog without a screen of their own, and why."""
ONE_LINE = frozenset(
    (
        "retry",
        "init",
        "new",
        "goto",
        "fork",
        "export",
        "dump",
        "handoff",
        "shake",
        "redo",
        "expand",
        "reload",
        "exit",
    )
)
"""Commands that say a line, or bring another session, and show nothing else of their own."""
