"""slixmpp's client as the relay uses it: TLS off this machine, and no receipt for what is not stored yet."""

import asyncio
import ipaddress
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple
from xml.etree import ElementTree

from slixmpp import JID, ClientXMPP
from slixmpp.exceptions import IqError, IqTimeout
from slixmpp.plugins.xep_0198 import stanza as acks
from slixmpp.stanza import Message
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from tau.base.errors import TauError
from tau.relay.channels.channel import ChannelDown, ChannelRejected

RESOURCE = "tau-relay"  # always the same: a new connection takes over what the last one did not confirm
UPLOAD = "urn:xmpp:http:upload:0"
REQUEST_S = 20
ACK_S = 60


class UploadSlot(NamedTuple):
    put: str
    get: str
    headers: dict[str, str]


class XmppClient(ClientXMPP):
    """`is_stored` says whether all messages so far are in the journal."""

    def __init__(self, jid: str, password: str, *, local: bool, ca_file: str) -> None:
        """Raises ValueError for an address, OSError for certificates."""
        context = ssl.create_default_context()
        if ca_file:
            context.load_verify_locations(ca_file)
        clear = {"unencrypted_plain": local, "unencrypted_scram": local}
        super().__init__(
            f"{jid.partition('/')[0]}/{RESOURCE}",
            password,
            plugin_config={"feature_mechanisms": clear},
            ssl_context=context,
        )
        self.enable_plaintext = local
        self.enable_direct_tls = not local
        self.auto_authorize = None  # strangers get no answer, not even to a subscription
        self.auto_subscribe = False
        self._acks: dict[str, asyncio.Future[None]] = {}
        self.is_stored: Callable[[], bool] = lambda: True
        self._owes_ack = False
        for plugin in ("xep_0030", "xep_0045", "xep_0198"):
            self.register_plugin(plugin)
        self.register_plugin("xep_0199", {"keepalive": True, "interval": 180})
        self.add_event_handler("stanza_acked", self._acked)
        self.add_event_handler("session_end", self._lost)
        self.remove_handler("Stream Management Request Ack")
        self.register_handler(
            Callback(
                "Requested Ack", MatchXPath(acks.RequestAck.tag_name()), self._ack_requested, instream=True
            )
        )

    def _ack_requested(self, _: object) -> None:
        self._owes_ack = True
        self.acknowledge()

    def acknowledge(self) -> None:
        """Confirm what came, if the server has asked and it is stored."""
        if self._owes_ack and self.is_stored():
            self._owes_ack = False
            self.plugin["xep_0198"].send_ack()  # type: ignore[no-untyped-call]

    async def deliver(self, stanza: Message) -> None:
        """Send a message and wait until the server has it, if the server can say so.

        Raises TauError if the connection is lost for good before that: nobody knows whether it arrived.
        """
        acked = self._acks[stanza["id"]] = asyncio.get_running_loop().create_future()
        try:
            stanza.send()
            await self.waiting_queue.join()
            if "stream_management" not in self.features:
                return
            if self.transport is not None:
                self.plugin["xep_0198"].request_ack()  # type: ignore[no-untyped-call]
            async with asyncio.timeout(ACK_S):
                await acked
        except TimeoutError:
            raise TauError("The XMPP server did not confirm a message.") from None
        finally:
            del self._acks[stanza["id"]]

    def _acked(self, stanza: object) -> None:
        future = self._acks.get(stanza["id"]) if isinstance(stanza, Message) else None
        if future is not None and not future.done():
            future.set_result(None)

    def _lost(self, _: object) -> None:
        for future in self._acks.values():
            if not future.done():
                future.set_exception(TauError("The XMPP server was lost before it confirmed a message."))

    def pause(self, on: bool) -> None:
        """Stop reading, or read on."""
        if self.transport is not None and self.transport.is_reading() == on:
            self.transport.pause_reading() if on else self.transport.resume_reading()

    async def find_service(self, feature: str) -> str:
        """The component of our server that has a feature; empty if there is none."""
        disco = self.plugin["xep_0030"]
        with suppress(IqError, IqTimeout):
            found = await disco.get_items(JID(self.boundjid.host), timeout=REQUEST_S)
            for jid, _, _ in found["disco_items"]["items"]:
                with suppress(IqError, IqTimeout):
                    info = await disco.get_info(jid, timeout=REQUEST_S)
                    if feature in info["disco_info"]["features"]:
                        return str(jid)
        return ""

    async def request_slot(self, service: str, name: str, size: int, type: str) -> UploadSlot:
        """A place for one file. Raises ChannelDown, ChannelRejected."""
        iq = self.make_iq_get(ito=service)
        fields = {"filename": name, "size": str(size), "content-type": type}
        iq.append(ElementTree.Element(f"{{{UPLOAD}}}request", fields))
        try:
            reply = await iq.send(timeout=REQUEST_S)  # type: ignore[no-untyped-call]
        except IqError as error:
            raise ChannelRejected(f"The XMPP server does not store {name}: {error.condition}.") from None
        except IqTimeout:
            raise ChannelDown("The upload service does not answer.") from None
        slot = reply.xml.find(f"{{{UPLOAD}}}slot")
        put, get = (slot.find(f"{{{UPLOAD}}}{one}") if slot is not None else None for one in ("put", "get"))
        if put is None or get is None:
            raise ChannelRejected("The upload service gave no address.")
        headers = {one.get("name", ""): one.text or "" for one in put}
        return UploadSlot(put.get("url", ""), get.get("url", ""), headers)

    async def finish(self) -> None:
        """End the stream and slixmpp's own task."""
        self.cancel_connection_attempt()
        if self.transport is not None:
            await self.disconnect(wait=1)
        if (sender := self._run_out_filters) is not None:
            sender.cancel()
            await asyncio.wait([sender])


def is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
