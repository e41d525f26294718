"""Ask before another session replaces a long one."""

from tau.ext import BeforeLeave, Deny, ExtensionAPI, ExtensionContext


def extension(tau: ExtensionAPI) -> None:
    @tau.on("session_before_switch")
    async def keep(event: BeforeLeave, ctx: ExtensionContext) -> Deny | None:
        if len(ctx.session.messages()) < 20 or await ctx.ui.confirm("Leave this session?"):
            return None
        return Deny()
