"""WhatsApp Web: a linked device, over neonize (whatsmeow)."""

import asyncio
import time
from base64 import b64decode, b64encode
from binascii import Error as InvalidBase64
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import suppress

from neonize.aioze.client import NewAClient
from neonize.events import ConnectedEv, DisconnectedEv, LoggedOutEv, MessageEv
from neonize.proto.Neonize_pb2 import JID, SendResponse
from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message
from neonize.utils.enum import ChatPresence, ChatPresenceMedia, ReceiptType

from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.tasks import spawn
from tau.relay.channels.channel import ChannelDown, ChannelLimits, ChannelLink, ChannelRejected, ChatChannel
from tau.relay.channels.connection import Backoff, Downloads, Inbox, http_client
from tau.relay.config import RelayHome
from tau.relay.log import RelayLog
from tau.relay.message import ChatFile, InboundMessage
from tau.relay.settings import RelayConfig

FIRST_S = 30
NEEDS_LOGIN = "WhatsApp is not linked; run tau relay login --channel whatsapp."
USERS, LIDS, GROUPS = "s.whatsapp.net", "lid", "g.us"
FILE_KINDS = ("imageMessage", "videoMessage", "audioMessage", "documentMessage", "stickerMessage")
MAX_SENT = 100


def new_client(home: RelayHome) -> NewAClient:
    return NewAClient(str(home.whatsapp))


class WhatsAppChannel(ChatChannel):
    name = "whatsapp"
    limits = ChannelLimits(text_units=4000)

    def __init__(self, config: RelayConfig, client: NewAClient, home: RelayHome, log: RelayLog) -> None:
        self._client = client
        self._home = home
        self._log = log
        self._backoff = Backoff(config.web.reconnect, config.web.heartbeat_seconds)
        self._downloads = Downloads(home.inbound, http_client(lambda host, port: False))
        self._inbox: Inbox[InboundMessage] = Inbox()
        self._up = asyncio.Event()
        self._fatal = ""
        self._keeper: asyncio.Task[None] | None = None
        self._sent: deque[str] = deque(maxlen=MAX_SENT)  # ids: our own messages come back

    async def start(self, link: ChannelLink) -> None:
        if not self._home.whatsapp.exists():
            raise TauError(NEEDS_LOGIN)
        self._link = link
        self._client.event(MessageEv)(self.take)
        self._client.event(ConnectedEv)(self._connected)
        self._client.event(DisconnectedEv)(self._disconnected)
        self._client.event(LoggedOutEv)(self._logged_out)
        self._client.event.qr(self._logged_out)  # it asks to be linked
        self._keeper = spawn(link.group, self._stay_connected())
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_S):
                await self._up.wait()
        if self._fatal:
            self._keeper.cancel()
            raise TauError(self._fatal)

    async def events(self) -> AsyncIterator[InboundMessage]:
        async for message in self._inbox.items():
            yield message
        if self._fatal:
            self._log.write("error", "whatsapp", self._fatal)

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        return await self._send(self._client.send_message(parse_jid(chat), Message(conversation=text)))

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        to = parse_jid(chat)
        match type.partition("/")[0]:
            case "image" if type != "image/gif":
                sending = self._client.send_image(to, data, caption=caption)
            case "video":
                sending = self._client.send_video(to, data, caption=caption)
            case "audio":
                sending = self._client.send_audio(to, data, ptt=type == "audio/ogg")
            case _:
                sending = self._client.send_document(
                    to, data, caption=caption, filename=name, title=name, mimetype=type
                )
        return await self._send(sending)

    async def fetch(self, file: ChatFile) -> ChatFile:
        try:
            message = Message.FromString(b64decode(file.token, validate=True))
        except (InvalidBase64, ValueError):
            raise ChannelRejected("the stored message cannot be read") from None
        try:
            data = await self._client.download_any(message)
        except Exception as error:  # neonize has no common class of errors
            raise ChannelRejected(str(error)) from None
        return self._downloads.keep(data or b"", message.documentMessage.fileName)

    async def typing(self, chat: str, on: bool) -> None:
        state = ChatPresence.CHAT_PRESENCE_COMPOSING if on else ChatPresence.CHAT_PRESENCE_PAUSED
        media = ChatPresenceMedia.CHAT_PRESENCE_MEDIA_TEXT
        await self._try(self._client.send_chat_presence(parse_jid(chat), state, media))

    async def mark_read(self, message: InboundMessage) -> None:
        sender = JID(User=message.sender.lstrip("+"), Server=USERS)
        read = self._client.mark_read(
            message.id, chat=parse_jid(message.chat), sender=sender, receipt=ReceiptType.READ
        )
        await self._try(read)

    async def close(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
        await self._try(self._client.stop())
        self._inbox.close()

    async def take(self, _: NewAClient, event: MessageEv) -> None:
        """A message came."""
        source, info = event.Info.MessageSource, event.Info
        body = _text(event.Message)
        files = [kind for kind in FILE_KINDS if event.Message.HasField(kind)]
        own = self._client.me.JID.User if self._client.me is not None else ""
        is_note = source.Chat.User == own and source.Chat.Server == USERS
        is_person = source.Chat.Server in (USERS, LIDS, GROUPS)
        if info.ID in self._sent or (source.IsFromMe and not is_note) or not is_person or not (body or files):
            return
        token = b64encode(event.Message.SerializeToString()).decode()
        number = await self._number(source.Sender, source.SenderAlt)
        mentioned = {one.partition("@")[0].partition(":")[0] for one in _mentions(event.Message)}
        ours = {own, self._client.me.LID.User} if self._client.me is not None else set()
        message = InboundMessage(
            channel=self.name,
            account=f"+{own}",
            id=info.ID,
            chat=f"{source.Chat.User}@{source.Chat.Server}",
            sender=number,
            body=body,
            sender_name=info.Pushname,
            is_group=source.IsGroup,
            group_name=source.Chat.User if source.IsGroup else "",
            mentioned=bool(mentioned & ours),
            files=tuple(ChatFile(type=getattr(event.Message, kind).mimetype, token=token) for kind in files),
            sent_ms=min(now_ms(), info.Timestamp * 1000 if info.Timestamp < 10**11 else info.Timestamp),
        )
        if not self._inbox.put(message):
            self._log.write("error", "whatsapp", "Too many messages at once; one was dropped", id=info.ID)

    async def _number(self, sender: JID, other: JID) -> str:
        """The number of a sender, who may hide behind an id; such an id has no plus sign."""
        for one in (sender, other):
            if one.Server == USERS:
                return f"+{one.User}"
        with suppress(Exception):
            found = await self._client.get_pn_from_lid(sender)
            if found.Server == USERS and found.User:
                return f"+{found.User}"
        return f"{sender.User}@{sender.Server}"

    async def _stay_connected(self) -> None:
        while not self._fatal:
            started = time.monotonic()
            try:
                await (await self._client.connect())
            except Exception as error:
                self._log.write("warn", "whatsapp", "not connected", reason=str(error))
            self._up.clear()
            wait_s = self._backoff.next_s(time.monotonic() - started)
            if wait_s is None:
                self._refuse("WhatsApp could not be reached; the relay stops trying.")
            elif not self._fatal:
                await asyncio.sleep(wait_s)
        self._inbox.close()

    async def _connected(self, *_: object) -> None:
        self._up.set()
        self._link.connected()

    async def _disconnected(self, *_: object) -> None:
        self._up.clear()

    async def _logged_out(self, *_: object) -> None:
        self._refuse(NEEDS_LOGIN)
        await self._try(self._client.stop())

    def _refuse(self, problem: str) -> None:
        self._fatal = self._fatal or problem
        self._up.set()  # ends the wait of start

    async def _send(self, sending: Coroutine[None, None, SendResponse]) -> str:
        if not self._up.is_set() or self._fatal:
            sending.close()
            raise ChannelDown("WhatsApp is not connected.")
        try:
            sent = await sending
        except Exception as error:
            raise TauError(f"WhatsApp did not confirm a message: {error}.") from None
        self._sent.append(sent.ID)
        return sent.ID

    async def _try(self, sending: Awaitable[None]) -> None:
        try:
            await sending
        except Exception as error:
            self._log.write("debug", "whatsapp", str(error))


def parse_jid(text: str) -> JID:
    """An address such as 15552223333@s.whatsapp.net, or a number."""
    user, _, server = text.partition("@")
    return JID(User=user.lstrip("+"), Server=server or USERS)


def _text(message: Message) -> str:
    texts = (
        message.conversation,
        message.extendedTextMessage.text,
        message.imageMessage.caption,
        message.videoMessage.caption,
        message.documentMessage.caption,
    )
    return next((text for text in texts if text), "")


def _mentions(message: Message) -> list[str]:
    kinds = (message.extendedTextMessage, message.imageMessage, message.videoMessage)
    return [one for kind in kinds for one in kind.contextInfo.mentionedJID]
