"""The command /agents."""

from tau.modes.agents_report import run_command
from tau.modes.interactive.command_context import CommandContext


async def agents(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    context.say(await run_command(context.require_session(), rest))
