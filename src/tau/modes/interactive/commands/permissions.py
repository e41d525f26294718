"""/permissions: the permission mode and the rules."""

from tau.modes.interactive.command_context import CommandContext
from tau.modes.permissions_report import run_command


async def permissions(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    context.say(run_command(context.require_session().permissions, rest))
