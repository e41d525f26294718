"""Adds a model server by its address: asks for the address, a key and a model, and writes models.json."""

import asyncio
import os
import re
from collections.abc import Callable, Collection, Sequence
from urllib.parse import SplitResult, urlsplit

from msgspec import MsgspecError, Raw, Struct, json

from tau.ai.http import HttpTransport
from tau.ai.transport import Timeouts
from tau.base import log
from tau.base.errors import TauError
from tau.base.text import clean_line
from tau.config.auth_file import AuthFile
from tau.config.json_file import change_json
from tau.config.pasted_key import clean_pasted_key, key_problem
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.basic import LinePanel
from tau.modes.interactive.selectors.pick_list import pick
from tau.tui.widgets.select_list import SelectItem

MAX_MODELS = 200
NO_KEY = "none"
"""What a server without keys is sent."""
_TIMEOUTS = Timeouts(connect=5, first_byte=5, idle=5)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class _ServedId(Struct, frozen=True):
    id: str


class _Listing(Struct, frozen=True):
    data: list[_ServedId]


async def add_server(context: CommandContext, known: Collection[str], address: str = "") -> str:
    """Ask for a server and one of its models; returns `provider/model`, or nothing if the user cancels.

    `known` are the ids of all providers. Raises TauError.
    """
    text = "The address of an OpenAI-compatible server, with /v1 if that is part of the path."
    typed = await _ask(context, "Server address", text, "https://models.example.com/v1", address, _objection)
    if typed is None:
        return ""
    url = _with_scheme(typed).rstrip("/")
    host = urlsplit(url).netloc
    enter = context.display.keys.label("tui.input.submit")
    text = f"Paste the key for {host}; it stays hidden. Press {enter} if the server needs none."
    given: str | None = await context.ask(
        lambda done: LinePanel(context.display, f"{host} key", text, done, mask=True, validate=_key_objection)
    )
    if given is None:
        return ""
    key = clean_pasted_key(given)
    model = await _choose_model(context, host, await _list_models(url, key))
    if not model:
        return ""
    provider = _provider_id(host, known)
    await asyncio.to_thread(_save, context, provider, url, key, model)
    return f"{provider}/{model}"


async def _ask(
    context: CommandContext,
    title: str,
    text: str,
    placeholder: str,
    prefill: str,
    validate: Callable[[str], str | None],
) -> str | None:
    return await context.ask(
        lambda done: LinePanel(
            context.display, title, text, done, placeholder=placeholder, prefill=prefill, validate=validate
        )
    )


async def _choose_model(context: CommandContext, host: str, ids: Sequence[str]) -> str:
    """One of those that the server lists; typed if it lists none."""
    if len(ids) == 1:
        return ids[0]
    if ids:
        items = [SelectItem(id, clean_line(id)) for id in ids]
        return await pick(context, f"Which model of {host}?", items, verb="use") or ""
    text = f"{host} did not list its models. Type the id of one."
    typed = await _ask(context, "Model", text, "qwen3-coder", "", lambda text: _no_text(text, "a model id"))
    return (typed or "").strip()


async def _list_models(url: str, key: str) -> list[str]:
    """The ids that the server lists; none if it does not answer. A key is not sent unencrypted."""
    parts = urlsplit(url)
    may_send = parts.scheme == "https" or parts.hostname in _LOOPBACK
    is_literal = bool(key) and not key.startswith("!") and key not in os.environ
    headers = {"accept": "application/json"}
    if may_send and is_literal:
        headers["authorization"] = f"Bearer {key}"
    transport = HttpTransport(os.environ)
    try:
        async with transport.open(
            "GET", f"{url}/models", headers=headers, body=None, timeouts=_TIMEOUTS
        ) as response:
            data = await response.read()
            listing = json.decode(data, type=_Listing) if response.status == 200 else _Listing([])
    except (TauError, MsgspecError, OSError) as error:
        log.warning(f"{url} does not list its models.", error)
        return []
    finally:
        await transport.close()
    return [row.id for row in listing.data[:MAX_MODELS] if row.id.strip()]


def _save(context: CommandContext, provider: str, url: str, key: str, model: str) -> None:
    entry: dict[str, object] = {"baseUrl": url, "api": "openai-completions", "models": [{"id": model}]}
    if not key:
        entry["apiKey"] = NO_KEY

    def change(members: dict[str, Raw]) -> None:
        providers = json.decode(members["providers"], type=dict[str, Raw]) if "providers" in members else {}
        providers[provider] = Raw(json.encode(entry))
        members["providers"] = Raw(json.encode(providers))

    change_json(context.paths.models, change)
    if key:
        AuthFile(context.paths.auth).set_key(provider, key)


def _provider_id(host: str, known: Collection[str]) -> str:
    """An id made from the host that no other provider has."""
    base = re.sub(r"[^a-z0-9]+", "-", host.rpartition("@")[2].lower()).strip("-") or "server"
    numbers = (base if number == 1 else f"{base}-{number}" for number in range(1, len(known) + 2))
    return next(id for id in numbers if id not in known)


def _objection(text: str) -> str | None:
    parts = _split(_with_scheme(text))
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return "Type an address that starts with https:// or http://."
    if parts.username or parts.password:
        return "Leave user name and password out of the address."
    return None


def _with_scheme(address: str) -> str:
    """`localhost:8080` is what people type; elsewhere keys need https. A mere word is no address."""
    address = address.strip()
    host = re.match(r"(\[[0-9a-f:]+\]|[\w.-]+)(:\d+)?(/|$)", address, re.IGNORECASE)
    if host is None:
        return address
    if host[1].strip("[]") in _LOOPBACK:
        return f"http://{address}"
    return f"https://{address}" if host[2] or "." in host[1] else address


def _split(text: str) -> SplitResult | None:
    try:
        return urlsplit(text)
    except ValueError:
        return None


def _key_objection(text: str) -> str | None:
    key = clean_pasted_key(text)
    return key_problem(key, os.environ) if key else None


def _no_text(text: str, what: str) -> str | None:
    return None if text.strip() else f"Type {what}."
