"""The table of all commands, by name."""

from tau.modes.session_commands import (
    conversation,
    host_tools,
    logins,
    models,
    servers,
    sessions,
    state,
    subagents,
)
from tau.modes.session_commands.command import SessionCommand

COMMANDS: dict[str, SessionCommand] = {
    command.name: command
    for module in (conversation, sessions, models, state, logins, servers, host_tools, subagents)
    for command in module.COMMANDS
}
