"""The resources of a server: their names for completions, and changes of those that were read."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tau.base import log
from tau.base.errors import TauError
from tau.base.text import clean_line
from tau.ext.mcp.client import McpClient
from tau.ext.mcp.messages import MAX_URI_CHARS, text_at

MAX_RESOURCES = 500
MAX_WATCHED = 100
LISTEN_S = 86_400.0
UPDATED = "notifications/resources/updated"


class ServerResources:
    """`spawn` starts work that ends with the connection."""

    def __init__(
        self, server: str, spawn: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
    ) -> None:
        self._server = server
        self._spawn = spawn
        self._watched: dict[str, None] = {}  # URIs whose changes the server tells
        self._listening: asyncio.Task[None] | None = None
        self.names: list[tuple[str, str]] = []  # addresses and descriptions

    def connected(self, client: McpClient) -> None:
        """Subscribe to what was watched before, and to changes of lists."""
        self._listening = None
        self._listen_to(client)
        if not client.info.is_modern:
            for uri in self._watched:
                self._spawn(self._subscribe(client, uri))
        self.list_soon(client)

    def list_soon(self, client: McpClient) -> None:
        if client.info.offers("resources"):
            self._spawn(self._list(client))

    def watch(self, client: McpClient | None, uri: str) -> None:
        """Have the server tell changes of a resource, if it does that; of the last hundred."""
        if uri in self._watched or client is None or not client.info.offers("resources", "subscribe"):
            return
        while len(self._watched) >= MAX_WATCHED:
            self._watched.pop(next(iter(self._watched)))
        self._watched[uri] = None
        if client.info.is_modern:
            self._listen_to(client)
        else:
            self._spawn(self._subscribe(client, uri))

    def is_watched(self, uri: str) -> bool:
        return uri in self._watched

    def _listen_to(self, client: McpClient) -> None:
        """The newest revision tells changes only to those who ask; the request lasts."""
        if not client.info.is_modern or not (client.info.offers("tools", "listChanged") or self._watched):
            return
        if self._listening is not None:
            self._listening.cancel()
        self._listening = self._spawn(self._listen(client))

    async def _listen(self, client: McpClient) -> None:
        wanted: dict[str, object] = {"toolsListChanged": True, "promptsListChanged": True}
        if self._watched:
            wanted["resourceSubscriptions"] = list(self._watched)
        try:
            await client.request("subscriptions/listen", {"notifications": wanted}, timeout_s=LISTEN_S)
        except TauError as error:
            log.debug(f"The MCP server {self._server} does not tell its changes.", error)

    async def _subscribe(self, client: McpClient, uri: str) -> None:
        try:
            await client.request("resources/subscribe", {"uri": uri})
        except TauError as error:
            log.debug(f"The MCP server {self._server} does not tell changes of {uri}.", error)

    async def _list(self, client: McpClient) -> None:
        """Nobody waits for these."""
        try:
            found = await client.list_all("resources", limit=MAX_RESOURCES)
        except TauError as error:
            log.debug(f"The resources of the MCP server {self._server} could not be listed.", error)
            return
        self.names = [
            (f"mcp://{self._server}/{clean_line(uri)}", clean_line(text_at(one, "name", 100)))
            for one in found
            if (uri := text_at(one, "uri", MAX_URI_CHARS))
        ]


class ResourceNotes:
    """Tells the model what has changed, after a pause in which more may change."""

    def __init__(self, note: Callable[[str], None], pause_s: float) -> None:
        self._note = note
        self._pause_s = pause_s
        self._changed: dict[str, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, server: str, uri: str) -> None:
        self._changed[f"mcp://{server}/{clean_line(uri)}"] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._tell)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self) -> None:
        changed, self._changed, self._timer = list(self._changed), {}, None
        self._note(f"Changed since you read it: {', '.join(changed)}")
