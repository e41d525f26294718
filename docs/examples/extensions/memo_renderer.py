"""Draw the extension's own notes."""

from tau.ext import ExtensionAPI, ExtensionCommandContext, clean_line


def extension(tau: ExtensionAPI) -> None:
    tau.message_renderer(
        "memo", lambda message, theme: [theme["accent"](f"* {clean_line(str(message.content))}")]
    )

    @tau.command("memo")
    def memo(args: str, ctx: ExtensionCommandContext) -> None:
        """Tell the model something, without a turn."""
        tau.send_message(args, kind="memo")
