"""Extensions in a separate process: what works there, and what its end costs the session."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say, Use
from tau.base.errors import TauError
from tau.ext.extensions import calls
from tau.testing import ScriptedUi
from tests.ext.extensions.host import opened

HEAD = """
isolation = "process"
import os, sys, time
from pathlib import Path
from tau.ext import Deny, Effects, RunSetup, TauError, ToolError
"""


def code(body: str) -> str:
    return HEAD + body


def test_tools_hooks_and_commands_run_in_another_process(tmp_path: Path) -> None:
    text = code('''
def extension(tau):
    @tau.tool(effects="none")
    def where(text: str, ctx) -> dict:
        """Say which process this is.

        Args:
            text: what to repeat
        """
        ctx.update("working")
        return {"pid": os.getpid(), "text": text}

    @tau.tool(effects=Effects(reads=(Path("/etc/hosts"),)))
    def fail() -> str:
        raise ToolError("The tool cannot do that.")

    tau.on("input", lambda event, ctx: event.text + " indeed")

    @tau.on("before_agent_start")
    async def setup(event, ctx):
        return RunSetup(note=f"{len(ctx.session.messages())} messages, {ctx.cwd.name}, {ctx.mode}")

    @tau.on("tool_call")
    def guard(event, ctx):
        if event.name == "bash":
            return Deny(f"no {event.tool.label}")

    @tau.on("tool_result")
    def result(event, ctx):
        return event.output.content[0].text.upper() if event.call.name == "where" else None
''')
    replies = [[Use("where", text="here"), Use("fail"), Use("bash", command="true")], [Say("ok")]]

    async def main() -> None:
        async with opened(tmp_path, text, replies) as rig:
            await rig.session.prompt("yes")
            first, last = rig.faux.requests
            assert "yes indeed" in str(first.messages) and f"0 messages, {tmp_path.name}, sdk" in str(
                first.messages
            )
            spec = next(tool for tool in first.tools if tool.name == "where")
            assert spec.parameters["properties"]["text"]["description"] == "what to repeat"
            shown = str(last.messages)
            [failing] = [tool for tool in rig.session.tools if tool.name == "fail"]
            assert failing.effects(failing.decode({})[0], tmp_path).reads == (Path("/etc/hosts"),)
            assert '"TEXT": "HERE"' in shown and f'"PID": {os.getpid()}' not in shown
            assert "The tool cannot do that." in shown and "no Bash" in shown
            assert not rig.faults

    asyncio.run(main())


def test_a_command_asks_its_user_and_changes_the_session(tmp_path: Path) -> None:
    text = code("""
def extension(tau):
    @tau.command("ask", description="Ask")
    async def ask(args, ctx):
        color = await ctx.ui.select("Which?", ["red", "blue"])
        tau.append_entry("color", {"name": color})
        ctx.ui.status("color", color)
        stored = ctx.session.data("color")
        done = await tau.exec("echo out; exit 3")
        ctx.ui.notify(f"{stored} {done.output.strip()} {done.exit_code} {ctx.usage().window > 0}")
        ctx.ui.notify(f"{tau.model.id} {ctx.ui.can('custom')} {ctx.ui.can('select')}")
        ctx.ui.notify(f"{await ctx.ui.custom(lambda *a: None)}")

    @tau.command("late")
    def late(args, ctx):
        tau.command("more", lambda args, ctx: ctx.ui.notify("more " + args))

    @tau.command("wrong")
    def wrong(args, ctx):
        raise TauError("Name a color.")
""")

    async def main() -> None:
        ui = ScriptedUi(["blue"])
        async with opened(tmp_path, text, ui=ui, settings={"sandbox.mode": "off"}) as rig:
            assert [one.name for one in rig.extensions.commands()] == ["ask", "late", "wrong"]
            await rig.extensions.run_command("/ask")
            assert ui.asked == ["Which?"]
            model = rig.session.model.id
            assert ui.notices == ["[{'name': 'blue'}] out 3 True", f"{model} False True", "None"]
            await rig.extensions.run_command("/late")
            await rig.until(lambda: len(rig.extensions.commands()) == 4, "the new command")
            await rig.extensions.run_command("/more words")
            assert ui.notices[-1] == "more words"
            with pytest.raises(TauError, match=r"^Name a color\.$"):
                await rig.extensions.run_command("/wrong")

    asyncio.run(main())


FAULTS = {
    "exits": "os._exit(7)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "raises": "raise ValueError('no')",
    "leaves": "sys.exit(1)",
    "writes to stdout": "os.write(1, b'garbage\\n'); print('to the log'); raise ValueError('no')",
    "reads": "input('> ')",
    "answers wrongly": "return 7",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_guard_that_ends_its_process_refuses_the_call_and_the_next_is_answered(
    fault: str, tmp_path: Path
) -> None:
    text = code(f"""
def extension(tau):
    @tau.on("tool_call")
    def guard(event, ctx):
        if "bad" in event.arguments["command"]:
            {FAULTS[fault]}
""")
    replies = [
        [Use("bash", command="echo bad > made")],
        [Use("bash", command="echo good > made")],
        [Say("ok")],
    ]

    async def main() -> None:
        async with opened(tmp_path, text, replies) as rig:
            outcome = await rig.session.prompt("go")
            assert outcome.message is not None and outcome.message.text == "ok"
            assert "failed to check this call" in str(rig.faux.requests[1].messages[-1])
            assert (tmp_path / "made").read_text() == "good\n"
            assert len(rig.faults) == 1

    asyncio.run(main())


@pytest.mark.parametrize("body", ["while True: pass", "__import__('ctypes').PyDLL(None).sleep(60)"])
def test_code_that_takes_too_long_is_killed(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = code(f"""
def extension(tau):
    @tau.on("context")
    def hang(event, ctx):
        {body}

    tau.command("pid", lambda args, ctx: ctx.ui.notify(str(os.getpid())))
""")

    async def main() -> None:
        async with opened(tmp_path, text) as rig:
            await rig.extensions.run_command("/pid")
            monkeypatch.setattr(calls.ExtensionCalls.call, "__kwdefaults__", {"limit_s": 0.3})
            outcome = await rig.session.prompt("hi")
            assert outcome.message is not None and outcome.message.text == "ok"
            assert "took longer than 0.3 s" in rig.faults[0]
            [pid] = [one for one in rig.notices if one.isdigit()]
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid), 0)
            await rig.extensions.run_command("/pid")
            assert len({one for one in rig.notices if one.isdigit()}) == 2

    asyncio.run(main())


def test_escape_ends_a_tool_that_blocks_its_process(tmp_path: Path) -> None:
    text = code("""
def extension(tau):
    @tau.tool(effects="none")
    def block() -> str:
        open("started", "w").close()
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass
""")

    async def main() -> None:
        async with opened(tmp_path, text, [[Use("block")], [Say("never")]]) as rig:
            prompt = asyncio.ensure_future(rig.session.prompt("go"))
            await rig.until((tmp_path / "started").exists, "the call")
            rig.session.abort()
            await prompt
            outcome = await rig.session.prompt("still there?")
            assert outcome.message is not None and outcome.message.text == "never"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import nothing_there\\n", "nothing_there"),
        ("def extension(tau): 1 / 0\\n", "ZeroDivisionError"),
        ("os._exit(3)\\n", "exited with code 3"),
        ("isolation = 'thread'\\n", 'isolation can be "process", not "thread"'),
    ],
)
def test_the_session_opens_without_an_extension_that_cannot_start(
    body: str, words: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with opened(tmp_path, code(body.replace("\\n", "\n"))) as rig:
            [report] = rig.extensions.report()
            assert report.state == "failed" and words in report.problem
            await rig.session.prompt("hi")

    asyncio.run(main())


def test_reload_takes_the_new_code_and_ends_the_old_process(tmp_path: Path) -> None:
    body = (
        '\ndef extension(tau):\n    tau.command("pid", lambda args, ctx: ctx.ui.notify(f"{os.getpid()} V"))\n'
    )

    async def main() -> None:
        async with opened(tmp_path, code(body)) as rig:
            await rig.extensions.run_command("/pid")
            (tmp_path / "e.py").write_text(code(body.replace("V", "W")))
            await rig.extensions.reload()
            await rig.extensions.run_command("/pid")
            one, two = (text.split() for text in rig.notices if text[:1].isdigit())
            assert one[1] == "V" and two[1] == "W"
            with pytest.raises(ProcessLookupError):
                os.kill(int(one[0]), 0)

    asyncio.run(main())


def test_keys_of_models_are_not_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 40)
    body = """
def extension(tau):
    tau.command("key", lambda args, ctx: ctx.ui.notify(str(os.environ.get("OPENAI_API_KEY"))))
"""

    async def main() -> None:
        async with opened(tmp_path, code(body)) as rig:
            await rig.extensions.run_command("/key")
            assert "None" in rig.notices

    asyncio.run(main())


def test_every_event_crosses(tmp_path: Path) -> None:
    from tau.ext.extensions import events as x
    from tau.ext.extensions import isolation_protocol as protocol

    assert set(protocol.EVENTS) == x.EVENT_NAMES
    samples: dict[str, Any] = {
        "session_start": x.SessionStart("startup"),
        "project_trust": x.ProjectTrust(tmp_path),
        "session_before_switch": x.BeforeLeave("new", ""),
    }
    for name, value in samples.items():
        assert protocol.decode(protocol.encode(value), protocol.EVENTS[name]) == value
