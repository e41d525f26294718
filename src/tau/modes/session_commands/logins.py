"""Commands about logins to providers; keys are stored with `tau login`."""

import asyncio
import os
from typing import Literal

from msgspec import Struct

from tau.base.late import late
from tau.modes.session_commands.command import CommandCall, NoFields, SessionCommand

config_logins = late("tau.config.logins")


class LoginProvider(Struct, frozen=True):
    """`available`: the login needs nothing more from the user; `authenticated`: a key or login is known."""

    id: str
    name: str
    available: bool
    authenticated: bool


class LoginProviders(Struct, frozen=True):
    providers: list[LoginProvider]


class LoginRequest(Struct, frozen=True, rename="camel"):
    provider_id: str


class LoggedIn(Struct, frozen=True, rename="camel"):
    provider_id: str


class LoginPage(Struct, frozen=True, tag_field="type", tag="extension_ui_request"):
    """A page for the program to open in a browser on this machine; it is not answered."""

    id: str
    url: str
    instructions: str
    method: Literal["open_url"] = "open_url"


async def get_login_providers(call: CommandCall, request: NoFields) -> LoginProviders:
    logins = await asyncio.to_thread(config_logins.Logins, call.host.paths, os.environ)
    return LoginProviders(
        [
            LoginProvider(
                row.id,
                row.name,
                row.login.kind == "openrouter" or bool(row.login.client_id),
                bool(logins.auth.credentials(row.id) or logins.variable(row)),
            )
            for row in logins.catalog.providers.values()
            if row.login is not None
        ]
    )


async def login(call: CommandCall, request: LoginRequest) -> LoggedIn:
    with call.host.session.activities.quietly() as abort:  # ends with the session
        async with abort.scope():
            logins = await asyncio.to_thread(config_logins.Logins, call.host.paths, os.environ)
            row = logins.find(request.provider_id)
            async with logins.browser(row) as flow:
                call.send(LoginPage(f"login-{row.id}", flow.url, f"Log in to {row.name} in the browser."))
                tokens = await flow.finish()
            await logins.store_login(row, tokens)
    return LoggedIn(row.id)


COMMANDS = (
    SessionCommand(
        name="get_login_providers",
        summary="List the providers with a login",
        request=NoFields,
        response=LoginProviders,
        run=get_login_providers,
    ),
    SessionCommand(
        name="login",
        summary="Log in to a provider: sends the page to open as `open_url`, and answers when it is done",
        request=LoginRequest,
        response=LoggedIn,
        run=login,
        slow=True,
    ),
)
