"""Hide e-mail addresses from the model."""

import re

from tau.ext import ExtensionAPI, ExtensionContext, ToolResultEvent


def extension(tau: ExtensionAPI) -> None:
    @tau.on("tool_result")
    def redact(event: ToolResultEvent, ctx: ExtensionContext) -> str | None:
        text = "\n".join(getattr(part, "text", "") for part in event.output.content)
        hidden = re.sub(r"[\w.+-]+@[\w-]+\.\w+", "[address]", text)
        return None if hidden == text else hidden
