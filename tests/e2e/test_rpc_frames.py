"""RPC mode: token counts in updates, URLs of the program, and the commands that replace the session."""

import asyncio
import subprocess
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tau.modes.rpc.client import RpcClient
from tau.modes.session_commands.host_parts import HostScheme
from tests.e2e.program import FAKE, TAU, Program
from tests.e2e.test_rpc_program import drive
from tests.support.fake_answers import Call, Text

Frame = dict[str, Any]


@pytest.mark.parametrize("snapshots", ["none", "full"])
def test_each_update_carries_the_token_counts_of_its_message(tau: Program, snapshots: str) -> None:
    tau.script(Text("One two three", deltas=5))

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("go")
        updates = [event for event in events if event["type"] == "message_update"]
        [started] = [event for event in events if event["type"] == "message_start"][1:]
        assert len(updates) >= 5
        assert all(update["usage"] == started["message"]["usage"] for update in updates)

    drive(tau, work, "--snapshots", snapshots)


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
    ],
)
def test_answer_keeps_the_id_whatever_is_wrong(
    tau: Program, line: str, id: str | int | None, command: str
) -> None:
    ran = tau.run("--mode", "rpc", *FAKE, stdin=f"{line}\n")
    answers = [msgspec.json.decode(one) for one in ran.stdout.splitlines()]
    [found] = [answer for answer in answers if answer["type"] == "response"]
    assert (found.get("id"), found["command"]) == (id, command)


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
