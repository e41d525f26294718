"""ACP mode: the real program, driven by the SDK's own client."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from acp import schema as a
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError

from tests.e2e.acp_editor import Editor, connected, text
from tests.e2e.program import FAKE, TAU, Program
from tests.support.fake_answers import Call, Status, Text

Work = Callable[[ClientSideConnection, Editor], Awaitable[None]]


def drive(tau: Program, work: Work, *args: str, editor: Editor | None = None, **options: Any) -> Editor:
    """Run `work` with a client of the real program."""

    async def main() -> Editor:
        used = editor or Editor()
        async with connected(tau, used, *args, **options) as agent:
            await work(agent, used)
        return used

    return asyncio.run(main())


def test_prompt_streams_text_and_ends_its_turn(tau: Program) -> None:
    start(tau)
    tau.script(Text("Hello there", deltas=3))

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        answer = await agent.prompt(session.session_id, text("hi"))
        assert answer.stop_reason == "end_turn"
        assert editor.text() == "Hello there"
        assert answer.usage is not None and answer.usage.input_tokens == 5000

    drive(tau, work)
    assert tau.user_messages() == ["hi"]


def start(tau: Program) -> None:
    """Without a request for the session's name."""
    tau.settings(**{"retry.enabled": False, "titles.enabled": False})


def test_answer_to_new_session_comes_before_any_update(tau: Program) -> None:
    command = tau.home / "prompts" / "review.md"
    command.parent.mkdir()
    command.write_text("Review $1")
    lines = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
        f'{{"jsonrpc":"2.0","id":2,"method":"session/new","params":{{"cwd":"{tau.project}","mcpServers":[]}}}}\n'
    )
    with subprocess.Popen(
        [*TAU, "acp", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(lines.encode())
        child.stdin.flush()
        found = [msgspec.json.decode(child.stdout.readline()) for _ in range(3)]
        child.stdin.close()
    assert (child.returncode, [message.get("id") for message in found]) == (0, [1, 2, None])
    update = found[2]["params"]["update"]
    assert update["sessionUpdate"] == "available_commands_update"
    assert update["availableCommands"][0]["name"] == "review"


def test_calls_show_kind_files_and_diffs(tau: Program) -> None:
    start(tau)
    (tau.project / "a.txt").write_text("one\ntwo\n")
    tau.script(
        (Call("read", {"path": "a.txt"}),),
        (Call("write", {"path": "a.txt", "content": "one\n2\n"}),),
        (Call("write", {"path": "new.txt", "content": "fresh\n"}),),
        (Call("bash", {"command": "echo out; exit 3"}),),
        "done",
    )

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))
        starts = editor.of("tool_call")
        ends = [one for one in editor.of("tool_call_update") if one.status in ("completed", "failed")]
        assert [one.kind for one in starts] == ["read", "edit", "edit", "execute"]
        assert starts[0].locations[0].path == str(tau.project / "a.txt")
        assert starts[3].title == "echo out; exit 3"
        assert [one.status for one in ends] == ["completed", "completed", "completed", "failed"]
        [change], [creation] = ends[1].content, ends[2].content
        assert (change.old_text, change.new_text) == ("one\ntwo", "one\n2")
        assert (creation.path, creation.old_text) == (str(tau.project / "new.txt"), None)
        assert creation.new_text == "fresh\n"
        assert "out" in ends[3].content[0].content.text
        assert editor.of("usage_update")[-1].size > 0

    drive(tau, work)


def test_permission_request_carries_the_whole_command_and_the_diff(tau: Program) -> None:
    start(tau)
    command = "echo " + "x" * 3000 + " > /etc/motd_of_test"
    tau.script(
        (Call("write", {"path": "a.txt", "content": "new text\n"}),),
        (Call("bash", {"command": command}),),
        "done",
    )
    (tau.project / "a.txt").write_text("old text\n")

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        async def answer(call: a.ToolCallUpdate) -> str | None:
            return "no" if call.kind == "execute" else "once"

        editor.answer = answer
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))
        (write, options), (run, _) = editor.asked
        assert write.content is not None and run.content is not None
        diff = write.content[0]
        assert isinstance(diff, a.FileEditToolCallContent)
        assert (diff.old_text, diff.new_text) == ("old text\n", "new text\n")
        assert [option.kind for option in options][:2] == ["allow_once", "reject_once"]
        assert run.title == command
        assert command in str(run.content[0])
        starts = {one.tool_call_id for one in editor.of("tool_call")}
        assert {write.tool_call_id, run.tool_call_id} == starts
        assert (tau.project / "a.txt").read_text() == "new text\n"

    drive(tau, work, "--approval-mode", "ask")


def test_cancel_ends_in_cancelled_after_the_last_update(tau: Program) -> None:
    start(tau)
    tau.script((Text("Wait."), Call("bash", {"command": "sleep 60"})), "again")

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(agent.prompt(session.session_id, text("go")))
            await editor.wait_for(lambda: editor.of("tool_call"))
            await agent.cancel(session.session_id)
            answer = await running
        assert answer.stop_reason == "cancelled"
        assert editor.of("tool_call_update")[-1].status == "failed"
        known = len(editor.updates)
        assert (await agent.prompt(session.session_id, text("again"))).stop_reason == "end_turn"
        assert editor.updates[known].session_update == "agent_message_chunk"

    drive(tau, work)


def test_cancel_while_the_user_is_asked_ends_the_turn(tau: Program) -> None:
    start(tau)
    tau.script((Call("write", {"path": "a.txt", "content": "x"}),), "never")

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        asked = asyncio.Event()

        async def answer(call: a.ToolCallUpdate) -> str | None:
            asked.set()
            await asyncio.Event().wait()
            return None

        editor.answer = answer
        session = await agent.new_session(str(tau.project))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(agent.prompt(session.session_id, text("go")))
            await asked.wait()
            await agent.cancel(session.session_id)
            assert (await running).stop_reason == "cancelled"
        assert not (tau.project / "a.txt").exists()

    drive(tau, work, "--approval-mode", "ask")


def test_loaded_session_replays_its_history_first(tau: Program) -> None:
    start(tau)
    tau.script(
        (Text("I write."), Call("write", {"path": "a.txt", "content": "hello\n"})), "Written.", "Resumed."
    )
    ids: list[str] = []

    async def first(agent: ClientSideConnection, editor: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        ids.append(session.session_id)
        await agent.prompt(session.session_id, text("write a file"))

    drive(tau, first)

    async def second(agent: ClientSideConnection, editor: Editor) -> None:
        await agent.load_session(str(tau.project), ids[0])
        kinds = [update.session_update for update in editor.updates]
        assert kinds == [
            "user_message_chunk",
            "agent_message_chunk",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
        ]
        assert editor.text("user_message_chunk") == "write a file"
        assert editor.text() == "I write.Written."
        [diff] = editor.of("tool_call_update")[0].content
        assert diff.new_text == "hello\n"
        editor.updates.clear()
        await agent.prompt(ids[0], text("go on"))
        assert editor.text() == "Resumed."

    drive(tau, second)
    assert len(tau.sessions()) == 1
    assert tau.user_messages() == ["write a file", "go on"]


def test_sessions_are_listed_resumed_forked_and_closed(tau: Program) -> None:
    start(tau)
    tau.script("one", "two", "three")

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        opened = await agent.new_session(str(tau.project))
        await agent.prompt(opened.session_id, text("first"))
        [row] = (await agent.list_sessions(cwd=str(tau.project))).sessions
        assert (row.session_id, row.cwd, row.title) == (opened.session_id, str(tau.project), "first")
        fork = await agent.fork_session(opened.session_id, str(tau.project))
        assert fork.session_id != opened.session_id
        await agent.prompt(fork.session_id, text("second"))
        await agent.close_session(opened.session_id)
        with pytest.raises(RequestError, match="is not open"):
            await agent.prompt(opened.session_id, text("closed"))
        editor.updates.clear()
        await agent.resume_session(opened.session_id, str(tau.project))
        await agent.prompt(opened.session_id, text("third"))
        assert editor.of("user_message_chunk") == []
        assert len((await agent.list_sessions()).sessions) == 2

    drive(tau, work)
    assert tau.user_messages(1) == ["first", "second"]
    assert tau.user_messages(2) == ["first", "third"]


def test_mode_model_and_level_can_be_chosen(tau: Program) -> None:
    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        id = session.session_id
        assert session.modes is not None and session.config_options is not None
        assert session.modes.current_mode_id == "workspace"
        assert [option.id for option in session.config_options] == ["mode", "model"]
        await agent.set_session_mode(id, "ask")
        await editor.wait_for(lambda: editor.of("current_mode_update"))
        assert editor.of("current_mode_update")[0].current_mode_id == "ask"
        changed = await agent.set_config_option("mode", id, "plan")
        assert changed is not None and changed.config_options[0].current_value == "plan"
        changed = await agent.set_config_option("model", id, "fake/fake-model")
        assert changed is not None and changed.config_options[1].current_value == "fake/fake-model"
        for option, value in (("mode", "reckless"), ("model", "nowhere/x"), ("size", "1")):
            with pytest.raises(RequestError):
                await agent.set_config_option(option, id, value)

    drive(tau, work)


def test_prompt_takes_images_resources_and_links(tau: Program) -> None:
    start(tau)
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        extra = tau.project.parent / "other"
        extra.mkdir()
        session = await agent.new_session(str(tau.project), additional_directories=[str(extra)])
        linked = a.ResourceContentBlock(type="resource_link", name="b", uri="file:///tmp/b%20c.txt")
        resource = a.TextResourceContents(uri="file:///tmp/a.txt", text="inside")
        blocks: list[Any] = [
            *text("Look at "),
            linked,
            a.EmbeddedResourceContentBlock(type="resource", resource=resource),
            a.ImageContentBlock(type="image", data=pixel, mime_type="image/png"),
        ]
        await agent.prompt(session.session_id, blocks)
        sound = a.AudioContentBlock(type="audio", data="", mime_type="audio/wav")
        with pytest.raises(RequestError, match="Audio"):
            await agent.prompt(session.session_id, [sound])
        with pytest.raises(RequestError, match="absolute path"):
            await agent.new_session("relative")

    drive(tau, work)
    [message] = tau.user_messages()
    assert "Look at @/tmp/b c.txt" in message
    assert '<file path="/tmp/a.txt">\ninside\n</file>' in message
    assert "image_url" in str(tau.server.requests[-1].body)


def test_todos_are_the_plan_and_a_name_is_session_info(tau: Program) -> None:
    todo = {"ops": [{"op": "init", "list": [{"phase": "Work", "items": ["Read", "Write"]}]}]}
    tau.script((Call("todo", todo),), "done", "A good name")

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("plan it"))
        entries = editor.of("plan")[-1].entries
        assert [(entry.content, entry.status) for entry in entries][-1] == ("Write", "pending")
        await editor.wait_for(lambda: editor.of("session_info_update"))
        assert editor.of("session_info_update")[0].title

    drive(tau, work)


def test_failed_request_is_an_error_with_the_reason(tau: Program) -> None:
    start(tau)
    tau.script(Status(400, "the model is on fire"), "fine")

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        with pytest.raises(RequestError, match="the model is on fire"):
            await agent.prompt(session.session_id, text("go"))
        assert (await agent.prompt(session.session_id, text("go"))).stop_reason == "end_turn"

    drive(tau, work)


def test_methods_that_are_not_there_are_answered_so(tau: Program) -> None:
    names = ("session/delete", "logout", "providers/list", "nes/start", "_tau/hello", "nonsense")
    lines = "".join(
        f'{{"jsonrpc":"2.0","id":{at},"method":"{name}","params":{{}}}}\n' for at, name in enumerate(names)
    )
    ran = tau.run("acp", *FAKE, stdin=lines)
    found = [msgspec.json.decode(line) for line in ran.stdout.splitlines()]
    assert [message["error"]["code"] for message in found] == [-32601] * len(names)


def test_missing_package_is_named_with_the_command_that_installs_it(tau: Program) -> None:
    (tau.project / "acp.py").write_text("raise ModuleNotFoundError(\"No module named 'acp'\", name='acp')")
    ran = tau.run("acp", stdin="", PYTHONPATH=str(tau.project))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "pip install 'tau-agent[acp]'" in ran.stderr


def test_session_that_is_loaded_again_has_one_writer(tau: Program) -> None:
    start(tau)
    tau.script("one", "two")

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        id = (await agent.new_session(str(tau.project))).session_id
        await agent.prompt(id, text("hi"))
        await agent.load_session(str(tau.project), id[:-1])
        with pytest.raises(RequestError, match="is not open"):
            await agent.prompt(id, text("lost"))
        await asyncio.gather(*(agent.load_session(str(tau.project), id) for _ in range(4)))
        with pytest.raises(RequestError, match="is not open"):
            await agent.prompt(id[:-1], text("lost"))
        await agent.prompt(id, text("again"))

    drive(tau, work)
    assert tau.user_messages() == ["hi", "again"]


COMMANDS = """
import asyncio, os

def extension(tau):
    @tau.command("greet")
    async def greet(args, ctx):
        "Greet somebody"
        color = await ctx.ui.select("Color?", ["red", "blue"])
        os.write(1, b"not a message")
        can = [name for name in ("select", "confirm", "notify", "widget", "custom") if ctx.ui.can(name)]
        ctx.ui.widget("w", ["row"])
        ctx.ui.notify(f"{color} {await ctx.ui.custom(lambda *_: None)} {can}")

    @tau.command("hang")
    async def hang(args, ctx):
        ctx.ui.notify("waiting")
        await asyncio.sleep(1000)
"""


def test_command_of_an_extension_is_offered_speaks_and_can_be_stopped(tau: Program) -> None:
    start(tau)
    (tau.project / "e.py").write_text(COMMANDS)

    async def choose_first(call: a.ToolCallUpdate) -> str:
        return "0"

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        editor.answer = choose_first
        session = await agent.new_session(str(tau.project))
        await editor.wait_for(lambda: editor.of("available_commands_update"))
        offered = editor.of("available_commands_update")[0].available_commands
        assert [(one.name, one.description) for one in offered] == [
            ("greet", "Greet somebody"),
            ("hang", "hang"),
        ]
        answer = await agent.prompt(session.session_id, text("/greet"))
        assert answer.stop_reason == "end_turn"
        assert editor.text() == "\nred None ['select', 'confirm', 'notify']\n"
        async with asyncio.TaskGroup() as group:
            hanging = group.create_task(agent.prompt(session.session_id, text("/hang")))
            await editor.wait_for(lambda: "waiting" in editor.text())
            await agent.cancel(session.session_id)
        assert hanging.result().stop_reason == "cancelled"

    drive(tau, work, "-e", "e.py")
