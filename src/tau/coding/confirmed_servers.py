"""Which model servers on this machine the user has confirmed: any program can listen on a port."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from tau.agent.ui import Ui
from tau.ai.local.discovery import DiscoveredServer
from tau.ai.model import Model
from tau.base import log
from tau.base.errors import TauError
from tau.base.text import reveal
from tau.config.json_file import change_json, read_json

ROOT = 0
YES, NO = "Yes, use it", "No"


class ConfirmedServers(Struct, frozen=True):
    """The user's answers, by address and owner, in a file."""

    path: Path

    def answer(self, server: DiscoveredServer) -> bool | None:
        """What the user said about this server; None if it was not asked."""
        try:
            stored = read_json(self.path).content.get(_key(server))
        except (TauError, OSError) as error:
            log.warning("The confirmed servers cannot be read.", error)
            return None
        return stored if isinstance(stored, bool) else None

    def remember(self, server: DiscoveredServer, use: bool) -> None:
        def change(members: dict[str, Raw]) -> None:
            members[_key(server)] = Raw(json.encode(use))

        try:
            change_json(self.path, change, mode=0o600)
        except (TauError, OSError) as error:
            log.warning("The answer about a model server cannot be saved.", error)


def _key(server: DiscoveredServer) -> str:
    return f"{server.base_url} of {'unknown' if server.owner is None else server.owner}"


def is_strangers(server: DiscoveredServer) -> bool:
    """Whether another user of this machine listens there."""
    return server.owner not in (None, ROOT, os.getuid())


def may_use_named(server: DiscoveredServer) -> bool:
    """Whether naming the server is enough: it is the user's or the system's own, or on another machine."""
    return server.owner in (ROOT, os.getuid()) or not server.is_local


def describe_stranger(server: DiscoveredServer) -> str:
    who = "another user" if is_strangers(server) else "a user that tau cannot determine"
    return (
        f"{server.name} at {server.base_url} belongs to {who}, so it is not used;"
        f" --base-url {server.base_url} uses it anyway."
    )


def confirmed(models: Sequence[Model]) -> list[Model]:
    """The models of a server that the user trusts."""
    return [replace(model, unconfirmed=False) for model in models]


async def ask_to_use(server: DiscoveredServer, servers: ConfirmedServers, ui: Ui | None) -> bool:
    """Whether the user wants this server; asks once and remembers the answer."""
    if is_strangers(server):
        return False
    known = servers.answer(server)
    if known is not None or ui is None:
        return bool(known)
    owner = {None: "unknown", ROOT: "root", os.getuid(): "you"}[server.owner]
    models = ", ".join(model.id for model in server.models[:3])
    title = (
        f"Use {server.name} at {server.base_url}?\n"
        f"A program on this machine answers there (owner: {owner}; models: {reveal(models)}). "
        "It would read your messages and files and propose commands."
    )
    answer = await ui.select(title, (YES, NO))
    if answer is None:
        return False
    servers.remember(server, answer == YES)
    return answer == YES
