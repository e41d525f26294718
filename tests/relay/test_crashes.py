"""A relay that is killed at random loses no message and answers none twice."""

import asyncio
import errno
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tau.relay import sessions
from tau.relay.relay import Relay
from tests.relay.chat import Chat
from tests.support.idle import until
from tests.support.limits import HANG_S
from tests.support.soak import is_soaking

ROOT = Path(__file__).resolve().parents[2]
QUICK_AGENT = """#!/bin/sh
line=$(tr '\n' ' ')
case "$line" in
  *5\\>*) echo "$line" >> KILLED; kill -9 $$;;
esac
printf '{"type":"result","result":"%s","session_id":"s"}\\n' "$line"
"""


def test_kills_at_random_points_lose_and_repeat_nothing(tmp_path: Path) -> None:
    count, chats, kills = (1000, 50, 20) if is_soaking() else (40, 8, 4)
    chat = Chat(tmp_path / "r", reply={"agent": {"kind": "claude", "identityPrefix": ""}})
    folder = chat.folder
    (folder / "claude").write_text(QUICK_AGENT.replace("KILLED", str(folder / "killed")))
    config = {
        "inbound": {
            "allowFrom": ["*"],
            "timestampPrefix": False,
            "reply": {"agent": {"kind": "claude", "identityPrefix": ""}, "command": [str(folder / "claude")]},
        },
        "limits": {"queued": 1000},
    }
    (folder / "relay.json").write_text(json.dumps(config))
    spool = [f"c{number % chats} id{number} <{number}>" for number in range(count)]
    (folder / "spool").write_text("\n".join(spool))
    dice = random.Random(7)
    command = [sys.executable, "-m", "tests.relay.relay_process", str(folder)]
    for _ in range(kills):
        process = subprocess.Popen(command, cwd=ROOT)
        try:
            process.wait(dice.uniform(0.4, 1.2))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    subprocess.run(command, cwd=ROOT, check=True, timeout=200)
    check_answers(folder, count, chats)


def check_answers(folder: Path, count: int, chats: int) -> None:
    from asyncio import run

    from tau.relay.journal import MessageJournal

    journal = MessageJournal(folder / "relay" / "journal.db")

    async def read() -> tuple[list[str], dict[str, int]]:
        return [part.content for part in await journal.uncertain()], await journal.counts()

    uncertain, counts = run(read())
    journal.close()
    sent = [json.loads(line) for line in (folder / "sent").read_text().splitlines()]
    notices = [text for _, text, _ in sent if "set aside" in text]
    numbers = [
        int(word.strip("<>"))
        for _, text, _ in sent
        if "set aside" not in text
        for word in text.split()
        if "<" in word
    ]
    repeated = [number for number, times in Counter(numbers).items() if times > 1]
    assert not repeated
    listed = {number for text in uncertain for number in numbers_in(text)}
    killed = numbers_in((folder / "killed").read_text())
    failures = [text for _, text, _ in sent if "agent was killed" in text]
    assert killed and failures  # their senders know
    missing = set(range(count)) - set(numbers) - listed - killed
    assert len(missing) <= len(notices) * 50, missing
    assert "in received" not in counts
    assert "in running" not in counts
    for chat in range(chats):
        mine = [number for number in numbers if number % chats == chat]
        assert mine == sorted(mine)


def numbers_in(text: str) -> set[int]:
    return {int(word.strip("<>")) for word in text.split() if "<" in word}


def test_a_full_disk_is_waited_for_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.relay.journal.FULL_S", 0.01)
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("one")
            await chat.channel.wait(1)
            await limit(relay, 1)
            real_write = sessions.write_atomic
            monkeypatch.setattr(sessions, "write_atomic", no_room)
            chat.send("x" * 100_000)
            await until(lambda: "disk is full" in chat.log(), HANG_S, chat.log)
            chat.send("later")
            await limit(relay, 1_000_000)
            await until(lambda: "later" in " ".join(chat.prompts()), HANG_S, chat.log)
            assert "sessions.json" in chat.log()
            monkeypatch.setattr(sessions, "write_atomic", real_write)
            chat.send("last")
            await until(lambda: "last" in chat.channel.sent[-1][1], HANG_S, chat.log)
            assert "in received" not in await relay.journal.counts()

    asyncio.run(main())


async def limit(relay: Relay, pages: int) -> None:
    """Let the journal have no more pages, as a full disk does."""
    loop, journal = asyncio.get_running_loop(), relay.journal
    await loop.run_in_executor(
        journal._thread, lambda: journal._base.execute(f"PRAGMA max_page_count={pages}").fetchall()
    )


def no_room(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("content", [b"not json", b"[]", b'{"a": 1}'])
def test_a_broken_session_file_is_moved_aside(tmp_path: Path, content: bytes) -> None:
    from tau.relay.sessions import ChatSessions
    from tau.relay.settings import SessionSettings

    path = tmp_path / "sessions.json"
    path.write_bytes(content)
    sessions = ChatSessions(path, SessionSettings())
    assert sessions.by_key == {}
    assert "was broken" in sessions.problem
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [content]
