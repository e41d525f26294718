"""The command /browser."""

from tau.base.errors import UsageError
from tau.modes.interactive.command_context import CommandContext

MODES = ("headless", "visible")
NO_BROWSER = "There is no browser: install Chromium and the extra tau-agent[browser], or turn it on."


async def browser(context: CommandContext, rest: str) -> None:
    """Raises UsageError."""
    found = context.require_session().browser
    if found is None:
        raise UsageError(NO_BROWSER)
    wanted = rest.strip().lower()
    if wanted not in ("", *MODES):
        raise UsageError("Use /browser headless or /browser visible.")
    if wanted:
        await found.show(wanted == "visible")
    context.say(f"New tabs are {MODES[found.is_visible]} in this session; browser.headless is the default.")
