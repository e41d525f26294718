"""Summarize with the first line of each of the user's messages."""

from tau import UserMessage
from tau.ext import BeforeCompact, CompactionReply, ExtensionAPI, ExtensionContext


def extension(tau: ExtensionAPI) -> None:
    @tau.on("session_before_compact")
    def summarize(event: BeforeCompact, ctx: ExtensionContext) -> CompactionReply:
        asked = [
            str(one.content).partition("\n")[0] for one in event.messages if isinstance(one, UserMessage)
        ]
        return CompactionReply(
            summary="The user asked, in order:\n" + "\n".join(f"- {line}" for line in asked)
        )
