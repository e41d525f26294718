"""Refuse changes to some files."""

from tau.ext import Deny, ExtensionAPI, ExtensionContext, ToolCallEvent

PROTECTED = (".env", "node_modules/", ".git/")


def extension(tau: ExtensionAPI) -> None:
    @tau.on("tool_call")
    def protect(event: ToolCallEvent, ctx: ExtensionContext) -> Deny | None:
        path = str(event.arguments.get("path", ""))
        if event.name in ("write", "edit") and any(part in path for part in PROTECTED):
            return Deny(f"{path} is protected.")
        return None
