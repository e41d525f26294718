"""The relay with the real tau, alive, against a model server on this machine."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.relay.chat import Chat
from tests.support.fake_answers import Call
from tests.support.fake_server import FakeServer
from tests.support.idle import until
from tests.support.limits import HANG_S


def tau_chat(folder: Path, server: FakeServer, monkeypatch: Any, **agent: Any) -> Chat:
    home = folder.parent / "tau-home"
    home.mkdir()
    provider = {"baseUrl": f"{server.url}/v1", "apiKey": "sk-fake", "api": "openai-completions"}
    models = {"providers": {"fake": {**provider, "models": [{"id": "fake-model"}]}}}
    (home / "models.json").write_text(json.dumps(models))
    monkeypatch.setenv("TAU_HOME", str(home))
    reply = {
        "agent": {"kind": "tau", "identityPrefix": "", **agent},
        "command": [sys.executable, "-m", "tau", "--model", "fake/fake-model"],
    }
    return Chat(folder, reply=reply)


def test_tau_asks_in_the_chat_and_takes_a_hint_while_it_works(tmp_path: Path, monkeypatch: Any) -> None:
    outside = tmp_path / "outside.txt"
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))  # writing there needs no approval

    async def main(server: FakeServer, chat: Chat) -> None:
        async with chat.running():
            chat.send("write a file")
            texts = await chat.channel.wait(1)
            assert "outside.txt" in texts[0]
            assert texts[0].endswith("\n3. Yes, always this session\ny/n #1")
            chat.send("use tabs, please")
            await until(lambda: "use tabs" in chat.log() or len(server.requests) > 0, HANG_S, chat.log)
            chat.send("y")
            assert (await chat.channel.wait(2))[1] == "finished"
            assert outside.read_text() == "hello\n"
            assert any("use tabs, please" in json.dumps(one.body) for one in server.requests)
            chat.send("thanks")
            await chat.channel.wait(3)

    with FakeServer(lenient=True) as server:
        write = Call("write", {"path": str(outside), "content": "hello\n"})
        server.script(write, "finished")
        asyncio.run(main(server, tau_chat(tmp_path / "r", server, monkeypatch, whileBusy="steer")))
