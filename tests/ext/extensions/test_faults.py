"""Harder faults: code that blocks, reloads that fail or happen in between, repositories without trust."""

import asyncio
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tau.agent.effects import Effects
from tau.agent.tool import Tool
from tau.ai.faux import Act, Say
from tau.ext.extensions.function_tool import ReplacementTool
from tests.ext.extensions.host import opened
from tests.support.limits import HANG_S


def test_code_that_holds_the_loop_is_ended_and_named(tmp_path: Path) -> None:
    code = """
    import time

    def extension(tau):
        @tau.on("agent_end")
        async def spin(event, ctx):
            while True:
                time.sleep(0.01)
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            await rig.session.prompt("hi")
            await rig.until(
                lambda: any("blocked tau for 2 seconds" in text for text in rig.notices), "the end"
            )
            assert f"{tmp_path}/e.py:" in "\n".join(rig.notices)
            outcome = await rig.session.prompt("still there?")
            assert outcome.message is not None and outcome.message.text == "ok"

    asyncio.run(main())


def test_a_thread_that_sleeps_does_not_hold_the_answer(tmp_path: Path) -> None:
    code = """
    import time

    def extension(tau):
        tau.on("message_update", lambda event, ctx: time.sleep(0.2))
    """

    async def main() -> None:
        async with opened(tmp_path, code, [[Say("one two three four", 4)]]) as rig:
            began = time.monotonic()
            await rig.session.prompt("hi")
            assert time.monotonic() - began < HANG_S

    asyncio.run(main())


def test_a_new_version_that_fails_leaves_the_old_one_running(tmp_path: Path) -> None:
    code = """
    def extension(tau):
        tau.command("old", lambda args, ctx: ctx.ui.notify("still the old one"))
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            (tmp_path / "e.py").write_text("def extension(tau): raise ValueError('broken')\n")
            await rig.extensions.reload()
            assert await rig.extensions.run_command("/old")
            assert "still the old one" in rig.notices
            assert "the earlier version stays in use" in "\n".join(rig.notices)
            (tmp_path / "e.py").write_text("def extension(tau): tau.command('new', lambda args, ctx: None)\n")
            await rig.extensions.reload()
            assert [one.name for one in rig.extensions.commands()] == ["new"]

    asyncio.run(main())


def test_reload_while_an_answer_streams(tmp_path: Path) -> None:
    code = """
    from tau.ext import Deny

    def extension(tau):
        tau.on("message_update", lambda event, ctx: None)
        tau.on("tool_call", lambda event, ctx: Deny("no"))
    """

    async def main() -> None:
        reloads: list[asyncio.Task[object]] = []
        step = Act(lambda: reloads.append(asyncio.ensure_future(rig.extensions.reload())))
        async with opened(tmp_path, code, [[Say("one"), step, Say(" two")]]) as rig:
            outcome = await rig.session.prompt("hi")
            assert outcome.message is not None and outcome.message.text == "one two"
            await asyncio.gather(*reloads)
            assert not rig.faults

    asyncio.run(main())


def test_a_hundred_reloads_leave_nothing_behind(tmp_path: Path) -> None:
    code = "def extension(tau):\n    tau.on('agent_end', lambda event, ctx: None)\n"

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            await rig.extensions.reload()
            modules = len(sys.modules)
            for _ in range(100):
                await rig.extensions.reload()
            assert len(sys.modules) == modules
            assert len(rig.extensions.extensions) == 1
            assert len(rig.extensions.handlers("agent_end")) == 1

    asyncio.run(main())


def test_nothing_of_an_untrusted_repository_is_imported(tmp_path: Path) -> None:
    for folder in ("extensions", "tools", "hooks"):
        (tmp_path / ".tau" / folder).mkdir(parents=True)
        (tmp_path / ".tau" / folder / "own.py").write_text(
            f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
        )

    async def main() -> None:
        async with opened(tmp_path) as rig:
            await rig.session.prompt("hi")
        assert not (tmp_path / "ran").exists()
        async with opened(tmp_path, trust=True):
            assert (tmp_path / "ran").exists()

    asyncio.run(main())


def test_equal_file_names_do_not_collide_and_deferred_code_waits(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        head = f"activation = ['command:{name}']\ndef extension(tau):\n"
        body = f"    tau.command('{name}', lambda args, ctx: ctx.ui.notify('from {name}'))\n"
        (tmp_path / name / "same.py").write_text(head + body)

    async def main() -> None:
        async with opened(tmp_path, extensions=("a/same.py", "b/same.py")) as rig:
            assert [one.state for one in rig.extensions.report()] == ["waiting", "waiting"]
            assert await rig.extensions.run_command("/a") and await rig.extensions.run_command("/b")
            assert [text for text in rig.notices if text.startswith("from")] == ["from a", "from b"]

    asyncio.run(main())


def test_another_version_of_tau_is_required(tmp_path: Path) -> None:
    code = "requires = 'tau-agent>=99'\nraise SystemExit\ndef extension(tau): pass\n"

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            assert "needs tau-agent>=99" in "\n".join(rig.notices)

    asyncio.run(main())


@pytest.mark.parametrize("text", ["1", "hello"])
def test_a_tool_that_replaces_one_of_tau_keeps_its_policy(text: str, tmp_path: Path) -> None:
    code = """
    def extension(tau):
        @tau.tool(effects="none")
        def bash(command: str) -> str:
            return "not run"
    """

    async def main() -> None:
        settings = {"tools.approvalMode": "ask"}
        async with opened(tmp_path, code, settings=settings) as rig:
            tool = next(tool for tool in rig.session.tools if tool.name == "bash")
            params, _ = tool.decode({"command": text})
            assert tool.effects(params, tmp_path).runs == (text,)
            assert "replaces the tool bash" in "\n".join(rig.notices)

    asyncio.run(main())


def test_a_tool_that_replaces_one_of_tau_keeps_all_that_it_declares(tmp_path: Path) -> None:
    full = {
        "reads": (tmp_path / "r",),
        "writes": (tmp_path / "w",),
        "runs": ("x",),
        "network": ("h",),
        "env": (("A", "b"),),
        "run_cwd": tmp_path,
        "details": (("a", "b"),),
        "publishes": ("push main",),
        "acts_elsewhere": True,
        "undeclared": True,
        "mcp": ("s", "t"),
        "mcp_change": "@@",
    }
    assert {*full} == {*Effects.__struct_fields__}

    class Own(Tool[Any]):
        name, label = "own", "Own"

        def decode(self, arguments: dict[str, Any]) -> tuple[Any, list[str]]:
            return arguments, []

        def effects(self, params: Any, cwd: Path) -> Effects:
            return params["effects"]

    for one, other in ((Effects(**full), Effects()), (Effects(), Effects(**full))):
        tool = ReplacementTool(Own(), Own())
        assert tool.effects(({"effects": one}, {"effects": other}), tmp_path) == Effects(**full)


def test_extension_whose_tool_or_command_another_one_has_is_named(
    tmp_path: Path,
) -> None:
    code = """
    def extension(tau):
        @tau.tool(effects="none")
        def count() -> str:
            return __name__

        @tau.command("count")
        def command(args, ctx):
            ctx.ui.notify(__file__)
    """
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(dedent(code))

    async def main() -> None:
        async with opened(tmp_path, extensions=("one.py", "two.py")) as rig:
            assert "The tool count of the extension one is used, not two's." in rig.notices
            assert "The command /count of the extension one is used, not two's." in rig.notices
            assert await rig.extensions.run_command("/count")
            assert rig.notices[-1].endswith("one.py")

    asyncio.run(main())


def test_provider_that_is_not_valid_is_named_and_the_prompt_is_answered(tmp_path: Path) -> None:
    code = """
    def extension(tau):
        tau.provider("mine", base_url="http://127.0.0.1:1", api="nope", models=[{"id": "m"}])
        tau.command("there", lambda args, ctx: None)
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            assert any("are not used" in text and '"nope"' in text for text in rig.notices)
            assert await rig.extensions.run_command("/there")
            await rig.session.prompt("hi")
            assert len(rig.faux.requests) == 1

    asyncio.run(main())


@pytest.mark.parametrize("name", ["", "/x", "two words", " x", "x\\ny"])
def test_command_whose_name_nobody_can_type_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    code = f"""
    def extension(tau):
        tau.command("{name}", lambda args, ctx: None)
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            [failure] = rig.extensions.report()
            assert failure.state == "failed" and "is not a name for a command" in failure.problem
            assert "e.py:3" in failure.problem

    asyncio.run(main())
