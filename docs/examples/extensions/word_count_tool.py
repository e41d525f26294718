"""A tool with a declared effect: it reads one file."""

from pathlib import Path
from typing import Any

from tau.ext import Effects, ExtensionAPI, ToolRunContext


def reads(params: dict[str, Any], cwd: Path) -> Effects:
    return Effects(reads=(cwd / params["path"],))


def extension(tau: ExtensionAPI) -> None:
    @tau.tool(effects=reads)
    async def word_count(path: str, ctx: ToolRunContext) -> int:
        """Count the words of a file."""
        return len((await ctx.ports.fs.read(ctx.cwd / path)).split())
