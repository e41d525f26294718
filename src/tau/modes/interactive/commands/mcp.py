"""The command /mcp."""

from tau.modes.interactive.command_context import CommandContext
from tau.modes.mcp_session import run_line


async def mcp(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    done = await run_line(context.require_session(), rest, context.ui)
    context.say(done.text, "info" if done.ok else "warning")
