"""`/mcp` in a session: the verbs of `tau mcp` on the servers that the session uses."""

import os
from collections.abc import Sequence

from tau.agent.ui import Ui
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.session.session import Session
from tau.modes.mcp_subcommands import VERBS, VerbReport, parse, split

late_servers = late("tau.sdk.servers")
PROGRAM, REMOTE = "A program on this machine", "A remote server"


async def run_line(session: Session, line: str, ui: Ui | None = None) -> VerbReport:
    """Run what follows `/mcp`. Raises TauError."""
    words = split(line)
    if words == ["add"] and ui is not None:
        words = await _ask(ui)
    return await run_words(session, words)


async def run_words(session: Session, words: Sequence[str]) -> VerbReport:
    verb, args = parse(words)
    do = VERBS[verb][0]
    if session.servers is not None:
        return await do(await session.servers.open(), args)
    async with late_servers.open_servers(session.cwd, os.environ, start=()) as servers:
        if servers is None:
            raise UsageError("The setting mcp.enabled is false.")
        done = await do(servers, args)
    return VerbReport(f"{done.text} The next session uses it.", done.data) if verb[:3] == "add" else done


async def _ask(ui: Ui) -> list[str]:
    """Ask for a new server step by step."""
    name = await ui.input("Name of the MCP server", "github")
    kind = await ui.select("What is it?", [PROGRAM, REMOTE]) if name else None
    if not name or kind is None:
        raise UsageError("Nothing was added.")
    if kind == REMOTE:
        url = await ui.input("Its URL", "https://example.com/mcp")
        return ["add", name, url or ""]
    command = await ui.input("The command that starts it", "npx -y @modelcontextprotocol/server-memory")
    return ["add", name, "--", *split(command or "")]
