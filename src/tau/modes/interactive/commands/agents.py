"""The commands /agents and /hub."""

from tau.base.late import late
from tau.modes.agents_report import run_command
from tau.modes.interactive.command_context import CommandContext

agent_hub = late("tau.modes.interactive.selectors.agent_hub")


async def agents(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    context.say(await run_command(context.require_session(), rest))


async def hub(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    await agent_hub.open_hub(context)
