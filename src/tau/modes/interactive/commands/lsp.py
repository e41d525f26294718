"""The command /lsp."""

from tau.base.errors import UsageError
from tau.modes.interactive.command_context import CommandContext
from tau.modes.lsp_subcommands import run_verb


async def lsp(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    servers = context.require_session().language_servers
    if servers is None:
        raise UsageError("This session has no language servers; tau lsp status says why.")
    done = await run_verb(servers, rest.split())
    context.say(done.text, "info" if done.ok else "warning")
