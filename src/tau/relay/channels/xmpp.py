"""XMPP: chats and rooms, over one connection that stream management resumes."""

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

from slixmpp import JID
from slixmpp.exceptions import IqError, IqTimeout
from slixmpp.stanza import Message

from tau.base.clock import now_ms
from tau.base.errors import ConfigError, TauError
from tau.base.tasks import spawn
from tau.relay.channels.channel import ChannelDown, ChannelLimits, ChannelLink, ChatChannel
from tau.relay.channels.connection import Backoff, Inbox
from tau.relay.channels.xmpp_client import XmppClient, is_loopback
from tau.relay.channels.xmpp_files import XmppFiles
from tau.relay.config import RelayHome
from tau.relay.log import RelayLog
from tau.relay.message import ChatFile, InboundMessage
from tau.relay.settings import RelayConfig

UPLOAD, OOB = "urn:xmpp:http:upload:0", "jabber:x:oob"
DELAY = "{urn:xmpp:delay}delay"
STATES, RECEIPTS, MARKERS = (
    "http://jabber.org/protocol/chatstates",
    "urn:xmpp:receipts",
    "urn:xmpp:chat-markers:0",
)
FIRST_S = 30.0
ACK_S = 60.0
PAUSE_AT, RESUME_AT = 500, 100
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class XmppChannel(ChatChannel):
    name = "xmpp"
    limits = ChannelLimits(text_units=10_000)

    def __init__(self, config: RelayConfig, password: str, home: RelayHome, log: RelayLog) -> None:
        """Raises ConfigError."""
        settings = self._settings = config.xmpp
        host, _, port = settings.server.rpartition(":")
        if settings.server and not (host and port.isdigit()):
            raise ConfigError(f"xmpp.server must be HOST:PORT, not {settings.server}.")
        self._address = (host.strip("[]"), int(port)) if host else (None, None)
        local = is_loopback(host.strip("[]"))
        try:
            self._client = XmppClient(settings.jid, password, local=local, ca_file=settings.ca_file)
        except (ValueError, OSError, ssl.SSLError) as error:
            raise ConfigError(f"xmpp.jid or xmpp.caFile cannot be used: {error}.") from None
        self._rooms = dict.fromkeys(settings.rooms, settings.nick or self._client.boundjid.user)
        self._log = log
        self._inbox: Inbox[tuple[Message, InboundMessage]] = Inbox()
        self._backoff = Backoff(config.web.reconnect, config.web.heartbeat_seconds)
        self._up = asyncio.Event()
        self._ended = asyncio.Event()
        self._fatal = ""
        self._keeper: asyncio.Task[None] | None = None
        self._current: Message | None = None  # the one that the relay is storing
        self._files = XmppFiles(self._client, home.inbound, settings.ca_file)

    async def start(self, link: ChannelLink) -> None:
        client = self._client
        client.is_stored = lambda: self._inbox.size == 0 and self._current is None
        for event, react in {
            "session_start": self._begin,
            "session_resumed": self._resume,
            "disconnected": self._drop,
            "connection_failed": self._drop,
            "failed_all_auth": lambda _: self._refuse("refused the login"),
            "ssl_invalid_chain": lambda error: self._refuse(f"has no valid certificate: {error}"),
            "message": self._take,
            "message_error": self._bounce,
        }.items():
            client.add_event_handler(event, react)
        self._link = link
        self._keeper = spawn(link.group, self._stay_connected())
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_S):
                await self._up.wait()
        if self._fatal:
            self._keeper.cancel()
            raise TauError(self._fatal)

    async def events(self) -> AsyncIterator[InboundMessage]:
        async for stanza, message in self._inbox.items():
            self._current = stanza
            yield message
            self._current = None
            if self._inbox.size == 0:
                self._client.acknowledge()
            if self._inbox.size < RESUME_AT:
                self._client.pause(False)
        if self._fatal:
            self._log.write("error", "xmpp", self._fatal)

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        return await self._send(chat, NOT_XML.sub("\ufffd", text), key)

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        if not self._up.is_set():
            raise ChannelDown("XMPP is not connected.")
        url = await self._files.store(data, type, name)
        if caption:
            await self._send(chat, caption, f"{key}-caption")
        return await self._send(chat, url, key, is_file=True)

    async def fetch(self, file: ChatFile) -> ChatFile:
        return await self._files.fetch(file.url)

    async def typing(self, chat: str, on: bool) -> None:
        if self._up.is_set():
            message = self._stanza(chat)
            ElementTree.SubElement(message.xml, f"{{{STATES}}}{'composing' if on else 'active'}")
            message.send()

    async def mark_read(self, message: InboundMessage) -> None:
        stanza = self._current
        if stanza is None or message.is_group or not self._up.is_set():
            return
        for asked, answer in (
            (f"{{{RECEIPTS}}}request", "received"),
            (f"{{{MARKERS}}}markable", "displayed"),
        ):
            if stanza.xml.find(asked) is not None and stanza["id"]:
                namespace = asked[1:].partition("}")[0]
                reply = self._client.make_message(mto=stanza["from"], mtype="chat")
                ElementTree.SubElement(reply.xml, f"{{{namespace}}}{answer}", {"id": stanza["id"]})
                reply.send()

    async def close(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
        self._up.clear()
        await self._client.finish()
        await self._files.close()
        self._inbox.close()

    async def _stay_connected(self) -> None:
        while not self._fatal:
            started = time.monotonic()
            self._ended.clear()
            self._client.connect(*self._address)
            await self._ended.wait()
            self._client.cancel_connection_attempt()
            wait_s = self._backoff.next_s(time.monotonic() - started)
            if wait_s is None:
                self._refuse("could not be reached; the relay stops trying")
            elif not self._fatal:
                await asyncio.sleep(wait_s)
        self._inbox.close()

    async def _begin(self, _: object) -> None:
        if not self._link.listens:  # without presence, the server keeps messages
            self._resume(_)
            return
        self._client.send_presence()
        for room, nick in self._rooms.items():
            try:
                await self._client.plugin["xep_0045"].join_muc_wait(
                    JID(room), nick, seconds=1800, timeout=FIRST_S
                )
            except (TauError, TimeoutError, IqError, IqTimeout, ValueError) as error:
                self._log.write("error", "xmpp", f"The room {room} cannot be joined: {error}")
        self._resume(_)

    def _resume(self, _: object) -> None:
        self._up.set()
        self._link.connected()
        self._log.write("info", "xmpp", "connected")

    def _drop(self, reason: object) -> None:
        if not self._ended.is_set():
            self._log.write("warn", "xmpp", "not connected", reason=str(reason))
        if not isinstance(reason, ssl.SSLCertVerificationError):
            self._up.clear()
            self._ended.set()
        else:
            self._refuse(f"has no valid certificate: {reason.verify_message}")

    def _refuse(self, what: str) -> None:
        self._fatal = self._fatal or f"The XMPP server of {self._settings.jid} {what}."
        self._ended.set()
        self._up.set()  # ends the wait of start
        self._client.abort()

    def _take(self, stanza: Message) -> None:
        """Runs in the parser, when the names in a room are still those of this moment."""
        message = None
        if stanza["type"] in ("chat", "normal", "groupchat") and stanza["body"]:
            sender: JID = stanza["from"]
            is_room = sender.bare in self._rooms
            if stanza["type"] == "groupchat":
                message = self._room_message(stanza)
            elif not is_room and sender.bare != self._client.boundjid.bare:
                message = self._message(stanza, sender.bare)
        if message is not None:
            self._inbox.put((stanza, message))
            if self._inbox.size >= PAUSE_AT:
                self._client.pause(True)

    def _room_message(self, stanza: Message) -> InboundMessage | None:
        """In a room that hides addresses, and in its history, anyone may have had any name: the sender is
        the room itself."""
        room, nick = stanza["from"].bare, stanza["from"].resource
        rooms = self._client.plugin["xep_0045"]
        own = rooms.our_nicks[None].get(room, "")
        if not nick or nick == own or room not in self._rooms:
            return None
        address = None if stanza.xml.find(DELAY) is not None else rooms.get_jid_property(room, nick, "jid")
        mentioned = re.search(rf"(?<!\w){re.escape(own)}(?!\w)", stanza["body"], re.IGNORECASE)
        return self._message(
            stanza,
            address.bare if address else room,
            sender_name=nick,
            is_group=True,
            group_name=room,
            mentioned=mentioned is not None,
        )

    def _message(self, stanza: Message, sender: str, **more: Any) -> InboundMessage:
        chat: JID = stanza["from"]
        body: str = stanza["body"]
        url = stanza.xml.findtext(f"{{{OOB}}}x/{{{OOB}}}url") or ""
        delay = stanza.xml.find(DELAY)
        sent_ms = now_ms()
        if delay is not None:
            with suppress(ValueError):
                sent_ms = int(datetime.fromisoformat(delay.get("stamp", "")).timestamp() * 1000)
        return InboundMessage(
            channel=self.name,
            account=self._client.boundjid.bare,
            id=f"{chat.bare}/{stanza['id'] or uuid4()}",
            chat=chat.bare,
            sender=sender,
            body="" if url == body.strip() else body,
            files=(ChatFile(url=url),) if url else (),
            sent_ms=min(sent_ms, now_ms()),
            **more,
        )

    def _stanza(self, chat: str) -> Message:
        return self._client.make_message(mto=chat, mtype="groupchat" if chat in self._rooms else "chat")

    async def _send(self, chat: str, text: str, key: str, *, is_file: bool = False) -> str:
        """Send a message and wait until the server has it."""
        if not self._up.is_set() or self._fatal:
            raise ChannelDown("XMPP is not connected.")
        stanza = self._stanza(chat)
        stanza["id"], stanza["body"] = key, text
        ElementTree.SubElement(stanza.xml, f"{{{STATES}}}active")
        if is_file:
            place = ElementTree.SubElement(stanza.xml, f"{{{OOB}}}x")
            ElementTree.SubElement(place, f"{{{OOB}}}url").text = text
        if stanza["type"] == "chat":
            ElementTree.SubElement(stanza.xml, f"{{{RECEIPTS}}}request")
        await self._client.deliver(stanza)
        return key

    def _bounce(self, stanza: Message) -> None:
        reason = stanza["error"]["text"] or stanza["error"]["condition"]
        self._log.write("warn", "xmpp", "message returned", to=str(stanza["from"]), reason=reason)
