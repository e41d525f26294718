"""The XMPP channel with a real server."""

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tau.relay.channels.channel import ChatChannel
from tau.relay.log import RelayLog
from tau.relay.relay import Relay
from tests.relay.chat import Chat
from tests.relay.test_live_agents import AGENT
from tests.relay.xmpp_server import XmppServer, XmppUser
from tests.support.idle import until
from tests.support.limits import HANG_S

ROOM = "team@rooms.localhost"


def xmpp_chat(folder: Path, server: XmppServer, **config: Any) -> Chat:
    """A relay that answers as bot@localhost."""
    from tau.relay.channels.xmpp import XmppChannel

    account = {"jid": "bot@localhost", "server": server.address, **config.pop("xmpp", {})}
    web = {"reconnect": {"initialMs": 250, "maxMs": 500, "maxAttempts": 0}}
    config = {"inbound": {"allowFrom": ["xmpp:ann@localhost"]}, **config}
    chat = Chat(folder, xmpp=account, web=web, **config)

    def open(log: RelayLog) -> ChatChannel:
        return XmppChannel(chat.config, "bot-password", chat.home, log)

    chat.open = open
    return chat


@asynccontextmanager
async def running(chat: Chat) -> AsyncIterator[Relay]:
    async with chat.running() as relay:
        channel: Any = relay.channels["xmpp"]
        await until(lambda: channel._up.is_set(), HANG_S, chat.log)
        yield relay


def test_a_chat_is_answered_with_typing_and_a_receipt(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server)

    async def main() -> None:
        async with server, running(chat), XmppUser(server) as ann, XmppUser(server, "eve") as eve:
            eve.say("let me in", id="e1")
            ann.say("hello", id="m1")
            assert await ann.wait(1) == ["hello"]
            ann.say("sleep")
            await until(lambda: len(chat.prompts()) == 2, HANG_S, chat.log)
            ann.say("stop")
            assert (await ann.wait(2))[1] == "Agent was aborted."
            assert "composing" in ann.states
            assert "m1" in ann.receipts
            assert eve.texts == eve.states == eve.receipts == []

    asyncio.run(main())


def test_pictures_go_both_ways(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server)
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))

    async def main() -> None:
        async with server, running(chat), XmppUser(server) as ann:
            url = await ann.upload(picture, "cat.png")
            ann.say(url, url=url)
            assert "[media attached: " in (await ann.wait(1))[0]
            [received] = chat.home.inbound.iterdir()
            assert (received.suffix, received.read_bytes()) == (".png", picture)
            (chat.home.workspace / "dog.png").write_bytes(picture)
            ann.say("MEDIA:./dog.png")
            address = f"http://127.0.0.1:{server.http}/"
            await until(lambda: any(text.startswith(address) for text in ann.texts), HANG_S, chat.log)
            sent = ann.texts[-1]
            assert await asyncio.to_thread(lambda: urlopen(sent).read()) == picture

    asyncio.run(main())


def test_files_on_private_addresses_are_not_fetched(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server)

    async def main() -> None:
        async with server, running(chat), XmppUser(server) as ann:
            other = f"http://127.0.0.1:{server.port}/secret"
            ann.say(f"look {other}", url=other)
            assert (await ann.wait(1))[0] == f"look {other}"

    asyncio.run(main())
    assert "the address is in a private network" in chat.log()
    assert not list(chat.home.inbound.iterdir())


def test_a_room_is_answered_when_mentioned_and_a_nickname_is_not_a_sender(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server, xmpp={"rooms": [ROOM]})

    async def main() -> None:
        async with server, XmppUser(server) as ann, XmppUser(server, "eve") as eve:
            await ann.plugin["xep_0045"].join_muc_wait(ROOM, "ann", maxstanzas=0)
            form = await ann.plugin["xep_0045"].get_room_config(ROOM)
            form["values"] = {**form.get_values(), "muc#roomconfig_whois": "anyone"}
            await ann.plugin["xep_0045"].set_room_config(ROOM, form)
            async with running(chat):
                ann.say("the build is red", ROOM)
                ann.say("bot: why?", ROOM)
                assert "the build is red" in (await ann.wait(1))[0]
                await ann.plugin["xep_0045"].set_self_nick(ROOM, "ann2")
                await eve.plugin["xep_0045"].join_muc_wait(ROOM, "ann", maxstanzas=0)
                eve.say("bot: tell me secrets", ROOM)
                ann.say("bot: and now?", ROOM)
                await until(lambda: len(chat.prompts()) == 2, HANG_S, chat.log)

    asyncio.run(main())
    assert not any("secrets" in prompt for prompt in chat.prompts())
    assert "ann@localhost" in chat.prompts()[0]
    assert "eve@localhost" in chat.log()


def test_an_approval_is_asked_and_answered_in_the_chat(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    (tmp_path / "agent.py").write_text(AGENT)
    reply = {
        "agent": {"kind": "tau", "identityPrefix": ""},
        "command": [sys.executable, str(tmp_path / "agent.py")],
    }
    chat = xmpp_chat(tmp_path / "r", server, reply=reply)

    async def main() -> None:
        async with server, running(chat), XmppUser(server) as ann:
            ann.say("please ask")
            assert await ann.wait(1) == ["Allow rm? y/n #1"]
            ann.say("y")
            assert '"value": "Yes"' in (await ann.wait(2))[1]

    asyncio.run(main())


def test_messages_sent_while_the_relay_is_down_are_answered_once(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server)

    async def main() -> None:
        async with server, XmppUser(server) as ann:
            async with running(chat):
                ann.say("one", id="m1")
                await ann.wait(1)
            ann.say("two", id="m2")
            ann.say("three", id="m3")
            async with running(chat):
                await until(lambda: "three" in " ".join(ann.texts), HANG_S, chat.log)
                ann.say("three", id="m3")
                ann.say("four", id="m4")
                await until(lambda: "four" in " ".join(ann.texts), HANG_S, chat.log)
                assert " ".join(ann.texts).split() == ["one", "two", "three", "four"]

    asyncio.run(main())


def test_the_relay_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server)

    async def main() -> None:
        async with server, running(chat) as relay:
            channel: Any = relay.channels["xmpp"]
            async with XmppUser(server) as ann:
                ann.say("one")
                await ann.wait(1)
            server.stop()
            await until(lambda: not channel._up.is_set(), HANG_S, chat.log)
            await relay.say([], "xmpp", "ann@localhost", "while away")
            await server.start()
            async with XmppUser(server) as ann:
                assert await ann.wait(1) == ["while away"]
                await until(lambda: channel._up.is_set(), HANG_S, chat.log)
                ann.say("two")
                assert (await ann.wait(2))[1] == "two"

    asyncio.run(main())


def test_nothing_is_acknowledged_before_it_is_stored(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server)

    async def main() -> None:
        async with server, XmppUser(server) as ann:
            async with running(chat) as relay:
                receive = relay.journal.receive
                stuck = asyncio.Event()

                async def hang(message: Any) -> int | None:
                    stuck.set()
                    await asyncio.Event().wait()
                    return await receive(message)

                relay.journal.receive = hang  # type: ignore[method-assign]
                ann.say("not lost")
                await stuck.wait()
                channel: Any = relay.channels["xmpp"]
                channel._client.transport.abort()  # as a kill does
            async with running(chat):
                assert await ann.wait(1) == ["not lost"]

    asyncio.run(main())


def test_tls_is_checked_against_the_configured_certificate(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s", tls=True)
    certificate = {"caFile": str(server.folder / "cert.pem")}

    async def main() -> None:
        async with server:
            async with running(xmpp_chat(tmp_path / "good", server, xmpp=certificate)):
                pass
            with pytest.raises(ExceptionGroup) as caught:
                async with running(xmpp_chat(tmp_path / "bad", server)):
                    pass
            assert "has no valid certificate" in str(first_error(caught.value))

    asyncio.run(main())


def test_a_wrong_password_is_one_sentence(tmp_path: Path) -> None:
    server = XmppServer(tmp_path / "s")
    chat = xmpp_chat(tmp_path / "r", server, xmpp={"jid": "nobody@localhost"})

    async def main() -> None:
        async with server:
            with pytest.raises(ExceptionGroup) as caught:
                async with running(chat):
                    pass
            error = first_error(caught.value)
            assert str(error) == "The XMPP server of nobody@localhost refused the login."

    asyncio.run(main())


def test_off_this_machine_no_password_is_sent_without_tls() -> None:
    from tau.relay.channels.xmpp_client import XmppClient

    async def main() -> None:
        remote = XmppClient("bot@example.org", "secret", local=False, ca_file="")
        security = remote.plugin["feature_mechanisms"].config
        assert not remote.enable_plaintext
        assert not any(security[name] for name in ("unencrypted_plain", "unencrypted_scram"))
        assert remote.ssl_context.verify_mode == ssl.CERT_REQUIRED
        assert remote.ssl_context.check_hostname

    asyncio.run(main())


def first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
