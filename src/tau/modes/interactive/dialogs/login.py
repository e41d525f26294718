"""`/login` and `/logout`: keys of providers, typed where nobody can read them, kept in auth.json."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from tau.ai.catalog import Catalog, Provider, load_catalog
from tau.base.errors import TauError, UsageError
from tau.config.auth_file import AuthFile
from tau.config.json_file import read_json
from tau.config.models_file import load_models_file, merge_models
from tau.config.pasted_key import KEY_PAGES, clean_pasted_key, key_problem, key_warning
from tau.modes.interactive.dialogs.basic import ChoicePanel, LinePanel
from tau.modes.interactive.dialogs.parts import DialogChoice
from tau.modes.interactive.selectors.pick_list import pick
from tau.tui.component import Component
from tau.tui.widgets.select_list import SelectItem

if TYPE_CHECKING:
    from tau.modes.interactive.command_context import CommandContext

NO_OAUTH = (
    "Only API keys can be used. A login with a subscription in the browser is not there yet; "
    "make a key on the provider's page instead."
)


async def login(context: "CommandContext", rest: str = "") -> None:
    """Store a key. Raises TauError."""
    catalog = known_providers(context)
    name = rest.strip()
    row = _named(catalog, name) if name else await choose_provider(context, catalog)
    if row is None or not await store_key(context, row):
        return
    context.say(
        f"The key of {row.name} is stored in {context.paths.auth}, which only you can read.{_models(row)}"
    )


async def logout(context: "CommandContext", rest: str = "") -> None:
    """Forget a key. Raises TauError."""
    catalog = known_providers(context)
    stored = [str(provider) for provider in read_json(context.paths.auth).content]
    name = rest.strip()
    if name:
        row = catalog.provider(name)
        provider = row.id if row is not None else name
        if provider not in stored:
            kept = f" There are keys of {', '.join(stored)}." if stored else ""
            raise UsageError(f'No key of "{name}" is stored.{kept}{_still_set(row)}')
    else:
        if not stored:
            context.say(f"No keys are stored in {context.paths.auth}.")
            return
        provider = await _choose_stored(context, catalog, stored)
        if not provider:
            return
    await asyncio.to_thread(AuthFile(context.paths.auth).remove, provider)
    row = catalog.provider(provider)
    context.say(f"The key of {row.name if row else provider} is forgotten.{_still_set(row)}")


def known_providers(context: "CommandContext") -> Catalog:
    """Those of the table and of models.json. Raises ConfigError."""
    return merge_models(load_catalog(), load_models_file(context.paths.models))


async def choose_provider(context: "CommandContext", catalog: Catalog) -> Provider | None:
    """Which provider a key is for; None if the person turns away."""
    auth = AuthFile(context.paths.auth)

    def state(row: Provider) -> str:
        if auth.get_all(row.id):
            return "key stored"
        return "key in the environment" if _variable(row) else ""

    rows = [row for row in catalog.providers.values() if not row.local]
    items = [
        SelectItem(row.id, row.name, " or ".join(row.key_variables) or "auth.json", hint=state(row))
        for row in rows
    ]

    chosen = await pick(context, "Whose key is it?", items, verb="take it")
    return None if chosen is None else catalog.provider(chosen)


async def store_key(context: "CommandContext", row: Provider) -> bool:
    """Ask for a key and keep it; False if the person turns away. Raises TauError."""
    doubted = ""

    def objection(text: str) -> str | None:
        nonlocal doubted
        key = clean_pasted_key(text)
        problem = key_problem(key, os.environ)
        doubt = key_warning(key, row.id)
        if problem is not None or doubt is None or key == doubted:
            return problem
        doubted = key
        return (
            f"{doubt} Press {context.display.keys.label('tui.input.submit')} again to store it all the same."
        )

    page = KEY_PAGES.get(row.id)
    made = f" One is made at {page}." if page else ""
    text = (
        f"Paste the key of {row.name}; it is not shown.{made} The name of a variable, or a command "
        f"behind the sign !, can stand for it.\n{NO_OAUTH}"
    )

    def make(done: Callable[[str | None], None]) -> Component:
        return LinePanel(context.display, f"Key of {row.name}", text, done, mask=True, validate=objection)

    typed = await context.ask(make)
    if typed is None:
        return False
    await asyncio.to_thread(AuthFile(context.paths.auth).set_key, row.id, clean_pasted_key(typed))
    return True


def _named(catalog: Catalog, name: str) -> Provider:
    row = catalog.provider(name)
    if row is None:
        raise UsageError(f'There is no provider "{name}"; there are {", ".join(catalog.providers)}.')
    if row.local:
        raise TauError(f"{row.name} runs on this machine and needs no key.")
    return row


async def _choose_stored(context: "CommandContext", catalog: Catalog, stored: list[str]) -> str:
    def label(provider: str) -> str:
        row = catalog.provider(provider)
        return row.name if row is not None else provider

    def make(done: Callable[[str | None], None]) -> Component:
        choices = [
            DialogChoice("", "None of them"),
            *(DialogChoice(one, f"Forget {label(one)}") for one in stored),
        ]
        return ChoicePanel(
            context.display,
            "Which key is to be forgotten?",
            "",
            choices,
            on_answer=lambda choice: done(choice.value),
            on_cancel=lambda: done(None),
        )

    return await context.ask(make) or ""


def _variable(row: Provider | None) -> str:
    """The variable that holds a key of this provider, if one does."""
    names = row.key_variables if row is not None else []
    return next((name for name in names if os.environ.get(name, "").strip()), "")


def _still_set(row: Provider | None) -> str:
    variable = _variable(row)
    return f" The one in the variable {variable} is still used." if variable else ""


def _models(row: Provider) -> str:
    return f" /model chooses one of its models, such as {row.default_model}." if row.default_model else ""
