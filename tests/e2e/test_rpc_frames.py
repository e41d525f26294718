"""RPC mode: token counts in updates, URLs of the program, and the commands that replace the session."""

import asyncio
import subprocess
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tau.ai.wire import Attachment, ImageContent
from tau.modes.rpc.client import RpcClient
from tau.modes.rpc.connection import RpcError
from tau.modes.session_commands.host_tools import HostScheme
from tests.e2e.program import FAKE, TAU, Program
from tests.e2e.test_rpc_program import drive
from tests.support.fake_answers import Call, Status, Text, Thinking
from tests.support.pictures import PNG

Frame = dict[str, Any]


@pytest.mark.parametrize("snapshots", ["none", "full"])
def test_each_update_carries_the_token_counts_of_its_message(tau: Program, snapshots: str) -> None:
    tau.script(Text("One two three", deltas=5))

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("go")
        updates = [event for event in events if event["type"] == "message_update"]
        [started] = [event for event in events if event["type"] == "message_start"][1:]
        assert len(updates) >= 5
        *streaming, done = updates
        assert all(update["usage"] == started["message"]["usage"] for update in streaming)
        assert done["usage"] == done["message"]["usage"] == done["assistantMessageEvent"]["message"]["usage"]

    drive(tau, work, "--snapshots", snapshots)


def stream_of(events: list[Frame]) -> list[str]:
    """The kinds of the assistant events, each once in a row."""
    names: list[str] = []
    for event in events:
        if event["type"] == "message_update" and names[-1:] != [event["assistantMessageEvent"]["type"]]:
            names.append(event["assistantMessageEvent"]["type"])
    return names


def test_stream_of_an_answer_has_a_start_and_an_end(tau: Program) -> None:
    tau.script(
        (Thinking("hm hm", deltas=2), Text("I look.", deltas=3), Call("read", {"path": "x"})),
        Status(400, "no"),
    )

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("go")
        text = ["text_start", "text_delta", "text_end"]
        call = ["toolcall_start", "toolcall_delta", "toolcall_end"]
        thinking = ["thinking_start", "thinking_delta", "thinking_end"]
        assert stream_of(events) == ["start", *thinking, *text, *call, "done", "start", "error"]
        reasons = [event.get("assistantMessageEvent", {}).get("reason") for event in events]
        assert [reason for reason in reasons if reason] == ["toolUse", "error"]

    drive(tau, work)


def test_compaction_on_request_has_a_start_and_an_end(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "compaction.keepRecentTokens": 1})
    tau.script("one " * 900, "two", "summary " * 60)

    async def work(client: RpcClient) -> None:
        events: list[Frame] = []
        client.on_event(events.append)
        with pytest.raises(RpcError):
            await client.compact()
        await client.prompt_and_wait("first")
        await client.prompt_and_wait("second")
        await client.compact()
        seen = [event for event in events if "compaction" in event["type"]]
        assert [event["type"] for event in seen] == [
            *("compaction_start", "compaction_end"),
            *("compaction_start", "compaction", "compaction_end"),
        ]
        assert {event["reason"] for event in seen if "reason" in event} == {"manual"}
        assert "errorMessage" in seen[1] and seen[1]["result"] is None
        assert seen[-1]["result"]["summary"] == seen[-2]["summary"]

    drive(tau, work)


def test_abort_sent_right_after_bash_stops_it(tau: Program) -> None:
    lines = (
        '{"id":"1","type":"bash","command":"sleep 60"}\n{"id":"2","type":"abort_bash"}\n'
        '{"id":"3","type":"get_state"}\n'
    )
    with subprocess.Popen(
        [*TAU, "--mode", "rpc", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(lines.encode())
        child.stdin.flush()
        answers = (msgspec.json.decode(line) for line in child.stdout)
        found = next(answer for answer in answers if answer.get("id") == "1")
        child.stdin.close()
    assert found["data"]["cancelled"] is True


@pytest.mark.parametrize(
    ("line", "id", "command"),
    [
        ('{"id":5,"type":"get_last_assistant_text"}', 5, "get_last_assistant_text"),
        ('{"id":"","type":"abort_retry"}', "", "abort_retry"),
        ('{"id":7,"type":"nonsense"}', 7, "nonsense"),
        ('{"id":"x","type":3}', "x", "parse"),
        ('{"id":"x"}', "x", "parse"),
        ('{"id":"x",', None, "parse"),
        ('{"id":"x","type":"set_session_name","name":"cut \\ud83d"}', "x", "set_session_name"),
        ('{"id":"x","type":"get_messages_page","limit":0}', "x", "get_messages_page"),
        ('{"id":"x","type":"extension_ui_response","value":5}', "x", "parse"),
    ],
)
def test_answer_keeps_the_id_whatever_is_wrong(
    tau: Program, line: str, id: str | int | None, command: str
) -> None:
    ran = tau.run("--mode", "rpc", *FAKE, stdin=f"{line}\n")
    answers = [msgspec.json.decode(one) for one in ran.stdout.splitlines()]
    [found] = [answer for answer in answers if answer["type"] == "response"]
    assert (found.get("id"), found["command"]) == (id, command)


def test_text_that_a_program_cut_in_half_a_character_is_sent(tau: Program) -> None:
    tau.script("ok")
    line = '{"id":"1","type":"prompt","message":"cut \\ud83d, \\ud83d\\ude00 and \\\\ud83d"}\n'
    ran = tau.run("--mode", "rpc", *FAKE, stdin=line)
    frames = [msgspec.json.decode(one) for one in ran.stdout.splitlines()]
    sent = next(frame["message"] for frame in frames if frame["type"] == "message_start")
    assert sent["content"] == "cut \ufffd, \U0001f600 and \\ud83d"


def serve_urls(client: RpcClient, answer: Callable[[Frame], Frame]) -> list[Frame]:
    """Answer each request for a URL; returns the requests, which grow."""
    asked: list[Frame] = []

    def take(frame: Frame) -> None:
        if frame["type"] == "host_uri_request":
            asked.append(frame)
            reply = {"type": "host_uri_result", "id": frame["id"], **answer(frame)}
            tasks.append(asyncio.ensure_future(client.connection.write(reply)))

    tasks: list[asyncio.Future[None]] = []
    client.on_event(take)
    return asked


def test_url_of_the_program_is_read_and_written_even_empty(tau: Program) -> None:
    tau.script(
        (Call("read", {"path": "db://users/1"}),),
        (Call("write", {"path": "db://users/1", "content": "Grace"}),),
        (Call("write", {"path": "db://users/2", "content": ""}),),
        (Call("read", {"path": "db://broken"}),),
        "done",
    )

    async def work(client: RpcClient) -> None:
        scheme = HostScheme("db", "A database", writable=True)
        assert (await client.set_host_uri_schemes([scheme])).schemes == ["db"]
        asked = serve_urls(
            client,
            lambda frame: (
                {"isError": True, "error": "no such row"}
                if frame["url"].endswith("broken")
                else {"content": "Ada", "notes": ["from the program"]}
            ),
        )
        events = await client.prompt_and_wait("go")
        ends = [event for event in events if event["type"] == "tool_execution_end"]
        assert [(one["operation"], one["url"], one.get("content")) for one in asked] == [
            ("read", "db://users/1", None),
            ("write", "db://users/1", "Grace"),
            ("write", "db://users/2", ""),
            ("read", "db://broken", None),
        ]
        assert "Ada" in str(ends[0]["result"])
        assert [end["isError"] for end in ends] == [False, False, False, True]
        assert "no such row" in str(ends[3]["result"])

    drive(tau, work)


def test_handoff_continues_in_a_new_session_with_its_document(tau: Program) -> None:
    tau.script("one", "The document: we fixed the parser. " * 20, "I continue.")

    async def work(client: RpcClient) -> None:
        await client.prompt_and_wait("fix the parser")
        before = await client.get_state()
        made = await client.handoff("what is left")
        await client.wait_for_idle()
        after = await client.get_state()
        assert "we fixed the parser" in made.document
        assert before.session_id != after.session_id
        assert (await client.get_last_assistant_text()).text == "I continue."
        [first, *_] = (await client.get_messages()).messages
        assert "we fixed the parser" in msgspec.json.encode(first).decode()

    drive(tau, work)


@pytest.mark.parametrize(
    ("data", "mime_type", "problem"),
    [
        ("%%%", "image/png", "not valid base64"),
        ("AAAA", "image/png", "not image/png, but of an unknown type"),
        (b64encode(PNG).decode(), "image/jpeg", "not image/jpeg, but image/png"),
    ],
)
def test_image_that_a_server_would_refuse_is_not_sent(
    tau: Program, data: str, mime_type: str, problem: str
) -> None:
    async def work(client: RpcClient) -> None:
        image = ImageContent(data, mime_type)
        attached = Attachment("1", "image", "a.png", mime_type, 1, data)
        for extra in ({"images": [image]}, {"attachments": [attached]}):
            with pytest.raises(RpcError, match=problem):
                await client.prompt("look", **extra)  # type: ignore[arg-type]
        assert (await client.get_messages()).messages == []

    drive(tau, work)
