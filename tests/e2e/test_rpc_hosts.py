"""RPC mode with programs that answer never, twice, wrongly or too late."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tau.modes.rpc.client import RpcClient
from tau.modes.session_commands.host_tools import HostScheme, HostTool
from tests.e2e.program import Program
from tests.e2e.test_rpc_program import drive
from tests.support.fake_answers import Call

Frame = dict[str, Any]
NEVER: list[Frame] = []
TOOL_ENDS = (
    ([{"type": "host_tool_result", "result": "one"}, {"type": "host_tool_result", "result": "two"}], "one"),
    ([{"type": "host_tool_result", "result": 7}], "result is invalid"),
    ([{"type": "host_tool_result", "result": {"content": "x"}}], "result is invalid"),
    ([{"type": "host_tool_result"}], "(no output)"),
    (
        [{"type": "host_tool_update", "partialResult": 7}, {"type": "host_tool_result", "result": "one"}],
        "one",
    ),
    (
        [{"type": "host_tool_result", "result": "one"}, {"type": "host_tool_update", "partialResult": "x"}],
        "one",
    ),
    ([{"type": "host_tool_result", "isError": 3}, {"type": "host_tool_result", "result": "one"}], "one"),
)


def answer_frames(client: RpcClient, kind: str, replies: list[Frame]) -> asyncio.Future[Frame]:
    """Send these for the first frame of a kind, which is returned; the client itself does not see it."""
    seen: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
    inner: Callable[[Frame], None] = client.connection._on_frame

    async def send(id: str) -> None:
        for reply in replies:
            await client.connection.write({"id": id, **reply})

    def take(frame: Frame) -> None:
        if frame["type"] != kind or seen.done():
            inner(frame)
        else:
            seen.set_result(frame)
            sending.append(asyncio.ensure_future(send(frame["id"])))

    sending: list[asyncio.Future[None]] = []
    client.connection._on_frame = take
    return seen


def result_of(events: list[Frame]) -> str:
    [end] = [event for event in events if event["type"] == "tool_execution_end"]
    return str(end["result"]["content"])


@pytest.mark.parametrize(("replies", "shown"), TOOL_ENDS)
def test_call_of_a_host_tool_ends_once_whatever_the_host_sends(
    tau: Program, replies: list[Frame], shown: str
) -> None:
    tau.script((Call("weather", {}),), "done")

    async def work(client: RpcClient) -> None:
        await client.set_host_tools([HostTool("weather", "The weather", {"type": "object"})])
        answer_frames(client, "host_tool_call", replies)
        assert shown in result_of(await client.prompt_and_wait("weather?"))
        assert (await client.get_last_assistant_text()).text == "done"

    drive(tau, work)


def test_answer_of_a_host_tool_after_its_cancel_is_ignored(tau: Program) -> None:
    tau.script((Call("weather", {}),), "next")

    async def work(client: RpcClient) -> None:
        await client.set_host_tools([HostTool("weather", "The weather", {"type": "object"})])
        asked = answer_frames(client, "host_tool_call", NEVER)
        canceled = answer_frames(client, "host_tool_cancel", NEVER)
        await client.prompt("weather?")
        id = (await asked)["id"]
        await client.abort()
        assert (await canceled)["targetId"] == id
        for name in ("host_tool_update", "host_tool_result"):
            await client.connection.write({"type": name, "id": id, "result": "x", "partialResult": "x"})
        await client.prompt_and_wait("go on")
        assert (await client.get_last_assistant_text()).text == "next"

    drive(tau, work)


@pytest.mark.parametrize(
    ("replies", "shown"),
    [
        ([{"content": "Ada"}, {"content": "Bob"}], "Ada"),
        ([{"content": 7}, {"content": "Ada"}], "Ada"),
        ([{"isError": True}], "cannot be read"),
        ([{}], "text"),
    ],
)
def test_read_of_a_host_url_ends_once_whatever_the_host_sends(
    tau: Program, replies: list[Frame], shown: str
) -> None:
    tau.script((Call("read", {"path": "db://1"}),), "done")

    async def work(client: RpcClient) -> None:
        await client.set_host_uri_schemes([HostScheme("db")])
        answer_frames(client, "host_uri_request", [{"type": "host_uri_result", **reply} for reply in replies])
        assert shown in result_of(await client.prompt_and_wait("read"))
        assert (await client.get_last_assistant_text()).text == "done"

    drive(tau, work)


@pytest.mark.parametrize(
    ("replies", "written"),
    [
        ([{"value": "YES"}, {"value": "NO"}], True),
        ([{"value": "NO"}, {"value": "YES"}], False),
        ([{"value": "something else"}], False),
        ([{"value": 7}, {"value": "YES"}], True),
        ([{"confirmed": True}], False),
        ([{}], False),
    ],
)
def test_only_the_first_valid_answer_to_a_dialog_counts(
    tau: Program, replies: list[Frame], written: bool
) -> None:
    outside = tau.project.parent / "outside.txt"
    tau.script((Call("write", {"path": str(outside), "content": "x"}),), "done")

    async def work(client: RpcClient) -> None:
        frames: list[Frame] = []
        asked = answer_frames(client, "extension_ui_request", frames)

        def fill(_: object) -> None:
            options = asked.result()["options"]
            yes, no = options[0], next(option for option in options if option.startswith("No"))
            named = {"YES": yes, "NO": no}
            for reply in replies:
                value = {"value": named.get(reply["value"], reply["value"])} if "value" in reply else {}
                frames.append({"type": "extension_ui_response", **reply, **value})

        asked.add_done_callback(fill)
        await client.prompt_and_wait("write")
        assert outside.exists() is written
        assert (await client.get_last_assistant_text()).text == "done"

    drive(tau, work, mode="rpc-ui")
