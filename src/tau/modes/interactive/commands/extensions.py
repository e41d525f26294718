"""The command /extensions."""

import asyncio

from tau.base.late import late
from tau.modes.extensions_report import run_command
from tau.modes.interactive.command_context import CommandContext

commands = late("tau.ext.plugins.commands")


async def extensions(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    session = context.require_session()
    context.say(await asyncio.to_thread(lambda: run_command(rest, session.supplies(), context.paths)))


async def marketplace(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    plugins = commands.Plugins(context.paths, context.require_session().cwd)
    context.say("\n".join(await asyncio.to_thread(plugins.marketplace, tuple(rest.split()))))


async def plugins(context: CommandContext, rest: str) -> None:
    """Installed plugins, and the Python extensions of this session with what is wrong with them."""
    installed = commands.Plugins(context.paths, context.require_session().cwd)
    rows = await asyncio.to_thread(installed.records)
    lines = [
        f"{' '.join(filter(None, (one.name, one.version)))} ({one.source}){'' if one.enabled else ' [off]'}"
        for one in rows
    ]
    extensions = context.require_session().extensions
    for one in () if extensions is None else extensions.report():
        lines.append(f"{one.name}: {one.state}, {one.load_ms:g} ms, {one.path}")
        lines += [f"  {one.problem}"] if one.problem else []
    context.say("\n".join(lines) or "No plugins and no extensions; see tau plugin --help.")


async def reload_plugins(context: CommandContext, rest: str) -> None:
    extensions = context.require_session().extensions
    if extensions is None:
        context.say("This session has no extensions; /reload looks for new ones.")
        return
    context.say("\n".join(await extensions.reload()))
