"""/mcp: servers are added, shown, called and removed in a session."""

import sys
from pathlib import Path

from tests.ext.mcp.rig import FAUX_SERVER
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import rigged, run


def test_a_server_is_added_used_and_removed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, rows=60) as rig:
            await run_command(rig, "/mcp", "No MCP servers")
            await run_command(rig, f"/mcp add faux -- {sys.executable} -S {FAUX_SERVER}", "Added faux to")
            await run_command(rig, "/mcp list", "faux")
            await run_command(rig, "/mcp remove faux", "Removed faux")
            await run_command(rig, "/mcp test nobody", 'There is no MCP server "nobody"')

    run(test)
