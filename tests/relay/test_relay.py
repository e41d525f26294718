"""The relay from a message to its answer."""

import asyncio
from pathlib import Path

import pytest

from tau.base.clock import now_ms
from tau.relay.message import ChatFile
from tests.relay.chat import Chat
from tests.support.idle import until
from tests.support.limits import HANG_S


def test_a_message_is_answered_and_the_next_one_resumes_the_session(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            chat.send("hello")
            assert await chat.channel.wait(1) == ["hello"]
            chat.send("again")
            assert await chat.channel.wait(2) == ["hello", "again"]

    asyncio.run(main())
    first, second = chat.arguments()
    assert "--session-id" in first
    assert "--resume real-id" in second
    assert chat.channel.typed >= 2


def test_messages_sent_while_busy_are_joined_in_order(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            for word in ("one", "two", "three"):
                chat.send(word, id=word)
            chat.send("other", chat="bob")
            await chat.channel.wait(3)

    asyncio.run(main())
    mine = [text for name, text in chat.channel.sent if name == "ann"]
    assert " ".join(mine) == "one two three"
    assert ("bob", "other") in chat.channel.sent


def test_stop_kills_the_run_and_skips_the_queue(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("sleep")
            await until(lambda: chat.calls.exists(), HANG_S, chat.log)
            chat.send("later")
            chat.send("Stop")
            assert await chat.channel.wait(1) == ["Agent was aborted."]
            assert not relay.is_busy()
            chat.send("hello")
            await chat.channel.wait(2)

    asyncio.run(main())
    assert "The user aborted the previous run" in chat.prompts()[-1]
    assert len(chat.channel.sent) == 2


def test_a_run_that_hangs_is_reported_with_its_time_limit(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r", reply={"timeoutSeconds": 1})

    async def main() -> None:
        async with chat.running():
            chat.send("sleep")
            (text,) = await chat.channel.wait(1)
            assert text == "Command timed out after 1s. Try a shorter prompt or split the request."

    asyncio.run(main())


def test_a_failure_is_one_sentence(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            chat.send("fail")
            assert await chat.channel.wait(1) == ["⚠️ Error: out of credit."]

    asyncio.run(main())


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r", reply={"command": ["no-such-agent"]})

    async def main() -> None:
        async with chat.running():
            chat.send("hi")
            (text,) = await chat.channel.wait(1)
            assert text == "⚠️ The agent no-such-agent cannot be started: No such file or directory."

    asyncio.run(main())


def test_unknown_senders_get_silence_and_known_messages_run_once(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r", inbound={"allowFrom": ["memory:ann"]})

    async def main() -> None:
        async with chat.running():
            chat.send("evil", chat="eve")
            chat.send("hello", id="same")
            chat.send("hello", id="same")
            await chat.channel.wait(1)
            chat.send("more")
            await chat.channel.wait(2)

    asyncio.run(main())
    assert chat.prompts() == ["hello", "more"]
    assert len(chat.channel.sent) == 2


def test_a_pairing_code_admits_its_sender(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r", inbound={"allowFrom": [], "pairing": True})

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("hello")
            chat.send("hello?")
            (text,) = await chat.channel.wait(1)
            assert relay.access.allow("0") == ""
            assert relay.access.allow(text.rpartition(" ")[2]) == "memory:ann"
            chat.send("now")
            await chat.channel.wait(2)

    asyncio.run(main())
    assert [text for _, text in chat.channel.sent][1:] == ["now"]


def test_new_starts_over_and_carries_the_rest(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r", inbound={"messagePrefix": "[x] "})

    async def main() -> None:
        async with chat.running():
            chat.send("hello")
            await chat.channel.wait(1)
            chat.send("/new")
            await chat.channel.wait(2)
            chat.send("/new topic")
            await chat.channel.wait(3)
            chat.send("/newx")
            await chat.channel.wait(4)
            chat.send("/sessions")
            texts = await chat.channel.wait(5)
            assert "1. " in texts[-1]

    asyncio.run(main())
    assert chat.prompts() == ["[x] hello", "[x] topic", "[x] /newx"]
    assert ["--session-id" in words for words in chat.arguments()] == [True, True, False]
    assert chat.channel.sent[1][1] == "Started a new conversation."


def test_files_of_the_agent_are_sent_and_others_refused(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            (chat.home.workspace / "cat.txt").write_text("meow")
            chat.send("MEDIA:./cat.txt")
            await chat.channel.wait(0, files=1)
            chat.send("MEDIA:/etc/passwd")
            (text,) = await chat.channel.wait(1)
            assert text.startswith("⚠️ The file /etc/passwd was not sent")

    asyncio.run(main())
    assert chat.channel.files == [("cat.txt", "text/plain", b"meow")]
    assert not list(chat.home.media.iterdir())


def test_attached_files_are_named_in_the_prompt(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            chat.send("look", files=(ChatFile("/tmp/a.png", "image/png"),))
            await chat.channel.wait(1)

    asyncio.run(main())
    assert chat.prompts()[0].startswith("[media attached: /tmp/a.png (image/png)]")


def test_a_group_needs_a_mention_and_passes_its_history(tmp_path: Path) -> None:
    group = {"is_group": True, "sender": "carl"}
    chat = Chat(tmp_path / "r", inbound={"groupChat": {"mentionPatterns": ["@bot"]}})

    async def main() -> None:
        async with chat.running():
            chat.send("earlier", "room", **group)
            chat.send("@bot help", "room", **group)
            await chat.channel.wait(1)

    asyncio.run(main())
    (prompt,) = chat.prompts()
    assert "carl: earlier" in prompt
    assert prompt.index("earlier") < prompt.index("@bot help")


def test_a_channel_that_is_down_gets_its_answers_later(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running() as relay:
            chat.channel.down = True
            chat.send("hello")
            await until(lambda: chat.channel.refused > 0, HANG_S, chat.log)
            chat.channel.down = False
            relay.outboxes["memory"].connected.set()
            assert await chat.channel.wait(1) == ["hello"]

    asyncio.run(main())


def test_a_heartbeat_speaks_only_if_there_is_something(tmp_path: Path) -> None:
    from tau.relay.heartbeat import Heartbeats

    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("hello")
            await chat.channel.wait(1)
            session = relay.sessions.by_key["memory:ann"]
            session.updated_at -= 1000
            before = session.updated_at
            beats = Heartbeats(relay)
            assert beats.target() == "memory:ann"
            answer = await beats.beat("memory:ann")
            assert answer is not None
            assert answer.texts == ["HEARTBEAT"]
            assert session.updated_at == before
            session.updated_at = now_ms() - 61 * 60_000
            assert await beats.beat("memory:ann") is None

    asyncio.run(main())


def test_the_heartbeat_token_never_reaches_a_chat() -> None:
    from tau.relay.heartbeat import strip_token

    assert strip_token(["HEARTBEAT_OK", "Disk full HEARTBEAT_OK", " "]) == ["Disk full"]
    assert strip_token(["HEARTHEARTBEAT_OKBEAT_OK"]) == ["HEART BEAT_OK"]


def test_the_heartbeat_token_does_not_reach_a_chat_in_an_ordinary_answer(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")

    async def main() -> None:
        async with chat.running():
            chat.send("a beat please")  # the agent answers with the token
            assert await chat.channel.wait(1) == ["(The agent answered without text.)"]

    asyncio.run(main())


def test_stop_kills_a_heartbeat(tmp_path: Path) -> None:
    from tau.relay.heartbeat import Heartbeats

    chat = Chat(tmp_path / "r")
    script = chat.folder / "claude"

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("hello")
            await chat.channel.wait(1)
            script.write_text(script.read_text().replace("*sleep*", "*HEARTBEAT*"))
            async with asyncio.TaskGroup() as group:
                beat = group.create_task(Heartbeats(relay).beat("memory:ann"))
                await until(lambda: len(chat.prompts()) == 2, HANG_S, chat.log)
                chat.send("stop")
                assert (await chat.channel.wait(2))[1] == "Agent was aborted."
            assert beat.result() is None

    asyncio.run(main())


def test_a_heartbeat_that_finds_no_session_does_not_start_another(tmp_path: Path) -> None:
    from tau.relay.heartbeat import Heartbeats

    chat = Chat(tmp_path / "r")
    script = chat.folder / "claude"

    async def main() -> None:
        async with chat.running() as relay:
            chat.send("hello")
            await chat.channel.wait(1)
            before = relay.sessions.by_key["memory:ann"].session_id
            lost = 'echo "No conversation found with session ID: x" >&2; exit 1;;\n  *sleep*)'
            script.write_text(script.read_text().replace("*sleep*)", f"*HEARTBEAT*) {lost}"))
            assert await Heartbeats(relay).beat("memory:ann") is None
            assert relay.sessions.by_key["memory:ann"].session_id == before
            assert len(chat.channel.sent) == 1

    asyncio.run(main())


@pytest.mark.parametrize("deduplicates", [True, False])
def test_parts_in_flight_at_a_crash_are_uncertain_unless_the_channel_deduplicates(
    tmp_path: Path, deduplicates: bool
) -> None:
    from tau.relay.journal import MessageJournal, OutgoingPart

    async def main() -> None:
        journal = MessageJournal(tmp_path / "j.db")
        await journal.answer([], "x", [OutgoingPart("text", "ann", "hi")])
        assert await journal.next_part("x") is not None
        assert await journal.recover_parts("x", deduplicates=deduplicates) == (not deduplicates)
        assert (await journal.next_part("x") is not None) is deduplicates
        journal.close()

    asyncio.run(main())


def test_a_message_that_stopped_the_relay_three_times_is_set_aside(tmp_path: Path) -> None:
    from tau.relay.journal import MessageJournal
    from tau.relay.message import InboundMessage

    chat = Chat(tmp_path / "r")

    async def main() -> None:
        journal = MessageJournal(chat.home.journal)
        fields = {"channel": "memory", "account": "bot", "chat": "ann", "sender": "ann"}
        number = await journal.receive(InboundMessage(id="bad", body="boom", **fields))
        assert number is not None
        for _ in range(3):
            await journal.begin([number])
        await journal.receive(InboundMessage(id="old", body="old", sent_ms=1, **fields))
        journal.close()
        async with chat.running():
            texts = await chat.channel.wait(2)
            assert texts[0].startswith("A message was set aside")
            assert texts[1].startswith("A message came while the relay was down")

    asyncio.run(main())
    assert not chat.calls.exists()
