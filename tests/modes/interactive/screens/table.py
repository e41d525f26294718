"""All screens by name."""

from tests.modes.interactive.screens import agents, conversation, dialogs, editing, information, lists
from tests.modes.interactive.screens.screen_rig import Screen

PARTS = (
    agents.SCREENS,
    conversation.SCREENS,
    editing.SCREENS,
    dialogs.SCREENS,
    lists.SCREENS,
    information.SCREENS,
)
SCREENS: dict[str, Screen] = {name: screen for part in PARTS for name, screen in part.items()}

NO_SCREEN = {
    "selectors.pick_list.pick": "part of other dialogs",
    "selectors.panel.ask_line": "part of other dialogs",
    "command_context.CommandContext.ask": "part of other dialogs",
    "ui_controller.ScreenUi.show": "part of other dialogs",
    "ui_controller.ScreenUi.custom": "shows a component of the caller's own",
    **dict.fromkeys(
        (f"selectors.agent_hub.AgentHub.{name}" for name in ("act", "_discard", "_message", "_show_diff")),
        "an action of the Agent Hub; selectors/test_agent_hub.py looks at it",
    ),
    "dialogs.startup_recovery._download": "is there only while the demo model is being fetched",
    "commands.memory._delete": "asks with ScreenUi.confirm; commands/test_memory.py looks at it",
    "commands.memory._view": "asks with ScreenUi.select; commands/test_memory.py looks at it",
    "commands.memory._edit": "asks with ScreenUi.editor; commands/test_memory.py looks at it",
    "commands.share.share": "asks with ScreenUi.confirm; commands/test_share.py looks at it",
    "commands.omfg.omfg": "asks with ScreenUi.select; commands/test_omfg.py looks at it",
    "extension_face.ScreenForExtensions._instead": "shows a component of an extension",
    "dialogs.oauth_login._wait": "its address is random; tests/e2e/interactive/test_login.py looks at it",
}
"""Functions that open a dialog without its own screen, and why."""
ONE_LINE = frozenset(
    (
        "retry",
        "add-dir",
        "agents",
        "lsp",
        "memory",
        "share",
        "browser",
        "marketplace",
        "plugins",
        "reload-plugins",
        "mcp",
        "init",
        "review",
        "omfg",
        "new",
        "goto",
        "fork",
        "export",
        "dump",
        "handoff",
        "shake",
        "redo",
        "reload",
        "exit",
        "fast",
    )
)
"""Commands that print one line or switch the session, and show nothing else."""
