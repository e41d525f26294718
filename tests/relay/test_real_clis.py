"""The relay with the real CLIs of others, against a model server on this machine."""

import asyncio
import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.relay.chat import Chat
from tests.relay.real_clis import prepare, wrapper
from tests.support.fake_answers import Scenario, Silence, Status
from tests.support.fake_server import FakeServer
from tests.support.idle import until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]
KINDS = ("claude", "codex", "pi", "opencode", "gemini")
SLOW_S = 300.0
HOSTILE = (
    "--version",
    "-h",
    "@/etc/passwd",
    "see @/etc/passwd now",
    "/cost",
    "!id",
    "{{SessionId}}",
    "nul \0 here",
    "\u202ebidi\u202c",
    "MEDIA:/etc/passwd",
)


def cli_chat(folder: Path, kind: str, server: FakeServer, **reply: Any) -> Chat:
    folder.mkdir(exist_ok=True)
    command, env = prepare(kind, folder / "home", server.url)
    program = wrapper(folder, command, env)
    agent = {"kind": kind, "identityPrefix": "", **reply.pop("agent", {})}
    return Chat(folder, reply={"agent": agent, "command": [str(program)], **reply})


def asked(server: FakeServer) -> list[str]:
    """The requests, as text."""
    return [json.dumps(one.body, ensure_ascii=False) for one in server.requests if one.body]


async def wait(chat: Chat, count: int) -> list[str]:
    await until(lambda: len(chat.channel.sent) >= count, SLOW_S, chat.log)
    return [text for _, text in chat.channel.sent]


@pytest.mark.parametrize("kind", KINDS)
def test_a_conversation_is_resumed(tmp_path: Path, kind: str) -> None:
    async def main(server: FakeServer, chat: Chat) -> None:
        async with chat.running():
            chat.send("hello")
            assert await wait(chat, 1) == ["word0 word1"]
            chat.send("again")
            assert await wait(chat, 2) == ["word0 word1"] * 2
        async with chat.running():  # and after a restart of the relay
            chat.send("a third time")
            await wait(chat, 1)
        assert any("hello" in one and "again" in one and "a third time" in one for one in asked(server))

    with FakeServer(lenient=True) as server:
        server.script("word0 word1")
        asyncio.run(main(server, cli_chat(tmp_path / "r", kind, server)))


@pytest.mark.parametrize("kind", KINDS)
def test_plain_text_is_delivered_too(tmp_path: Path, kind: str) -> None:
    async def main(chat: Chat) -> None:
        async with chat.running():
            chat.send("hello")
            assert await wait(chat, 1) == ["word0 word1"]

    with FakeServer(lenient=True) as server:
        server.script("word0 word1")
        asyncio.run(main(cli_chat(tmp_path / "r", kind, server, agent={"format": "text"})))


@pytest.mark.parametrize("via", ["stdin", "arg"])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_text_reaches_the_model_as_text(tmp_path: Path, kind: str, via: str) -> None:
    async def main(server: FakeServer, chat: Chat) -> None:
        async with chat.running():
            for count, body in enumerate((*HOSTILE, "x" * 200_000), 1):
                chat.send(body)
                assert (await wait(chat, count))[-1] == "fine", body
                plain = body.replace("\0", "\ufffd")
                sent = [one.replace("\\\\@", "@") for one in asked(server)]
                assert any(json.dumps(plain, ensure_ascii=False)[1:-1] in one for one in sent), body
        assert not any(re.search(r"root:x?:0:0", one) for one in asked(server))

    with FakeServer(lenient=True) as server:
        server.script("fine")
        agent = {"promptVia": via, "live": False}
        asyncio.run(main(server, cli_chat(tmp_path / "r", kind, server, agent=agent)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_with_a_tool_ends_in_its_answer_and_a_file_is_sent(tmp_path: Path, kind: str) -> None:
    async def main(server: FakeServer, chat: Chat) -> None:
        async with chat.running():
            chat.send("look around")
            assert await wait(chat, 1) == ["word0 word1"]
            assert any("turn-0" in one for one in asked(server))
            (chat.home.workspace / "chart.txt").write_text("up")
            server.script("here it is\nMEDIA:./chart.txt")
            chat.send("send the chart")
            assert (await wait(chat, 2))[-1] == "here it is"
            await chat.channel.wait(files=1)
            assert chat.channel.files == [("chart.txt", "text/plain", b"up")]

    with FakeServer(lenient=True) as server:
        server.script(Scenario("tools", turns=1, deltas=2))
        asyncio.run(main(server, cli_chat(tmp_path / "r", kind, server)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_that_is_killed_in_its_first_turn_is_reported(tmp_path: Path, kind: str) -> None:
    def kill_agent() -> None:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_child = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
                if is_child and "relay-clis" in str((folder / "exe").readlink()):
                    os.kill(int(folder.name), signal.SIGKILL)

    async def main(server: FakeServer, chat: Chat) -> None:
        async with chat.running():
            chat.send("hello")
            await until(lambda: len(asked(server)) > 0, SLOW_S, chat.log)
            kill_agent()
            assert (await wait(chat, 1))[0].startswith("⚠️ ")
            server.script("back")
            chat.send("are you there?")
            assert (await wait(chat, 2))[-1] == "back"

    with FakeServer(lenient=True) as server:
        server.script(Silence())
        asyncio.run(main(server, cli_chat(tmp_path / "r", kind, server, agent={"live": False})))


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_key_is_one_sentence(tmp_path: Path, kind: str) -> None:
    async def main(chat: Chat) -> None:
        async with chat.running():
            chat.send("hello")
            (text,) = await wait(chat, 1)
            assert text.startswith(("⚠️ ", "Command timed out"))
            assert len(text.splitlines()) == 1
            assert "at Object" not in text

    with FakeServer(lenient=True) as server:
        server.script(Status(401, "bad key"))
        asyncio.run(main(cli_chat(tmp_path / "r", kind, server, timeoutSeconds=90)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_stopped_in_its_first_turn_can_be_followed_by_another(
    tmp_path: Path, kind: str
) -> None:
    async def main(server: FakeServer, chat: Chat) -> None:
        async with chat.running():
            chat.send("hello")
            await until(lambda: len(asked(server)) > 0, SLOW_S, chat.log)
            chat.send("stop")
            assert await wait(chat, 1) == ["Agent was aborted."]
            server.script("back")
            chat.send("are you there?")
            assert (await wait(chat, 2))[-1] == "back"

    with FakeServer(lenient=True) as server:
        server.script(Silence())
        asyncio.run(main(server, cli_chat(tmp_path / "r", kind, server)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_hangs_is_reported_after_the_time_limit(tmp_path: Path, kind: str) -> None:
    async def main(chat: Chat) -> None:
        async with chat.running():
            chat.send("hello")
            assert (await wait(chat, 1))[0].startswith("Command timed out after 20s.")

    with FakeServer(lenient=True) as server:
        server.script(Silence())
        asyncio.run(main(cli_chat(tmp_path / "r", kind, server, timeoutSeconds=20)))
