"""The command /trust."""

from tau.modes import trust_question
from tau.modes.interactive.command_context import CommandContext


async def trust(context: CommandContext, rest: str) -> None:
    context.say(await trust_question.run_command(rest, context.ui, context.cwd, context.paths))
