"""The Telegram channel with its library, against a Bot API on this machine."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import TauError
from tau.relay.relay import Relay
from tests.relay.bot_api import TOKEN, FakeBotApi
from tests.relay.chat import Chat
from tests.relay.test_live_agents import AGENT
from tests.support.idle import until
from tests.support.limits import HANG_S

pytest.importorskip("telegram", reason="python-telegram-bot is not installed; the extra telegram has it")

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(200))


def telegram_chat(folder: Path, **config: Any) -> Chat:
    return Chat(folder, **{"inbound": {"allowFrom": ["telegram:7"]}, **config})


@asynccontextmanager
async def running(chat: Chat, api: FakeBotApi, token: str = TOKEN) -> AsyncIterator[Relay]:
    import msgspec

    from tau.relay.channels.telegram import TelegramChannel
    from tau.relay.config import parse_config

    content = msgspec.to_builtins(chat.config)
    content["telegram"] = {"token": token, "apiUrl": api.url}
    content["web"] = {"reconnect": {"initialMs": 250, "maxMs": 250}}
    config = parse_config(msgspec.json.encode(content), chat.home.config)
    chat.open = lambda log: TelegramChannel(config, token, chat.home, log)
    async with chat.running() as relay:
        yield relay


def test_a_chat_is_answered_and_strangers_are_not(tmp_path: Path) -> None:
    chat = telegram_chat(tmp_path / "r")

    async def main() -> None:
        async with FakeBotApi() as api, running(chat, api):
            await api.say("let me in", sender=8)
            await api.say("hello")
            await until(lambda: api.texts() == ["hello"], HANG_S, chat.log)
            assert {fields["chat_id"] for name, fields in api.sent if name == "sendChatAction"} <= {"7"}

    asyncio.run(main())


def test_buttons_answer_an_approval(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    reply = {
        "agent": {"kind": "tau", "identityPrefix": ""},
        "command": [sys.executable, str(tmp_path / "agent.py")],
    }
    chat = telegram_chat(tmp_path / "r", reply=reply)

    async def main() -> None:
        async with FakeBotApi() as api, running(chat, api):
            await api.say("please ask")
            await until(lambda: len(api.texts()) == 1, HANG_S, chat.log)
            assert "y #1" in api.sent[-1][1]["reply_markup"]
            await api.press("y #1", sender=8)
            await api.press("y #1")
            await until(lambda: len(api.texts()) == 2, HANG_S, chat.log)
            assert '"value": "Yes"' in api.texts()[1]

    asyncio.run(main())


def test_pictures_go_both_ways(tmp_path: Path) -> None:
    chat = telegram_chat(tmp_path / "r")

    async def main() -> None:
        async with FakeBotApi() as api, running(chat, api):
            api.files["cat"] = PICTURE
            photo = [{"file_id": "cat", "file_unique_id": "cat", "width": 1, "height": 1}]
            (chat.home.workspace / "dog.png").write_bytes(PICTURE)
            await api.say(photo=photo, caption="look")
            await until(lambda: len(api.texts()) > 0, HANG_S, chat.log)
            await api.say("MEDIA:./dog.png")
            await until(lambda: any(name == "sendPhoto" for name, _ in api.sent), HANG_S, chat.log)
            [received] = chat.home.inbound.iterdir()
            assert received.read_bytes() == PICTURE

    asyncio.run(main())


def test_a_group_is_answered_when_the_bot_is_mentioned(tmp_path: Path) -> None:
    chat = telegram_chat(tmp_path / "r")

    async def main() -> None:
        async with FakeBotApi() as api, running(chat, api):
            await api.say("it broke", chat=-5)
            await api.say("@relay_bot why?", chat=-5)
            await until(lambda: len(api.texts()) == 1, HANG_S, chat.log)
            assert "it broke" in api.texts()[0]

    asyncio.run(main())


def test_updates_are_confirmed_after_they_are_stored(tmp_path: Path) -> None:
    chat = telegram_chat(tmp_path / "r")

    async def main() -> None:
        async with FakeBotApi() as api:
            async with running(chat, api) as relay:
                stuck = asyncio.Event()

                async def hang(message: Any) -> int | None:
                    stuck.set()
                    await asyncio.Event().wait()
                    return None

                relay.journal.receive = hang  # type: ignore[method-assign]
                await api.say("not lost")
                await stuck.wait()
            async with running(chat, api):
                await until(lambda: api.texts() == ["not lost"], HANG_S, chat.log)

    asyncio.run(main())


def test_a_message_without_an_answer_is_uncertain_and_not_sent_again(tmp_path: Path) -> None:
    chat = telegram_chat(tmp_path / "r")

    async def main() -> None:
        async with FakeBotApi() as api, running(chat, api) as relay:
            api.drop.add("sendMessage")
            await api.say("one")
            await until(lambda: "uncertain" in chat.log(), HANG_S, chat.log)
            await api.say("two")
            await until(lambda: api.texts() == ["one", "two"], HANG_S, chat.log)
            assert [part.content for part in await relay.journal.uncertain()] == ["one"]

    asyncio.run(main())


@pytest.mark.filterwarnings("ignore:Deprecated since version v22.2")
def test_a_limit_of_the_server_is_waited_for_and_a_refusal_is_final(tmp_path: Path) -> None:
    chat = telegram_chat(tmp_path / "r")

    async def main() -> None:
        async with FakeBotApi() as api, running(chat, api):
            slower = {"description": "slow down", "parameters": {"retry_after": 1}}
            limit = {"ok": False, "error_code": 429, **slower}
            api.fail["sendMessage"] = (429, limit)
            await api.say("one")
            await until(lambda: api.texts() == ["one", "one"], HANG_S, chat.log)
            blocked = {"ok": False, "error_code": 403, "description": "bot was blocked"}
            api.fail["sendMessage"] = (403, blocked)
            await api.say("two")
            await until(lambda: "bot was blocked" in chat.log(), HANG_S, chat.log)
            await api.say("three")
            await until(lambda: api.texts()[2:] == ["two", "three"], HANG_S, chat.log)

    asyncio.run(main())


def test_a_wrong_token_is_one_sentence(tmp_path: Path) -> None:
    from tests.relay.test_xmpp import first_error

    chat = telegram_chat(tmp_path / "r")

    async def main() -> None:
        async with FakeBotApi() as api:
            with pytest.raises((ExceptionGroup, TauError)) as caught:
                async with running(chat, api, "1:wrong"):
                    await asyncio.Event().wait()
            assert str(first_error(caught.value)) == "Telegram refused the bot's token."

    asyncio.run(main())
