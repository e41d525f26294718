"""RPC mode: the real program, driven by the real client, against the fake server."""

import asyncio
import re
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tau.ai.wire import Attachment, BashExecutionMessage, UserMessage
from tau.base.clock import now_ms
from tau.base.sizes import MIB
from tau.coding.todo.list import TodoItem, TodoPhase
from tau.modes.rpc.client import RpcClient
from tau.modes.rpc.connection import RpcError
from tau.modes.session_commands.table import COMMANDS
from tests.e2e.program import FAKE, TAU, Program, is_alive, wait_for
from tests.support.fake_answers import Call, Silence, Status, Text
from tests.support.limits import HANG_S

Work = Callable[[RpcClient], Awaitable[None]]


def drive(tau: Program, work: Work, *args: str, mode: str = "rpc", **options: Any) -> None:
    """Run `work` with a client of the real program."""

    async def main() -> None:
        command = [*TAU, "--mode", mode, *FAKE, *(args or ("--snapshots", "none"))]
        async with asyncio.timeout(HANG_S):
            async with RpcClient(command=command, cwd=tau.project, **options) as client:
                await work(client)

    asyncio.run(main())


def types(events: list[dict[str, Any]]) -> list[str]:
    names: list[str] = []
    for event in events:
        if names[-1:] != [event["type"]]:
            names.append(event["type"])
    return names


def test_prompt_is_accepted_at_once_and_ends_in_agent_settled(tau: Program) -> None:
    tau.script((Text("I look.", deltas=3), Call("bash", {"command": "echo hi"})), Text("Done", deltas=2))

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("List files")
        assert types(events) == [
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "message_update",
            "message_end",
            "tool_execution_start",
            "tool_execution_end",
            "message_start",
            "message_end",
            "turn_end",
            "turn_start",
            "message_start",
            "message_update",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
        assert events[-2]["willRetry"] is False
        assert events[-1] == {"type": "agent_settled", "aborted": False}
        assert await client.get_last_assistant_text() == msgspec.convert(
            {"text": "Done"}, COMMANDS["get_last_assistant_text"].response
        )

    drive(tau, work)


def test_client_rebuilds_the_message_that_snapshots_would_carry(tau: Program) -> None:
    answer = (Text("One two three", deltas=5), Call("bash", {"command": "echo hi"}, deltas=3))
    finals: dict[str, dict[str, Any]] = {}

    for mode in ("none", "full"):
        tau.script(answer, "ok")

        async def work(client: RpcClient, mode: str = mode) -> None:
            events = await client.prompt_and_wait("go")
            updates = [event for event in events if event["type"] == "message_update"]
            assert all("message" in event for event in updates)
            finals[mode] = updates[4]["message"]["content"][0]

        drive(tau, work, "--snapshots", mode)
    assert finals["none"]["type"] == finals["full"]["type"] == "text"


def test_second_prompt_needs_a_streaming_behavior(tau: Program) -> None:
    tau.script((Call("bash", {"command": "sleep 0.3"}),), "first", "second")

    async def work(client: RpcClient) -> None:
        await client.prompt("one")
        with pytest.raises(RpcError, match="streamingBehavior"):
            await client.prompt("two")
        assert (await client.prompt("three", streaming_behavior="followUp")).disposition == "queued"
        state = await client.get_state()
        assert state.is_streaming
        assert state.queued_message_count == state.pending_message_count == 1
        await client.wait_for_idle()
        assert (await client.get_last_assistant_text()).text == "second"

    drive(tau, work)


def test_prompt_replaces_the_run_it_aborts(tau: Program) -> None:
    tau.script(Silence(), "instead")

    async def work(client: RpcClient) -> None:
        await client.prompt("one")
        assert (await client.follow_up("two")).disposition == "queued"
        assert (await client.clear_queue()).follow_up == ["two"]
        while len(tau.server.requests) < 1:
            await client.get_state()
        await client.abort_and_prompt("three")
        await client.wait_for_idle()
        assert (await client.get_last_assistant_text()).text == "instead"

    drive(tau, work)


def test_steering_an_idle_agent_starts_a_run(tau: Program) -> None:
    async def work(client: RpcClient) -> None:
        assert (await client.steer("hello")).disposition == "started"
        await client.wait_for_idle()
        assert (await client.get_last_assistant_text()).text == "ok"

    drive(tau, work)


def test_abort_answers_when_idle_and_the_run_settles(tau: Program) -> None:
    tau.script(Silence())

    async def work(client: RpcClient) -> None:
        events: list[dict[str, Any]] = []
        client.on_event(events.append)
        await client.prompt("go")
        while len(tau.server.requests) < 1:
            await client.get_state()
        await client.abort()
        assert not (await client.get_state()).is_streaming
        assert events[-1] == {"type": "agent_settled", "aborted": True}
        messages = (await client.get_messages()).messages
        assert isinstance(messages[0], UserMessage)

    drive(tau, work)


def test_slow_bash_blocks_nothing_and_can_be_stopped(tau: Program) -> None:
    async def work(client: RpcClient) -> None:
        shown: list[str] = []
        client.on_event(lambda event: shown.append(event.get("delta", "")))
        async with asyncio.TaskGroup() as tasks:
            slow = tasks.create_task(client.bash("echo begun; sleep 60"))
            while "begun\n" not in shown:
                await client.get_state()
            await client.abort_bash()
            result = await slow
        assert (result.output, result.cancelled) == ("begun\n", True)
        [message] = (await client.get_messages()).messages
        assert isinstance(message, BashExecutionMessage)

    drive(tau, work)


def test_failed_prompt_settles_too(tau: Program) -> None:
    tau.script(Status(400, "no"))

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("go")
        assert types(events)[-2:] == ["agent_end", "agent_settled"]
        last = events[-2]["messages"][-1]
        assert last["stopReason"] == "error"

    drive(tau, work)


def test_agent_end_says_that_a_retry_follows(tau: Program) -> None:
    tau.settings(**{"retry.baseDelayMs": 1})
    tau.script(Status(529, "overloaded"), "fine")

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("go")
        ends = [event["willRetry"] for event in events if event["type"] == "agent_end"]
        assert ends == [True, False]
        assert types(events).count("agent_settled") == 1
        assert types(events).index("agent_end") < types(events).index("auto_retry_start")

    drive(tau, work)


def test_every_command_answers(tau: Program) -> None:
    tau.script("one", "two", "three", "summary " * 60, "handed over")

    async def work(client: RpcClient) -> None:
        await client.prompt_and_wait("first question")
        await client.prompt_and_wait("second question")
        points = (await client.get_branch_messages()).messages
        assert [point.text for point in points] == ["first question", "second question"]
        assert await client.get_fork_messages() == await client.get_branch_messages()
        await client.set_session_name("my work")
        assert (await client.get_state()).session_name == "my work"
        assert (await client.get_session_stats()).user_messages == 2
        entries = await client.get_entries()
        assert len((await client.get_entries(since=entries.leaf_id)).entries) == 0
        tree = msgspec.json.decode((await client.get_tree()).tree)
        assert tree[0]["entry"]["type"] == "model_change"
        page = await client.get_messages_page(limit=3)
        assert (len(page.messages), page.total_messages) == (3, 4)
        rest = await client.get_messages_page(cursor=str(page.next_cursor))
        assert len(rest.messages) == 1
        moved = await client.branch(points[1].entry_id)
        assert moved.text == "second question"
        with pytest.raises(RpcError) as stale:
            await client.get_messages_page(cursor=str(page.next_cursor))
        assert stale.value.code == "stale_cursor"
        levels, servers = (await client.get_available_thinking_levels()).levels, await client.mcp(["list"])
        assert levels == ["off"]
        assert (
            servers.data == []
            and await client.cycle_thinking_level() is await client.set_thinking_level("off") is None
        )
        models = (await client.get_available_models()).models
        assert ("fake", "fake-model") in [(model.provider, model.id) for model in models]
        assert (await client.set_model("fake", "fake-model")).id == "fake-model"
        assert await client.cycle_model() is None
        for mode in ("all", "one-at-a-time"):
            await client.set_steering_mode(mode)  # type: ignore[arg-type]
            await client.set_follow_up_mode(mode)  # type: ignore[arg-type]
        await client.set_interrupt_mode("wait")
        await client.set_auto_compaction(False)
        await client.set_auto_retry(False)
        await client.abort_retry()
        await client.set_approval_mode("ask")
        state = await client.get_state()
        assert (state.interrupt_mode, state.approval_mode) == ("wait", "ask")
        assert not state.auto_compaction_enabled
        phases = (TodoPhase("Work", (TodoItem("Write it", "in_progress"),)),)
        assert (await client.set_todos(phases)).todo_phases == phases
        exported = await client.export_html(str(tau.project / "page.html"))
        assert Path(exported.path).read_text().startswith("<!DOCTYPE html>")
        assert (await client.clear_queue()).steering == []
        assert await client.get_available_commands() == await client.get_commands()

    drive(tau, work)


def test_subagents_are_listed_watched_read_and_messaged(tau: Program) -> None:
    tasks = [{"assignment": "look around", "id": "Ann"}]
    spawn = Call("task", {"agent": "oracle", "context": "c", "tasks": tasks})
    tau.script((spawn,), (Call("yield", {"data": "all fine"}),), "thanks", "noted")

    async def work(client: RpcClient) -> None:
        assert (await client.get_subagents()).subagents == []
        began = now_ms()
        await client.set_subagent_subscription("events")
        kinds = types(await client.prompt_and_wait("go"))
        assert {"subagent_lifecycle", "subagent_event"} <= set(kinds)
        [ann] = (await client.get_subagents()).subagents
        assert (ann.id, ann.agent, ann.status) == ("Ann", "oracle", "completed")
        assert began <= ann.last_update <= now_ms()
        first = await client.get_subagent_messages("Ann")
        assert first.messages and not first.reset
        assert (await client.get_subagent_messages("Ann", from_byte=first.next_byte)).entries == []
        assert (await client.get_subagent_messages("Ann", from_byte=10**9)).reset
        assert (await client.message_subagent("Ann", "more?")).outcome == "woken"
        await client.stop_subagent("all")
        with pytest.raises(RpcError, match="no agent"):
            await client.stop_subagent("nobody")
        await client.set_subagent_subscription("off")
        end = Path(first.session_file).stat().st_size
        with Path(first.session_file).open("a") as log:
            log.write('{"type": "long", "text": "%s"}\n' % ("x" * 5 * MIB))
        assert len((await client.get_subagent_messages("Ann", from_byte=end)).entries) == 1

    drive(tau, work)


def test_sessions_can_be_switched_forked_and_cloned(tau: Program) -> None:
    tau.script("one", "two", "three")

    async def work(client: RpcClient) -> None:
        await client.prompt_and_wait("first")
        await client.prompt_and_wait("second")
        first = await client.get_state()
        points = (await client.get_fork_messages()).messages
        forked = await client.fork(points[1].entry_id)
        assert forked.text == "second"
        copy = await client.get_state()
        assert (copy.message_count, copy.session_id != first.session_id) == (2, True)
        await client.switch_session(str(first.session_file))
        assert (await client.get_state()).message_count == 4
        await client.clone()
        assert (await client.get_state()).message_count == 4
        await client.new_session()
        assert (await client.get_state()).message_count == 0
        for name in ("missing.jsonl", "zero\0byte.jsonl"):
            with pytest.raises(RpcError, match="no session file"):
                await client.switch_session(name)
        assert (await client.get_state()).message_count == 0
        await client.prompt_and_wait("third")

    drive(tau, work)


def test_attached_document_reaches_the_model_as_text(tau: Program) -> None:
    async def work(client: RpcClient) -> None:
        document = Attachment("1", "document", "a.txt", "text/plain", 5, "aGVsbG8=")
        await client.prompt("read it", attachments=[document])
        await client.wait_for_idle()
        [message, _] = (await client.get_messages()).messages
        assert isinstance(message, UserMessage)
        assert message.attachments[0].extracted_text == "hello"  # type: ignore[index]
        broken = Attachment("1", "document", "b.bin", "x", 1, "/w==")
        with pytest.raises(RpcError, match=r"b\.bin"):
            await client.prompt("read it", attachments=[broken])

    drive(tau, work)
    assert "hello" in tau.user_messages()[-1]


def test_host_tool_runs_in_the_program_and_can_be_canceled(tau: Program) -> None:
    tau.script((Call("weather", {"city": "Bern"}),), "sunny", (Call("slow", {}),), "never reached")

    async def work(client: RpcClient) -> None:
        started, stopped = asyncio.Event(), asyncio.Event()

        async def weather(city: str) -> str:
            """The weather in a city."""
            return f"Sun in {city}"

        async def slow() -> str:
            """Take forever."""
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return ""

        assert await client.use_tools(weather, slow) == ["weather", "slow"]
        with pytest.raises(RpcError, match="is taken"):
            await client.use_tools(_named("bash"))
        await client.use_tools(weather, slow)
        events = await client.prompt_and_wait("weather?")
        [end] = [event for event in events if event["type"] == "tool_execution_end"]
        assert end["result"]["content"] == [{"type": "text", "text": "Sun in Bern"}]
        await client.prompt("slow")
        await started.wait()
        await client.abort()
        await stopped.wait()

    drive(tau, work)


def _named(name: str) -> Callable[[], str]:
    def function() -> str:
        """Take a name that is in use."""
        return ""

    function.__name__ = name
    return function


def test_approval_is_denied_in_rpc_and_asked_in_rpc_ui(tau: Program) -> None:
    outside = tau.project.parent / "outside.txt"
    call = (Call("write", {"path": str(outside), "content": "new text"}),)
    asked: list[dict[str, Any]] = []

    async def refused(client: RpcClient) -> None:
        events = await client.prompt_and_wait("write")
        [end] = [event for event in events if event["type"] == "tool_execution_end"]
        assert end["isError"]
        assert not outside.exists()

    tau.script(call, "no")
    drive(tau, refused)

    async def answered(client: RpcClient) -> None:
        def answer(request: dict[str, Any]) -> dict[str, Any]:
            asked.append(request)
            return {"value": request["options"][0]}

        client.on_ui_request(answer)
        await client.prompt_and_wait("write")
        assert outside.read_text() == "new text"

    tau.script(call, "yes")
    drive(tau, answered, mode="rpc-ui")
    assert asked[0]["method"] == "select"
    assert "new text" in asked[0]["title"]


def test_unanswered_dialog_times_out_and_the_model_reads_so(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "rpc.dialogTimeout": 1})
    outside = tau.project.parent / "outside.txt"
    tau.script((Call("write", {"path": str(outside), "content": "x"}),), "ok")

    async def work(client: RpcClient) -> None:
        over = asyncio.Event()

        async def never(request: dict[str, Any]) -> None:
            await over.wait()

        client.on_ui_request(never)
        events = await client.prompt_and_wait("write")
        over.set()
        [end] = [event for event in events if event["type"] == "tool_execution_end"]
        assert "The user did not answer" in end["result"]["content"][0]["text"]
        assert any(event.get("method") == "cancel" for event in events)

    drive(tau, work, mode="rpc-ui")


def raw(tau: Program, *lines: bytes, args: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    ran = subprocess.run(
        [*TAU, "--mode", "rpc", *FAKE, *args],
        input=b"".join(lines),
        capture_output=True,
        cwd=tau.project,
        timeout=HANG_S,
    )
    assert ran.returncode == 0, ran.stderr
    return [msgspec.json.decode(line) for line in ran.stdout.split(b"\n")[:-1]]


def test_framing_survives_every_kind_of_bad_line(tau: Program) -> None:
    lines = raw(
        tau,
        b"{bad\n",
        b'{"id":"1","type":"get_last_assistant_text"}\r\n',
        b'[]\n\n"x"\n',
        b'{"type":7}\n',
        b'{"id":"2","type":"nonsense"}\n',
        b'{"id":"3","type":"set_model"}\n',
        b"\xff\xfe\n",
        b'{"id":"4","type":"prompt","message":""}\n',
        b"[" * 5000 + b"\n",
        b'{"id":"5","type":"get_last_assistant_text"}',
    )
    assert lines[0] == {"type": "ready"}
    answers = [line for line in lines if line["type"] == "response"]
    by_id = {line.get("id"): line for line in answers}
    assert by_id["1"]["data"] == by_id["5"]["data"] == {"text": None}
    assert by_id["2"]["code"] == "unknown_command"
    assert "provider" in by_id["3"]["error"]
    assert by_id["4"]["error"] == "The message is empty."
    assert sum(line["command"] == "parse" for line in answers) == 6
    errors = [line["error"] for line in lines if line["type"] == "error"]
    assert errors == [line["error"] for line in answers if not line["success"]]


def test_separators_of_unicode_lines_are_escaped(tau: Program) -> None:
    tau.script("a\u2028b\u2029c")
    ran = subprocess.run(
        [*TAU, "--mode", "rpc", *FAKE],
        input=b'{"type":"prompt","message":"go"}\n{"type":"abort_bash"}\n',
        capture_output=True,
        cwd=tau.project,
        timeout=HANG_S,
    )
    assert "\u2028" not in ran.stdout.decode()
    assert "\u2029" not in ran.stdout.decode()


def test_files_and_prompts_on_the_command_line_are_rejected(tau: Program) -> None:
    for words in (("@file",), ("hello",)):
        ran = tau.run(*FAKE, "--mode", "rpc", *words)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "command line" in ran.stderr


def test_first_version_sends_failed_results_as_text(tau: Program) -> None:
    for args, expected in (((), dict), (("--rpc-version", "1"), str)):
        tau.script((Call("read", {"path": "missing.txt"}),), "ok")

        async def work(client: RpcClient, expected: type = expected) -> None:
            events = await client.prompt_and_wait("read")
            [end] = [event for event in events if event["type"] == "tool_execution_end"]
            assert isinstance(end["result"], expected)

        drive(tau, work, "--snapshots", "none", *args)


def test_end_of_input_stops_the_run_and_records_it(tau: Program) -> None:
    tau.script((Call("bash", {"command": "echo $$ > pid; sleep 60"}),))
    child = subprocess.Popen(
        [*TAU, "--mode", "rpc", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    )
    assert child.stdin is not None
    child.stdin.write(b'{"type":"prompt","message":"go"}\n')
    child.stdin.flush()
    pid = int(wait_for(tau.project / "pid"))
    child.stdin.close()
    assert child.wait(HANG_S) == 0
    assert not is_alive(pid)
    assert child.stdout is not None
    child.stdout.close()
    [entries] = tau.sessions()
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles == ["user", "assistant", "toolResult"]


@pytest.mark.parametrize(
    "command",
    [
        "echo $$ > pid; sleep 60",
        "trap '' TERM; echo $$ > pid; sleep 60; sleep 60",
        "setsid sleep 60 & echo $! > pid; sleep 60",
    ],
    ids=["plain", "ignores TERM", "another session"],
)
def test_signal_records_the_run_and_leaves_no_child(tau: Program, command: str) -> None:
    number = signal.SIGTERM
    tau.script((Call("bash", {"command": command}),))
    child = subprocess.Popen(
        [*TAU, "--mode", "rpc", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b'{"type":"prompt","message":"go"}\n')
    child.stdin.flush()
    pid = int(wait_for(tau.project / "pid"))
    child.send_signal(number)
    assert child.wait(HANG_S) == 128 + number
    assert not is_alive(pid)
    child.stdin.close()
    child.stdout.close()
    [entries] = tau.sessions()
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles == ["user", "assistant", "toolResult"]


def test_reader_that_goes_away_ends_the_program_although_it_says_nothing(tau: Program) -> None:
    tau.script((Call("bash", {"command": "echo $$ > pid; sleep 60"}),))
    child = subprocess.Popen(
        [*TAU, "--mode", "rpc", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b'{"type":"prompt","message":"go"}\n')
    child.stdin.flush()
    pid = int(wait_for(tau.project / "pid"))
    child.stdout.close()
    assert child.wait(HANG_S) in (0, 128 + signal.SIGPIPE)
    assert not is_alive(pid)
    child.stdin.close()


def test_client_that_writes_before_it_reads_does_not_hang(tau: Program) -> None:
    """Both pipes fill up: the program has to read although nobody reads its answers."""
    child = subprocess.Popen(
        [*TAU, "--mode", "rpc", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for _ in range(300):
        child.stdin.write(b'{"type":"get_state"}\n' + b" " * 2000 + b"\n")
    child.stdin.close()
    data = child.stdout.read()
    child.stdout.close()
    assert child.wait(HANG_S) == 0
    assert data.count(b'"command":"get_state"') == 300


def test_every_command_is_called_by_a_test() -> None:
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_rpc_*.py"))
    called = {*re.findall(r"client\.(\w+)\(", sources), "set_host_tools"}  # `use_tools` calls this one
    assert set(COMMANDS) - called == set()
