"""Offer a tool only after a command."""

import random

from tau.ext import ExtensionAPI, ExtensionCommandContext


def extension(tau: ExtensionAPI) -> None:
    @tau.command("dice")
    def dice(args: str, ctx: ExtensionCommandContext) -> None:
        """Let the model roll dice."""

        @tau.tool(effects="none")
        def roll(sides: int = 6) -> int:
            """Roll a die."""
            return random.randint(1, sides)
