"""Files in XMPP chats: addresses in messages, and the upload service of the server."""

from contextlib import suppress
from pathlib import Path

from tau.base.errors import ProviderError
from tau.relay.channels.channel import ChannelDown, ChannelRejected
from tau.relay.channels.connection import Downloads, http_client, origin
from tau.relay.channels.xmpp_client import UPLOAD, XmppClient
from tau.relay.message import ChatFile


class XmppFiles:
    def __init__(self, client: XmppClient, folder: Path, ca_file: str) -> None:
        self._client = client
        self._service = ""
        self._origin = ("", 0)  # of what the service stores
        self._http = http_client(self._may_dial, ca_file)
        self._downloads = Downloads(folder, self._http)

    async def fetch(self, url: str) -> ChatFile:
        """Raises ChannelRejected."""
        with suppress(ChannelDown, ChannelRejected):
            await self._find_service()
        return await self._downloads.fetch(url)

    async def store(self, data: bytes, type: str, name: str) -> str:
        """Upload a file; returns its address. Raises ChannelDown, ChannelRejected."""
        await self._find_service()
        slot = await self._client.request_slot(self._service, name, len(data), type)
        try:
            headers = {**slot.headers, "content-type": type}
            async with self._http.open("PUT", slot.put, headers=headers, body=data) as response:
                if response.status >= 400:
                    raise ChannelRejected(f"The upload of {name} was refused with {response.status}.")
        except ProviderError as error:
            raise ChannelDown(f"The upload of {name} failed: {error}") from None
        return slot.get

    async def close(self) -> None:
        await self._http.close()

    async def _find_service(self) -> None:
        if not self._service:
            service = await self._client.find_service(UPLOAD)
            if not service:
                raise ChannelRejected("The XMPP server stores no files.")
            slot = await self._client.request_slot(service, "probe.txt", 1, "text/plain")
            self._origin = origin(slot.get)
            self._service = service

    def _may_dial(self, host: str, port: int) -> bool:
        """Our server's own upload service may be in a private network."""
        return self._origin == (host, port)
