"""`tau mcp`: adds, lists, tests and calls MCP servers."""

import asyncio
import os
from collections.abc import Sequence

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.json_output import write_json
from tau.config.paths import current_folder
from tau.modes.mcp_subcommands import VERBS, VerbArgs, VerbReport, parse
from tau.modes.output_stream import OutputStream, tell
from tau.sdk.servers import open_servers

mcp_serve_command = late("tau.cli.mcp_serve_command")


def run(words: Sequence[str]) -> int:
    """Run `tau mcp`. Raises TauError."""
    if words[:1] == ["serve"]:
        return mcp_serve_command.run(words[1:])
    verb, args = parse(words)
    done = asyncio.run(_run(verb, args))
    out = OutputStream()
    if "--json" in args.options:
        write_json(done.text if done.data is None else done.data)
    else:
        out.text(f"{done.text}\n")
    return 0 if done.ok else 1


async def _run(verb: str, args: VerbArgs) -> VerbReport:
    do, _, _, _, starts = VERBS[verb]
    only = None if verb in ("list", "tools") and not args.words else args.words[:1]
    async with open_servers(current_folder(), os.environ, start=only if starts else (), tell=tell) as servers:
        if servers is None:
            raise UsageError("The setting mcp.enabled is false.")
        return await do(servers, args)
