"""The WhatsApp channel on neonize's own messages; the network needs a phone, so the client is a fake."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

with patch("os.popen", lambda command: StringIO()):  # it asks uname when imported, and closes nothing
    reason = "neonize is not installed; the extra whatsapp has it"
    pytest.importorskip("neonize.aioze.client", reason=reason)
from neonize.proto.Neonize_pb2 import JID, Device, MessageInfo, MessageSource, SendResponse
from neonize.proto.Neonize_pb2 import Message as MessageEv
from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import (
    ContextInfo,
    ExtendedTextMessage,
    ImageMessage,
    Message,
)

from tau.relay.channels.whatsapp import NEEDS_LOGIN, WhatsAppChannel
from tau.relay.relay import Relay
from tests.relay.chat import Chat
from tests.relay.test_xmpp import first_error
from tests.support.idle import until
from tests.support.limits import HANG_S

OWN, USER = "15550001111", "15552223333"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(200))


class FakeEvents:
    def __init__(self) -> None:
        self.by_type: dict[Any, Any] = {}
        self.on_qr: Any = None

    def __call__(self, type: Any) -> Any:
        return lambda function: self.by_type.__setitem__(type, function)

    def qr(self, function: Any) -> None:
        self.on_qr = function


class FakeClient:
    """What the channel uses of neonize's client."""

    def __init__(self, *, linked: bool = True) -> None:
        self.event = FakeEvents()
        self.me = Device(JID=JID(User=OWN, Server="s.whatsapp.net"), LID=JID(User="777", Server="lid"))
        self.sent: list[tuple[str, str]] = []
        self.files: list[tuple[str, str, bytes]] = []
        self.read: list[str] = []
        self.states: list[int] = []
        self.linked = linked
        self.broken = False
        self._end: asyncio.Future[None] | None = None

    async def connect(self) -> asyncio.Future[None]:
        self._end = asyncio.get_running_loop().create_future()
        from neonize.events import ConnectedEv

        if self.linked:
            await self.event.by_type[ConnectedEv](self, None)
        else:
            await self.event.on_qr(self, b"qr")
        return self._end

    async def stop(self) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(None)

    async def send_message(self, to: JID, message: Message) -> SendResponse:
        if self.broken:
            raise OSError("websocket closed")
        self.sent.append((to.User, message.conversation))
        return SendResponse(ID=f"OUT{len(self.sent)}")

    async def send_image(self, to: JID, file: bytes, caption: str) -> SendResponse:
        self.files.append((to.User, "image", file))
        return SendResponse(ID="FILE")

    async def send_chat_presence(self, jid: JID, state: Any, media: Any) -> None:
        self.states.append(state.value)

    async def mark_read(self, *ids: str, chat: JID, sender: JID, receipt: Any) -> None:
        self.read += ids

    async def download_any(self, message: Message) -> bytes:
        assert message.imageMessage.directPath == "/secret"
        return PICTURE

    async def get_pn_from_lid(self, jid: JID) -> JID:
        return JID(User=USER, Server="s.whatsapp.net")

    async def receive(self, message: Message, id: str, **source: Any) -> None:
        chat = source.pop("Chat", JID(User=USER, Server="s.whatsapp.net"))
        sender = source.pop("Sender", JID(User=USER, Server="s.whatsapp.net", Device=2))
        info = MessageInfo(
            MessageSource=MessageSource(Chat=chat, Sender=sender, **source), ID=id, Timestamp=1_900_000_000
        )
        from neonize.events import MessageEv as Kind

        await self.event.by_type[Kind](self, MessageEv(Info=info, Message=message))


@asynccontextmanager
async def running(folder: Path, client: FakeClient, **config: Any) -> AsyncIterator[tuple[Chat, Relay]]:
    inbound = {"allowFrom": [f"+{USER}"]}
    chat = Chat(folder, **{"inbound": inbound, "whatsapp": {"enabled": True}, **config})
    if client.linked:
        chat.home.whatsapp.touch()
    fake: Any = client
    chat.open = lambda log: WhatsAppChannel(chat.config, fake, chat.home, log)
    async with chat.running() as relay:
        await until(relay.outboxes["whatsapp"].connected.is_set, HANG_S, chat.log)
        yield chat, relay


def test_a_message_is_read_and_answered(tmp_path: Path) -> None:
    async def main() -> None:
        client = FakeClient()
        async with running(tmp_path / "r", client) as (chat, _):
            await client.receive(
                Message(conversation="evil"), "A0", Sender=JID(User="666", Server="s.whatsapp.net")
            )
            await client.receive(Message(conversation="hello"), "A1")
            await until(lambda: client.sent == [(USER, "hello")], HANG_S, chat.log)
            assert client.read == ["A1"]
            assert 0 in client.states

    asyncio.run(main())


def test_a_sender_behind_an_id_is_known_by_number(tmp_path: Path) -> None:
    async def main() -> None:
        client = FakeClient()
        async with running(tmp_path / "r", client) as (chat, _):
            lid = JID(User="999", Server="lid")
            await client.receive(Message(conversation="hello"), "A1", Chat=lid, Sender=lid)
            await until(lambda: client.sent == [("999", "hello")], HANG_S, chat.log)

    asyncio.run(main())


def test_messages_to_others_and_echoes_are_ignored(tmp_path: Path) -> None:
    async def main() -> None:
        client = FakeClient()
        own = JID(User=OWN, Server="s.whatsapp.net")
        async with running(tmp_path / "r", client, inbound={"allowFrom": ["*"]}) as (chat, _):
            await client.receive(Message(conversation="to a friend"), "A1", Sender=own, IsFromMe=True)
            status = JID(User="status", Server="broadcast")
            await client.receive(Message(conversation="story"), "A2", Chat=status)
            await client.receive(Message(conversation="note"), "A3", Chat=own, Sender=own, IsFromMe=True)
            await until(lambda: client.sent == [(OWN, "note")], HANG_S, chat.log)
            await client.receive(Message(conversation="note"), "OUT1", Chat=own, Sender=own, IsFromMe=True)
            await client.receive(Message(conversation="last"), "A4")
            await until(lambda: client.sent[1:] == [(USER, "last")], HANG_S, chat.log)

    asyncio.run(main())


def test_pictures_go_both_ways(tmp_path: Path) -> None:
    async def main() -> None:
        client = FakeClient()
        async with running(tmp_path / "r", client) as (chat, _):
            (chat.home.workspace / "dog.png").write_bytes(PICTURE)
            image = ImageMessage(caption="look", mimetype="image/png", directPath="/secret")
            await client.receive(Message(imageMessage=image), "A1")
            await until(lambda: len(client.sent) > 0, HANG_S, chat.log)
            [received] = chat.home.inbound.iterdir()
            assert received.read_bytes() == PICTURE
            await client.receive(Message(conversation="MEDIA:./dog.png"), "A2")
            await until(lambda: client.files == [(USER, "image", PICTURE)], HANG_S, chat.log)

    asyncio.run(main())


def test_a_group_is_answered_when_mentioned(tmp_path: Path) -> None:
    async def main() -> None:
        client = FakeClient()
        group = {"Chat": JID(User="team", Server="g.us"), "IsGroup": True}
        async with running(tmp_path / "r", client) as (chat, _):
            await client.receive(Message(conversation="it broke"), "A1", **group)
            context = ContextInfo(mentionedJID=["777@lid"])
            text = ExtendedTextMessage(text="@777 why?", contextInfo=context)
            await client.receive(Message(extendedTextMessage=text), "A2", **group)
            await until(lambda: len(client.sent) == 1, HANG_S, chat.log)
            assert client.sent[0][0] == "team"
            assert "it broke" in client.sent[0][1]

    asyncio.run(main())


def test_a_message_that_fails_is_uncertain(tmp_path: Path) -> None:
    async def main() -> None:
        client = FakeClient()
        async with running(tmp_path / "r", client) as (chat, relay):
            client.broken = True
            await client.receive(Message(conversation="hello"), "A1")
            await until(lambda: "websocket closed" in chat.log(), HANG_S, chat.log)
            assert [part.content for part in await relay.journal.uncertain()] == ["hello"]

    asyncio.run(main())


@pytest.mark.parametrize("has_file", [True, False])
def test_a_device_that_is_not_linked_says_how_to_log_in(tmp_path: Path, has_file: bool) -> None:
    async def main() -> None:
        client = FakeClient(linked=False)
        (tmp_path / "r" / "relay").mkdir(parents=True)
        if has_file:
            (tmp_path / "r" / "relay" / "whatsapp.db").touch()
        with pytest.raises(ExceptionGroup) as caught:
            async with running(tmp_path / "r", client):
                pass
        assert str(first_error(caught.value)) == NEEDS_LOGIN

    asyncio.run(main())
