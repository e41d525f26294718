"""Ask before commands that delete or publish."""

from tau.ext import Deny, ExtensionAPI, ExtensionContext, ToolCallEvent

RISKY = ("rm -rf", "git push", "npm publish")


def extension(tau: ExtensionAPI) -> None:
    @tau.on("tool_call")
    async def gate(event: ToolCallEvent, ctx: ExtensionContext) -> Deny | None:
        command = str(event.arguments.get("command", ""))
        if not any(word in command for word in RISKY) or await ctx.ui.confirm("Run this?", command):
            return None
        return Deny("The user did not allow this command.")
