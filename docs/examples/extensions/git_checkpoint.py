"""Stash a copy of the work tree at the start of each run."""

from tau import AgentStart
from tau.ext import ExtensionAPI, ExtensionContext


def extension(tau: ExtensionAPI) -> None:
    @tau.on("agent_start")
    async def checkpoint(event: AgentStart, ctx: ExtensionContext) -> None:
        made = await tau.exec(["git", "stash", "create"])
        if made.exit_code == 0 and made.output.strip():
            tau.append_entry("git-checkpoint", {"commit": made.output.strip()})
