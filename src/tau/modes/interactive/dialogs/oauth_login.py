"""The dialogs of a login with a browser: the page to open, and what the user pastes."""

import asyncio
from collections.abc import Awaitable, Callable

from tau.ai.auth import LoginTokens
from tau.ai.catalog import Provider
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.tasks import spawn
from tau.config.logins import Logins
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.basic import ChoicePanel, LinePanel
from tau.modes.interactive.dialogs.dialog_widgets import DialogChoice
from tau.tui.component import Component

clipboard = late("tau.modes.interactive.composer.clipboard")

BROWSER, DEVICE, KEY = "browser", "device", "key"

_Close = Callable[[str | None], None]


async def choose_way(context: CommandContext, row: Provider) -> str | None:
    """Ask how to log in, if there is a choice; None if the user cancels."""
    login = row.login
    if login is None:
        return KEY
    choices = [DialogChoice(BROWSER, "Log in with a browser")]
    if login.has_device_flow:
        choices.append(DialogChoice(DEVICE, "Log in with a code on another device"))
    choices.append(DialogChoice(KEY, "Paste an API key"))
    title = f"Log in to {row.name}"
    return await context.ask(lambda done: ChoicePanel(context.display, title, "", choices, done))


async def log_in(context: CommandContext, logins: Logins, row: Provider, way: str) -> LoginTokens | None:
    """The tokens of a login; None if the user cancels. Raises TauError."""
    title = f"Log in to {row.name}"
    if way == DEVICE:
        async with logins.device(row) as device:
            text = f"Open {device.code.url} on any device and enter the code {device.code.code}"
            choices = [DialogChoice(None, "Cancel")]
            return await _wait(
                context, device.finish, lambda done: ChoicePanel(context.display, title, text, choices, done)
            )
    async with logins.browser(row) as flow:
        copied = await clipboard.copy_text(flow.url, context.display.terminal)
        text = (
            f"Open this page in a browser. {copied}\n\n{flow.url}\n\n"
            "If the browser is on another machine, paste the address it ends up at."
        )
        return await _wait(
            context,
            flow.finish,
            lambda done: LinePanel(context.display, title, text, done, validate=flow.paste),
        )


async def _wait(
    context: CommandContext, finish: Callable[[], Awaitable[LoginTokens]], make: Callable[[_Close], Component]
) -> LoginTokens | None:
    """Show a dialog until the login is finished or the user cancels."""
    shown: list[_Close] = []

    async def outcome() -> LoginTokens | TauError:
        try:
            return await finish()
        except TauError as error:
            return error
        finally:
            for close in shown:
                close(None)

    def show(done: _Close) -> Component:
        shown.append(done)
        return make(done)

    async with asyncio.TaskGroup() as group:
        finishing = spawn(group, outcome())
        typed = await context.ask(show)
        if typed is None and not finishing.done():
            finishing.cancel()
            return None
        tokens = await finishing
    if isinstance(tokens, TauError):
        raise tokens
    return tokens
