"""`/login` and `/logout`: API keys, typed unseen, and logins with a browser; stored in auth.json."""

import asyncio
import os
from collections.abc import Callable

from tau.ai.catalog import Catalog, Provider, load_catalog
from tau.base import log
from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.config.auth_file import AuthFile
from tau.config.json_file import read_json
from tau.config.models_file import load_models_file, merge_models
from tau.config.pasted_key import clean_pasted_key, key_problem, key_warning
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.basic import ChoicePanel, LinePanel
from tau.modes.interactive.dialogs.dialog_widgets import DialogChoice
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel
from tau.modes.interactive.selectors.pick_list import PickList
from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Paste
from tau.tui.widgets.select_list import SelectItem

config_logins = late("tau.config.logins")
custom_server = late("tau.modes.interactive.dialogs.custom_server")
oauth_login = late("tau.modes.interactive.dialogs.oauth_login")

OTHER_SERVER = "another server"
LEAST_KEY_CHARS = 20  # names of providers have blanks or are shorter


async def login(context: CommandContext, rest: str = "") -> None:
    """Store an API key or a login. Raises TauError."""
    catalog = known_providers(context)
    name = rest.strip()
    chosen = name if name else await choose_provider(context, catalog, other=True)
    if chosen == OTHER_SERVER or (name and catalog.provider(name) is None and _is_custom(context, name)):
        await _add_server(context, catalog, name if "://" in name else "")
        return
    row = _find_provider(context, chosen) if chosen else None
    if row is not None and (saved := await add_credential(context, row)):
        context.say(f"{saved}{_models(row)}")


async def logout(context: CommandContext, rest: str = "") -> None:
    """Remove an API key. Raises TauError."""
    catalog = known_providers(context)
    stored = [str(provider) for provider in read_json(context.paths.auth).content]
    name = rest.strip()
    if name:
        row = catalog.provider(name)
        provider = row.id if row is not None else name
        if provider not in stored:
            kept = f" Stored keys: {', '.join(stored)}." if stored else ""
            raise UsageError(f'No key stored for "{name}".{kept}{_still_set(row)}')
    else:
        if not stored:
            context.say(f"No keys are stored in {context.paths.auth}.")
            return
        provider = await _choose_stored(context, catalog, stored)
        if not provider:
            return
    await asyncio.to_thread(AuthFile(context.paths.auth).remove, provider)
    row = catalog.provider(provider)
    context.say(f"Removed the {row.name if row else provider} key.{_still_set(row)}")


def known_providers(context: CommandContext) -> Catalog:
    """Providers from the catalog and models.json. Raises ConfigError."""
    return merge_models(load_catalog(), load_models_file(context.paths.models))


async def _add_server(context: CommandContext, catalog: Catalog, address: str) -> None:
    """Add a server by its address; that of the session's model is the default."""
    session = context.session
    if not address and session is not None and session.model.custom_address:
        address = session.model.base_url
    model = await custom_server.add_server(context, catalog.providers, address)
    if model:
        context.say(
            f"Saved {model} to {context.paths.models}. Load it with /reload and choose it with /model."
        )


def _is_custom(context: CommandContext, name: str) -> bool:
    """Whether the name is an address, or the provider of a session with its own address."""
    session = context.session
    return "://" in name or (session is not None and session.model.custom_address and name == "custom")


async def choose_provider(context: CommandContext, catalog: Catalog, *, other: bool = False) -> str | None:
    """The id of the provider a key is for; None if the user cancels. `other` offers to type an address."""
    auth = AuthFile(context.paths.auth)

    def state(row: Provider) -> str:
        if stored := auth.credentials(row.id):
            return "logged in" if any(one.tokens for one in stored) else "key stored"
        return "key in environment" if _variable(row) else ""

    rows = [row for row in catalog.providers.values() if not row.local]
    items = [
        SelectItem(row.id, row.name, " or ".join(row.key_variables) or "auth.json", hint=state(row))
        for row in rows
    ]

    if other:
        items.append(SelectItem(OTHER_SERVER, "Another server", "type its address"))

    def make(done: Callable[[str | None], None]) -> Component:
        chosen = ProviderList(context.display, items, on_cancel=lambda: done(None))
        chosen.on_select = lambda item: done(item.value)
        hints = (Hint(CONFIRM, "select"), Hint(CANCEL, "cancel"))
        panel = Panel(context.display, "Which provider is the key for?", chosen, hints=hints, fit=chosen.fit)

        def refuse(key: str) -> None:
            likely = [row for row in rows if row.key_prefix and key.startswith(row.key_prefix)]
            if likely:
                chosen.select(max(likely, key=lambda row: len(row.key_prefix)).id)
            panel.tell("A pasted key is not shown here. Select its provider, then paste it again.", "info")

        chosen.on_pasted_key = refuse
        panel.takes_pasted_keys = False  # a terminal that does not mark pastes sends the key as typed
        return panel

    return await context.ask(make)


class ProviderList(PickList[str]):
    """A key pasted too early does not become the filter, which everybody can read."""

    on_pasted_key: Callable[[str], None]

    def handle_input(self, event: InputEvent) -> bool:
        if isinstance(event, Paste):
            key = clean_pasted_key(event.text)
            if len(key) >= LEAST_KEY_CHARS and len(key.split()) == 1:
                self.on_pasted_key(key)
                return True
        return super().handle_input(event)


async def add_credential(context: CommandContext, row: Provider) -> str:
    """Ask for a key or log in, and store it; says so, or nothing if the user cancels. Raises TauError."""
    way = await oauth_login.choose_way(context, row) if row.login is not None else "key"
    if way is None:
        return ""
    logins = config_logins.Logins(context.paths, os.environ)
    private = f"{context.paths.auth}, which only you can read."
    if way == "key":
        key = await _ask_key(context, row)
        if key is None:
            return ""
        checked = ""
        if row.key_check:
            check = await logins.check_key(row, key)
            if check.state == "rejected":
                raise TauError(f"{check.problem} Nothing was stored.")
            checked = " It works." if check.state == "valid" else " It could not be checked."
            if check.problem:
                log.warning(f"The {row.name} key could not be checked: {check.problem}")
        await logins.store_key(row, key)
        return f"Saved the {row.name} key to {private}{checked}"
    tokens = await oauth_login.log_in(context, logins, row, way)
    if tokens is None:
        return ""
    await logins.store_login(row, tokens)
    account = f" as {tokens.account}" if tokens.account else ""
    return f"Logged in to {row.name}{account}. Saved to {private}"


async def _ask_key(context: CommandContext, row: Provider) -> str | None:
    """A key, or the name of a variable or command with one; None if the user cancels."""
    doubted = ""

    def objection(text: str) -> str | None:
        nonlocal doubted
        key = clean_pasted_key(text)
        problem = key_problem(key, os.environ)
        doubt = key_warning(key, row.key_prefix)
        if problem is not None or doubt is None or key == doubted:
            return problem
        doubted = key
        return f"{doubt} Press {context.display.keys.label('tui.input.submit')} again to store it anyway."

    made = f" Create one at {row.key_page}." if row.key_page else ""
    text = (
        f"Paste the {row.name} key; it stays hidden.{made} A variable name, or a command after !, works too."
    )
    title = f"{row.name} key"
    typed: str | None = await context.ask(
        lambda done: LinePanel(context.display, title, text, done, mask=True, validate=objection)
    )
    return None if typed is None else clean_pasted_key(typed)


def _find_provider(context: CommandContext, name: str) -> Provider:
    row = config_logins.Logins(context.paths, os.environ).find(name)
    if row.local:
        raise TauError(f"{row.name} runs on this machine and needs no key.")
    return row


async def _choose_stored(context: CommandContext, catalog: Catalog, stored: list[str]) -> str:
    def label(provider: str) -> str:
        row = catalog.provider(provider)
        return row.name if row is not None else provider

    choices = [DialogChoice("", "Cancel"), *(DialogChoice(one, f"Remove {label(one)}") for one in stored)]
    title = "Which key do you want to remove?"
    return await context.ask(lambda done: ChoicePanel(context.display, title, "", choices, done)) or ""


def _variable(row: Provider | None) -> str:
    """The variable holding a key of this provider, if any."""
    names = row.key_variables if row is not None else []
    return next((name for name in names if os.environ.get(name, "").strip()), "")


def _still_set(row: Provider | None) -> str:
    variable = _variable(row)
    return f" The key in {variable} is still used." if variable else ""


def _models(row: Provider) -> str:
    return f" Choose one of its models with /model, such as {row.default_model}." if row.default_model else ""
