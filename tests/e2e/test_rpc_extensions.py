"""Commands of extensions, and an extension that quits, as programs and editors see them."""

import asyncio
import json
import signal
import subprocess

import pytest
from acp.client.connection import ClientSideConnection

from tau.modes.rpc.client import RpcClient
from tests.e2e.acp_editor import Editor
from tests.e2e.program import FAKE, TAU, Program, is_alive, wait_for
from tests.e2e.test_acp_program import drive as drive_acp
from tests.e2e.test_acp_program import start, text
from tests.e2e.test_rpc_program import drive, types
from tests.support.fake_answers import Call
from tests.support.limits import HANG_S

EXTENSION = """
import asyncio

def extension(tau):
    @tau.command("greet")
    async def greet(args, ctx):
        ctx.ui.notify("Hello")

    @tau.command("ask")
    async def ask(args, ctx):
        tau.send_user_message("What is this?")

    @tau.command("sleep")
    async def sleep(args, ctx):
        await asyncio.sleep(600)

    @tau.command("quit")
    async def quit(args, ctx):
        ctx.shutdown()
        await asyncio.sleep(0.05)
        ctx.ui.notify("Bye")

    @tau.on("tool_execution_start")
    def on_call(event, ctx):
        ctx.shutdown()

    @tau.on("session_shutdown")
    def on_end(event, ctx):
        open("ended", "a").write("x")
"""


@pytest.fixture
def extended(tau: Program) -> Program:
    start(tau)
    (tau.home / "extensions").mkdir()
    (tau.home / "extensions" / "own.py").write_text(EXTENSION)
    return tau


def test_command_of_an_extension_settles_like_any_prompt(extended: Program) -> None:
    extended.script("A door", "Done")

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("/greet")
        assert types(events) == ["extension_ui_request", "agent_settled"]
        events = await client.prompt_and_wait("/ask")
        assert types(events).count("agent_settled") == 1 and "message_end" in types(events)
        assert (await client.prompt("/sleep")).disposition == "started"
        await client.abort()
        await client.wait_for_idle()
        assert types(await client.prompt_and_wait("go"))[-1] == "agent_settled"

    drive(extended, work)
    assert extended.user_messages() == ["What is this?", "go"]


@pytest.mark.parametrize("prompt", ["/quit", "go"])
def test_extension_quits_after_its_command_or_the_run(extended: Program, prompt: str) -> None:
    extended.script((Call("bash", {"command": "echo hi"}),), "The end")
    child = subprocess.Popen(
        [*TAU, "--mode", "rpc", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=extended.project
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(f'{{"type":"prompt","message":"{prompt}"}}\n'.encode())
    child.stdin.flush()
    shown = child.stdout.read()
    assert child.wait(HANG_S) == 0
    child.stdin.close()
    child.stdout.close()
    assert (b'"Bye"' if prompt == "/quit" else b'"The end"') in shown and b'"agent_settled"' in shown
    assert (extended.project / "ended").read_text() == "x"


def test_end_of_input_does_not_wait_for_a_command(extended: Program) -> None:
    ran = extended.run("--mode", "rpc", *FAKE, stdin='{"type":"prompt","message":"/sleep"}\n')
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith('{"type":"agent_settled","aborted":true}\n')


def test_signal_does_not_wait_for_a_server(tau: Program) -> None:
    server = {"command": "sh", "args": ["-c", "echo $$ > pid; exec sleep 600"]}
    (tau.home / "mcp.json").write_text(json.dumps({"mcpServers": {"hung": server}}))
    child = subprocess.Popen(
        [*TAU, "--mode", "rpc", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(b'{"id":"1","type":"mcp","words":["test","hung"]}\n')
    child.stdin.flush()
    sleeper = int(wait_for(tau.project / "pid"))
    child.send_signal(signal.SIGTERM)
    assert child.wait(HANG_S) == 128 + signal.SIGTERM
    assert not is_alive(sleeper)
    child.stdin.close()
    child.stdout.close()


def test_command_of_an_extension_ends_the_turn_in_an_editor(extended: Program) -> None:
    extended.script("A door")

    async def work(agent: ClientSideConnection, editor: Editor) -> None:
        session = (await agent.new_session(str(extended.project))).session_id
        assert (await agent.prompt(session, text("/greet"))).stop_reason == "end_turn"
        assert (await agent.prompt(session, text("/ask"))).stop_reason == "end_turn"
        assert "A door" in editor.text()
        sleeping = asyncio.ensure_future(agent.prompt(session, text("/sleep")))
        await asyncio.sleep(0)
        await agent.cancel(session)
        assert (await sleeping).stop_reason == "cancelled"

    drive_acp(extended, work)
