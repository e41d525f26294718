"""Expand ticket numbers in what the user types."""

import re

from tau.ext import ExtensionAPI, ExtensionContext, UserInput


def extension(tau: ExtensionAPI) -> None:
    @tau.on("input")
    def expand(event: UserInput, ctx: ExtensionContext) -> str:
        return re.sub(r"#(\d+)", r"https://tickets.example/\1", event.text)
