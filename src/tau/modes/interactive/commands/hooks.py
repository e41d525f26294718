"""The command /hooks."""

from tau.modes.hooks_report import run_command
from tau.modes.interactive.command_context import CommandContext


async def hooks(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    context.say(await run_command(rest, context.require_session()))
