"""The command /extensions."""

import asyncio

from tau.modes.extensions_report import run_command
from tau.modes.interactive.command_context import CommandContext


async def extensions(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    session = context.require_session()
    context.say(await asyncio.to_thread(lambda: run_command(rest, session.supplies(), context.paths)))
