"""Fill the editor from a list."""

from tau.ext import ExtensionAPI, ExtensionCommandContext

TEMPLATES = {"review": "Review the changes of this branch.", "explain": "Explain how this project starts."}


def extension(tau: ExtensionAPI) -> None:
    @tau.command("template", complete=lambda typed: list(TEMPLATES.items()))
    async def template(args: str, ctx: ExtensionCommandContext) -> None:
        """Put a prompt into the editor."""
        name = args or await ctx.ui.select("Which prompt?", list(TEMPLATES))
        if name in TEMPLATES:
            ctx.ui.set_editor(TEMPLATES[name])
