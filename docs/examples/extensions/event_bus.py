"""Two halves that talk to each other."""

from tau.ext import ExtensionAPI, ExtensionCommandContext


def extension(tau: ExtensionAPI) -> None:
    tau.events.on("timer", lambda seconds: tau.log.info(f"{seconds} s have passed"))

    @tau.command("tick")
    def tick(args: str, ctx: ExtensionCommandContext) -> None:
        """Send an event to the other half."""
        tau.events.emit("timer", int(args or 1))
