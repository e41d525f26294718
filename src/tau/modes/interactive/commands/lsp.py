"""The command /lsp."""

from tau.base.errors import TauError
from tau.modes.interactive.command_context import CommandContext
from tau.modes.lsp_subcommands import run_verb


async def lsp(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    servers = context.require_session().language_servers
    if servers is None:
        raise TauError("This session has no language servers; `tau lsp status` says why.")
    done = await run_verb(servers, rest.split())
    context.say(done.text, "info" if done.ok else "warning")
