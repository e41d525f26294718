"""The Twilio channel against a REST API on this machine; Twilio's own SDK is the judge."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("twilio", reason="Twilio's SDK is not installed; the extra judges has it")

from tau.relay.agent_run import agent_runner
from tau.relay.channels.channel import ChatChannel
from tau.relay.channels.twilio import TwilioChannel
from tau.relay.channels.twilio_api import TwilioAccount, is_signed, signature
from tau.relay.log import RelayLog
from tau.relay.relay import Relay
from tests.relay.chat import Chat
from tests.relay.twilio_server import NUMBER, SID, TOKEN, FakeTwilio
from tests.support.free_ports import free_port
from tests.support.idle import until
from tests.support.limits import HANG_S

USER = "whatsapp:+15552223333"
PUBLIC = "https://relay.example.org"
PATH = "/webhook/whatsapp"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(200))


class Webhook:
    """Posts to the relay as Twilio does."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    async def post(self, fields: dict[str, str], sign: str | None = None, path: str = PATH) -> int:
        from twilio.request_validator import RequestValidator

        signed = RequestValidator(TOKEN).compute_signature(PUBLIC + path, fields) if sign is None else sign
        headers = {"x-twilio-signature": signed} if signed else {}
        return (await self._ask(path, urlencode(fields).encode(), headers))[0]

    async def message(self, body: str, sid: str = "SM1", **more: str) -> int:
        return await self.post({"From": USER, "To": NUMBER, "Body": body, "MessageSid": sid, **more})

    async def get(self, path: str) -> tuple[int, bytes]:
        return await self._ask(path, None, {})

    async def _ask(self, path: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        def ask() -> tuple[int, bytes]:
            try:
                with urlopen(Request(self._url + path, data, headers)) as response:
                    return response.status, response.read()
            except HTTPError as error:
                with error:
                    return error.code, b""

        return await asyncio.to_thread(ask)


@asynccontextmanager
async def running(
    folder: Path, api: FakeTwilio, mode: str = "webhook", **config: Any
) -> AsyncIterator[tuple[Chat, Relay, Webhook]]:
    port = free_port()
    settings = {"mode": mode, "publicUrl": PUBLIC, "port": port, "pollSeconds": 1}
    inbound = {"allowFrom": ["+15552223333"]}
    chat = Chat(folder, **{"inbound": inbound, "twilio": settings, **config})
    account = TwilioAccount(SID, SID, TOKEN, NUMBER, api.url, api.url)

    def open(log: RelayLog) -> ChatChannel:
        return TwilioChannel(chat.config, account, TOKEN, chat.home, log, agent_runner())

    chat.open = open
    async with chat.running() as relay:
        await until(relay.outboxes["twilio"].connected.is_set, HANG_S, chat.log)
        yield chat, relay, Webhook(port)


def test_the_signature_is_that_of_the_sdk() -> None:
    from twilio.request_validator import RequestValidator

    fields = {"Body": "ü &=+", "From": USER, "Empty": ""}
    theirs = RequestValidator(TOKEN).compute_signature(f"{PUBLIC}{PATH}?a=b", fields)
    assert signature(TOKEN, f"{PUBLIC}{PATH}?a=b", list(fields.items())).decode() == theirs
    with_port = RequestValidator(TOKEN).compute_signature("https://relay.example.org:443/x", fields)
    assert is_signed(with_port, TOKEN, "https://relay.example.org/x", list(fields.items()))
    assert not is_signed(theirs, TOKEN, f"{PUBLIC}{PATH}", list(fields.items()))


def test_the_fake_api_satisfies_the_sdk() -> None:
    from twilio.rest import Client

    async def main() -> None:
        async with FakeTwilio() as api:
            client = Client(SID, TOKEN)
            client.api.base_url = api.url

            def talk() -> tuple[str, list[str]]:
                sent = client.messages.create(to=USER, from_=NUMBER, body="hi")
                return sent.sid, [one.body for one in client.messages.list(to=NUMBER)]

            api.receive("hello", "SM7")
            sid, bodies = await asyncio.to_thread(talk)
            assert sid.startswith("SM")
            assert bodies == ["hello"]

    asyncio.run(main())


def test_a_signed_message_is_answered_and_a_repeated_one_is_not(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeTwilio() as api, running(tmp_path / "r", api) as (chat, _, webhook):
            assert await webhook.message("hello") == 200
            assert await webhook.message("hello") == 200
            await until(lambda: len(api.sent) == 1, HANG_S, chat.log)
            assert await webhook.message("again", "SM2") == 200
            await until(lambda: api.bodies() == ["hello", "again"], HANG_S, chat.log)
            assert api.sent[0]["To"] == USER
            assert api.sent[0]["StatusCallback"] == f"{PUBLIC}{PATH}/status"

    asyncio.run(main())


def test_a_request_is_answered_while_the_agent_works(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeTwilio() as api, running(tmp_path / "r", api) as (chat, _, webhook):
            assert await webhook.message("sleep") == 200
            await until(lambda: len(chat.prompts()) == 1 and api.typed == ["SM1"], HANG_S, chat.log)
            assert await webhook.message("stop", "SM2") == 200
            await until(lambda: api.bodies() == ["Agent was aborted."], HANG_S, chat.log)

    asyncio.run(main())


@pytest.mark.parametrize("sign", ["", "x" * 28, "ü"])
def test_forged_requests_are_refused(tmp_path: Path, sign: str) -> None:
    async def main() -> None:
        async with FakeTwilio() as api, running(tmp_path / "r", api) as (chat, relay, webhook):
            fields = {"From": USER, "To": NUMBER, "Body": "rm -rf", "MessageSid": "SM1"}
            assert await webhook.post(fields, sign.encode().decode("latin-1")) == 403
            assert (await webhook.get(PATH))[0] == 404
            assert (await webhook.get("/media/../../etc/passwd"))[0] == 404
            assert await relay.journal.counts() == {}
            assert "without a valid signature" in chat.log()

    asyncio.run(main())


def test_files_go_both_ways_by_addresses_that_work_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeTwilio() as api, running(tmp_path / "r", api) as (chat, _, webhook):
            api.files["cat"] = PICTURE
            media = {"NumMedia": "1", "MediaUrl0": f"{api.url}/files/cat", "MediaContentType0": "image/png"}
            await webhook.message("look", **media)
            await until(lambda: len(api.sent) >= 1, HANG_S, chat.log)
            [received] = chat.home.inbound.iterdir()
            assert received.read_bytes() == PICTURE
            (chat.home.workspace / "dog.png").write_bytes(PICTURE)
            await webhook.message("MEDIA:./dog.png", "SM2")
            await until(lambda: "/media/" in api.sent[-1].get("MediaUrl", ""), HANG_S, chat.log)
            path = api.sent[-1]["MediaUrl"].removeprefix(PUBLIC)
            assert await webhook.get(path) == (200, PICTURE)
            assert (await webhook.get(path))[0] == 404

    asyncio.run(main())


def test_a_refused_message_and_a_failed_delivery_are_logged(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeTwilio() as api, running(tmp_path / "r", api) as (chat, _, webhook):
            api.fail = 400
            await webhook.message("hello")
            await until(lambda: "no such number" in chat.log(), HANG_S, chat.log)
            status = {"MessageSid": "SM9", "MessageStatus": "undelivered", "ErrorCode": "63016"}
            assert await webhook.post(status, path=f"{PATH}/status") == 200
            assert "63016" in chat.log()

    asyncio.run(main())


def test_polling_answers_new_messages_once_and_old_ones_never(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeTwilio() as api:
            api.receive("long ago", "SM1", age_s=600)
            async with running(tmp_path / "r", api, "poll") as (chat, _, _):
                api.receive("hello", "SM2", age_s=-2)
                await until(lambda: api.bodies() == ["hello"], HANG_S, chat.log)
            api.receive("while away", "SM3", age_s=-3)
            async with running(tmp_path / "r", api, "poll") as (chat, _, _):
                await until(lambda: api.bodies() == ["hello", "while away"], HANG_S, chat.log)

    asyncio.run(main())


def test_tailscale_opens_a_funnel_and_twilio_learns_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tailscale"
    program.write_text(f"""#!/bin/sh
echo "$@" >> {tmp_path}/words
[ "$1" = status ] && echo '{{"Self": {{"DNSName": "box.tail.ts.net."}}}}'
exit 0
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    async def main() -> None:
        settings = {"publicUrl": "tailscale", "port": free_port()}
        async with FakeTwilio() as api, running(tmp_path / "r", api, twilio=settings):
            assert api.webhooks == [f"https://box.tail.ts.net{PATH}"]
        words = (tmp_path / "words").read_text().splitlines()
        assert words == [f"funnel --yes --bg {settings['port']}", "status --json"]

    asyncio.run(main())
