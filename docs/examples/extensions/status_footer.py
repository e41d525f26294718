"""Show the number of turns below the editor."""

from tau import TurnEnd
from tau.ext import ExtensionAPI, ExtensionContext


def extension(tau: ExtensionAPI) -> None:
    turns = 0

    @tau.on("turn_end")
    def count(event: TurnEnd, ctx: ExtensionContext) -> None:
        nonlocal turns
        turns += 1
        ctx.ui.footer([f"{turns} turns, {ctx.usage().percent} % of the context used"])
