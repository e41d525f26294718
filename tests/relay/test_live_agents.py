"""Agents that stay alive, and their questions in the chat."""
# ruff: noqa: E501

import asyncio
import sys
from pathlib import Path

from tau.base.run import LocalRunner
from tau.relay.live_agents import LiveAgent
from tau.relay.relay import Relay
from tests.relay.chat import Chat
from tests.support.idle import until
from tests.support.limits import HANG_S

AGENT = """
import json, sys
def tell(**frame): print(json.dumps(frame), flush=True)
tell(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "get_state":
        tell(type="response", command="get_state", success=True, id=frame["id"], data={"sessionId": "live-1"})
    if frame["type"] == "prompt":
        tell(type="response", command="prompt", success=True, id=frame["id"], data={"disposition": "started"})
        text = frame["message"]
        if "ask" in text:
            long, odd = "x" * 2_000 + "; rm -rf /" if "long" in text else "", ["Delete", "Keep"] if "odd" in text else ["Yes", "No"]
            tell(type="extension_ui_request", id="ui", method="select", title="Allow rm?" + long, options=odd)
            text = json.dumps({**json.loads(sys.stdin.readline()), "type": ""})
        if "slow" in text:
            more = json.loads(sys.stdin.readline())
            tell(type="response", command="steer", success=True, id=more["id"], data={"disposition": "steered"})
            text += " and " + more["message"] + " by " + more["type"]
        if "die" in text:
            sys.exit("Error: out of memory")
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        tell(type="message_end", message=message)
        if "late" in text:  # it settles before it sees the message
            more = json.loads(sys.stdin.readline())
            tell(type="agent_settled", aborted=False)
            tell(type="response", command="steer", success=True, id=more["id"], data={"disposition": "started"})
            message = {"role": "assistant", "content": [{"type": "text", "text": "then " + more["message"]}]}
            tell(type="message_end", message=message)
        tell(type="agent_settled", aborted=False)
"""


def live_chat(folder: Path, while_busy: str = "join", **more: object) -> Chat:
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    reply = {
        "agent": {"kind": "tau", "identityPrefix": "", "whileBusy": while_busy},
        "command": [sys.executable, str(folder / "agent.py")],
    }
    return Chat(folder, reply=reply, **more)


def test_an_approval_is_answered_only_by_the_sender_of_the_run(tmp_path: Path) -> None:
    chat = live_chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("please ask", "room", sender="ann")
            assert await chat.channel.wait(1) == ["Allow rm? y/n #1"]
            assert relay.is_busy()
            chat.send("n", "room", sender="eve")
            chat.send("y #1", "room", sender="ann")
            texts = await chat.channel.wait(2)
            assert '"value": "Yes"' in texts[1]

    asyncio.run(main())


def test_a_question_whose_end_no_chat_shows_is_denied(tmp_path: Path) -> None:
    chat = live_chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            chat.send("please ask long", "room", sender="ann")
            texts = await chat.channel.wait(2)
            assert texts[0].endswith("This was denied: the question is too long for a chat.")
            assert '"cancelled": true' in texts[1]

    asyncio.run(main())


def test_y_does_not_answer_a_question_that_is_not_yes_or_no(tmp_path: Path) -> None:
    chat = live_chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            chat.send("please ask odd", "room", sender="ann")
            [text] = await chat.channel.wait(1)
            assert "1. Delete" in text and "2. Keep" in text
            chat.send("y", "room", sender="ann")
            chat.send("2", "room", sender="ann")
            assert '"value": "Keep"' in (await chat.channel.wait(2))[1]

    asyncio.run(main())


def test_an_approval_without_an_answer_is_denied(tmp_path: Path) -> None:
    chat = live_chat(tmp_path / "r", limits={"approvalSeconds": 1})

    async def main() -> None:
        async with chat.running():
            chat.send("please ask")
            texts = await chat.channel.wait(3)
            assert texts[1] == "#1 was denied: nobody answered."
            assert '"cancelled": true' in texts[2]

    asyncio.run(main())


def test_an_agent_that_dies_is_reported_and_started_again(tmp_path: Path) -> None:
    chat = live_chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            chat.send("hello")
            await chat.channel.wait(1)
            chat.send("die")
            texts = await chat.channel.wait(2)
            assert texts == ["hello", "⚠️ Error: out of memory."]
            chat.send("back")
            assert (await chat.channel.wait(3))[2] == "back"

    asyncio.run(main())


def test_an_agent_is_reaped_although_its_end_is_interrupted(tmp_path: Path) -> None:
    async def main() -> None:
        stubborn = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 60; done"]
        async with asyncio.TaskGroup() as group:
            agent = await LiveAgent.open(
                LocalRunner(), stubborn, cwd=tmp_path, inherit=lambda _: True, group=group
            )
            closing = group.create_task(agent.close())
            for _ in range(2):  # the worker of a chat and the relay both cancel a run
                await asyncio.sleep(0)
                closing.cancel()

    asyncio.run(main())  # tests/conftest.py fails if a child is left


def test_a_message_during_a_run_is_sent_into_it(tmp_path: Path) -> None:
    chat = live_chat(tmp_path / "r", "steer")

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("slow work")
            await until(lambda: is_busy(relay), HANG_S, chat.log)
            chat.send("a hint")
            assert await chat.channel.wait(1) == ["slow work and a hint by steer"]
            assert await relay.journal.counts() == {"in answered": 2, "out sent": 1}
            chat.send("next")
            assert (await chat.channel.wait(2))[1] == "next"

    asyncio.run(main())


def test_a_message_that_misses_the_end_of_a_run_gets_its_own_answer(tmp_path: Path) -> None:
    chat = live_chat(tmp_path / "r", "steer")

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("late")
            await until(lambda: is_busy(relay), HANG_S, chat.log)
            chat.send("one more")
            texts = await chat.channel.wait(2)
            assert texts == ["late", "then one more"]

    asyncio.run(main())


def is_busy(relay: Relay) -> bool:
    return hasattr(relay, "live") and any(one.busy for one in relay.live._by_key.values())
