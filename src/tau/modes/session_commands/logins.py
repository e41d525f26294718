"""Commands about logins to providers and their keys."""

import asyncio
import os
from typing import Literal

from msgspec import Struct

from tau.ai.catalog import Provider
from tau.base.late import late
from tau.modes.session_commands.command import CommandCall, CommandError, NoFields, command

config_logins = late("tau.config.logins")
pasted_key = late("tau.config.pasted_key")


LoginMethod = Literal["browser", "device", "key"]


class LoginProvider(Struct, frozen=True):
    """`available`: the login needs nothing more from the user; `authenticated`: a key or login is known."""

    id: str
    name: str
    available: bool
    authenticated: bool
    methods: list[LoginMethod]


class LoginProviders(Struct, frozen=True):
    providers: list[LoginProvider]


class LoginRequest(Struct, frozen=True, rename="camel"):
    """`key` is for the method key, `client_id` for the others, if the provider has none."""

    provider_id: str
    method: LoginMethod = "browser"
    key: str = ""
    client_id: str = ""


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
                ["browser", "device", "key"] if row.login.has_device_flow else ["browser", "key"],
            )
            for row in logins.catalog.providers.values()
            if row.login is not None
        ]
    )


async def login(call: CommandCall, request: LoginRequest) -> LoggedIn:
    with call.host.session.activities.quietly() as abort:  # ends with the session
        async with abort.scope():
            logins = await asyncio.to_thread(config_logins.Logins, call.host.paths, os.environ)
            row, client_id = logins.find(request.provider_id), request.client_id
            id, text = f"login-{row.id}", f"Log in to {row.name} in the browser."
            match request.method:
                case "browser":
                    async with logins.browser(row, client_id) as flow:
                        call.send(LoginPage(id, flow.url, text))
                        await logins.store_login(row, await flow.finish(), client_id)
                case "device":
                    async with logins.device(row, client_id) as device:
                        code = device.code
                        call.send(
                            LoginPage(id, code.full_url or code.url, f"{text} The code is {code.code}.")
                        )
                        await logins.store_login(row, await device.finish(), client_id)
                case "key":
                    await _store_key(logins, row, request.key)
    return LoggedIn(row.id)


async def _store_key(logins: "config_logins.Logins", row: Provider, text: str) -> None:
    key = pasted_key.clean_pasted_key(text)
    if problem := pasted_key.key_problem(key):
        raise CommandError(problem)
    check = await logins.check_key(row, key)
    if check.state == "rejected":
        raise CommandError(f"{check.problem} Nothing was stored.")
    await logins.store_key(row, key)


COMMANDS = (
    command(get_login_providers, "List the providers with a login"),
    command(
        login,
        "Log in to a provider: sends the page as `open_url`, answers when done; or store a key",
        slow=True,
    ),
)
