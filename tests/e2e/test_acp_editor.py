"""ACP mode with an editor that has unsaved files and terminals."""

import asyncio
import signal
from typing import Any

import pytest
from acp import schema as a
from acp.client.connection import ClientSideConnection

from tests.e2e.acp_editor import FullEditor, text
from tests.e2e.program import Program
from tests.e2e.test_acp_program import Editor, drive, start
from tests.support.fake_answers import Call

FILES = a.ClientCapabilities(fs=a.FileSystemCapabilities(read_text_file=True, write_text_file=True))
TERMINALS = a.ClientCapabilities(terminal=True)


def results(editor: Editor) -> list[str]:
    """The text of each finished call."""
    ends = [one for one in editor.of("tool_call_update") if one.status in ("completed", "failed")]
    return [one.raw_output["text"] for one in ends]


def test_unsaved_text_is_what_the_agent_reads(tau: Program) -> None:
    start(tau)
    path = tau.project / "a.txt"
    path.write_bytes(b"on disk\r\nsecond\r\n")
    (tau.project / "closed.txt").write_text("not open\n")
    tau.script((Call("read", {"path": "a.txt"}),), (Call("read", {"path": "closed.txt"}),), "done")
    editor = FullEditor()
    editor.buffers[str(path)] = "unsaved\nsecond\n"

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))

    drive(tau, work, editor=editor, capabilities=FILES)
    opened, closed = results(editor)
    assert "unsaved" in opened and "on disk" not in opened
    assert "not open" in closed


@pytest.mark.parametrize("saves", [True, False])
def test_written_text_reaches_the_editor_and_the_disk(tau: Program, saves: bool) -> None:
    start(tau)
    path = tau.project / "a.txt"
    path.write_text("old\n")
    tau.script(
        (Call("write", {"path": "a.txt", "content": "new\n"}),),
        (Call("write", {"path": "deep/b.txt", "content": "fresh\n"}),),
        "done",
    )
    editor = FullEditor()
    editor.saves = saves

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))

    drive(tau, work, editor=editor, capabilities=FILES)
    assert editor.buffers == {str(path): "new\n", str(tau.project / "deep/b.txt"): "fresh\n"}
    assert path.read_text() == "new\n"
    assert (tau.project / "deep/b.txt").read_text() == "fresh\n"


def test_question_about_a_write_shows_the_unsaved_text_that_it_replaces(tau: Program) -> None:
    start(tau)
    path = tau.project / "a.txt"
    path.write_text("on disk\n")
    tau.script((Call("write", {"path": "a.txt", "content": "new\n"}),), "done")
    editor = FullEditor()
    editor.buffers[str(path)] = "unsaved\n"

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))

    drive(tau, work, "--approval-mode", "ask", editor=editor, capabilities=FILES)
    [(asked, _)] = editor.asked
    assert asked.content is not None
    diff = asked.content[0]
    assert isinstance(diff, a.FileEditToolCallContent)
    assert (diff.path, diff.old_text, diff.new_text) == (str(path), "unsaved\n", "new\n")


def test_editor_files_stay_within_what_was_approved(tau: Program) -> None:
    start(tau)
    outside = tau.project.parent / "outside.txt"
    tau.script((Call("write", {"path": str(outside), "content": "x"}),), "done")
    editor = FullEditor()

    async def refuse(call: a.ToolCallUpdate) -> str | None:
        return "no"

    editor.answer = refuse

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))

    drive(tau, work, editor=editor, capabilities=FILES)
    assert (len(editor.asked), editor.buffers, outside.exists()) == (1, {}, False)


def test_command_without_a_sandbox_runs_in_a_terminal_of_the_editor(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "titles.enabled": False, "sandbox.mode": "off"})
    tau.script((Call("bash", {"command": "echo from the editor; exit 3"}),), "done")
    editor = FullEditor()

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))

    drive(tau, work, editor=editor, capabilities=TERMINALS)
    assert editor.commands == ["-c echo from the editor; exit 3"]
    assert editor.released == ["term_0"]
    [shown] = editor.of("tool_call_update")[-1].content
    assert shown.terminal_id == "term_0"
    [result] = results(editor)
    assert "from the editor" in result and "3" in result


def test_command_in_the_editor_is_asked_about_and_can_be_canceled(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "titles.enabled": False, "sandbox.mode": "off"})
    tau.script((Call("bash", {"command": "sleep 60"}),), "done")
    editor = FullEditor()

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(agent.prompt(session.session_id, text("go")))
            await editor.wait_for(lambda: editor.of("tool_call_update"))
            await agent.cancel(session.session_id)
            assert (await running).stop_reason == "cancelled"

    drive(tau, work, "--approval-mode", "ask", editor=editor, capabilities=TERMINALS)
    assert len(editor.asked) == 1
    assert editor.processes["term_0"].returncode == -signal.SIGKILL


def test_contained_command_stays_in_the_sandbox(tau: Program) -> None:
    start(tau)
    tau.script((Call("bash", {"command": "echo contained"}),), "done")
    editor = FullEditor()

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        await agent.prompt(session.session_id, text("go"))

    drive(tau, work, editor=editor, capabilities=TERMINALS)
    assert editor.commands == []
    assert "contained" in results(editor)[0]


def test_command_whose_terminal_opens_after_the_stop_is_ended(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "titles.enabled": False, "sandbox.mode": "off"})
    tau.script((Call("bash", {"command": "sleep 600"}),))

    class LateEditor(FullEditor):
        def __init__(self) -> None:
            super().__init__()
            self.asked_for, self.opens = asyncio.Event(), asyncio.Event()

        async def create_terminal(self, *args: Any, **fields: Any) -> a.CreateTerminalResponse:
            self.asked_for.set()
            await self.opens.wait()
            return await super().create_terminal(*args, **fields)

    editor = LateEditor()

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        prompt = asyncio.ensure_future(agent.prompt(session.session_id, text("go")))
        await editor.asked_for.wait()
        await agent.cancel(session.session_id)
        assert (await prompt).stop_reason == "cancelled"
        editor.opens.set()
        while not editor.released:  # noqa: ASYNC110 - the client has no event for it
            await asyncio.sleep(0.01)

    drive(tau, work, editor=editor, capabilities=TERMINALS)
    [process] = editor.processes.values()
    assert process.returncode == -signal.SIGKILL


def test_editor_that_leaves_before_it_opens_a_terminal_does_not_hold_tau(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "titles.enabled": False, "sandbox.mode": "off"})
    tau.script((Call("bash", {"command": "sleep 600"}),))
    asked: list[str] = []

    class LeavingEditor(FullEditor):
        async def create_terminal(self, *args: Any, **fields: Any) -> a.CreateTerminalResponse:
            asked.append("terminal")
            await asyncio.Event().wait()
            raise AssertionError

    async def work(agent: ClientSideConnection, _: Editor) -> None:
        session = await agent.new_session(str(tau.project))
        prompt = asyncio.ensure_future(agent.prompt(session.session_id, text("go")))
        while not asked:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
        prompt.cancel()

    drive(tau, work, editor=LeavingEditor(), capabilities=TERMINALS)
    [entries] = tau.sessions()
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles[:3] == ["user", "assistant", "toolResult"]
