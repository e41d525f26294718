"""Look at the work tree every minute."""

from tau.ext import ExtensionAPI, ExtensionContext, SessionStart


def extension(tau: ExtensionAPI) -> None:
    async def check() -> None:
        changed = await tau.exec(["git", "status", "--porcelain"])
        count = len(changed.output.splitlines())
        tau.context.ui.status("changes", f"{count} changed files" if count else None)

    @tau.on("session_start")
    def start(event: SessionStart, ctx: ExtensionContext) -> None:
        tau.every(60, check)
