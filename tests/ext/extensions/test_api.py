"""What an extension registers and does, in a real session with a scripted model."""

import asyncio
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tau.base.errors import TauError
from tau.coding.session.entries import CustomEntry
from tests.ext.extensions.host import opened

TOOL = '''
def extension(tau):
    @tau.tool(effects="none")
    def add(a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: the first one
        """
        return a + b
'''


def test_a_function_with_hints_is_a_tool(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, TOOL, [[Use("add", a=40)], [Say("done")]]) as rig:
            await rig.session.prompt("add")
            spec = next(one for one in rig.faux.requests[0].tools if one.name == "add")
            assert spec.description == "Add two numbers."
            assert spec.parameters["properties"]["a"] == {"type": "integer", "description": "the first one"}
            assert spec.parameters["required"] == ["a"]
            assert "42" in str(rig.faux.requests[1].messages[-1])

    asyncio.run(main())


def test_a_tool_that_declares_nothing_needs_approval(tmp_path: Path) -> None:
    code = TOOL.replace('(effects="none")', "")

    async def main() -> None:
        settings = {"tools.approvalMode": "workspace"}
        async with opened(tmp_path, code, [[Use("add", a=1)], [Say("")]], settings=settings) as rig:
            await rig.session.prompt("add")
            assert "use the tool add" in str(rig.faux.requests[1].messages[-1])

    asyncio.run(main())


@pytest.mark.parametrize(
    ("mode", "call"),
    [("workspace", Use("read", path="x")), ("ask", Use("write", path="own://x", content="y"))],
)
def test_a_call_that_declares_nothing_needs_approval_whatever_its_name(
    mode: str, call: Use, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    code = f"""
    from pathlib import Path

    def extension(tau):
        tau.url_scheme("own", lambda rest: "text", lambda rest, data: Path("{made}").touch())

        @tau.tool
        def read(path: str) -> str:
            Path("{made}").touch()
            return "read"
    """

    async def main() -> None:
        settings = {"tools.approvalMode": mode}
        async with opened(tmp_path, code, [[call], [Say("")]], settings=settings) as rig:
            await rig.session.prompt("go")
            assert f"use the tool {call.tool}" in str(rig.faux.requests[1].messages[-1])
            assert not made.exists()

    asyncio.run(main())


def test_a_guard_refuses_a_call(tmp_path: Path) -> None:
    code = """
    from tau.ext import Deny

    def extension(tau):
        @tau.on("tool_call")
        def guard(event, ctx):
            if event.name == "bash" and "rm" in event.arguments["command"]:
                return Deny("No rm here.")
    """

    async def main() -> None:
        (tmp_path / "kept").write_text("")
        async with opened(tmp_path, code, [[Use("bash", command="rm kept")], [Say("")]]) as rig:
            await rig.session.prompt("remove it")
            assert "No rm here." in str(rig.faux.requests[1].messages[-1])
            assert (tmp_path / "kept").exists()

    asyncio.run(main())


def test_a_command_gets_its_arguments_and_stores_data(tmp_path: Path) -> None:
    code = """
    def extension(tau):
        @tau.command("note", description="Store a note")
        async def note(args, ctx):
            tau.append_entry("note", {"text": args})
            ctx.ui.notify(f"{len(ctx.session.data('note'))} notes")
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            assert [one.name for one in rig.extensions.commands()] == ["note"]
            assert await rig.extensions.run_command("/note buy milk")
            assert not await rig.extensions.run_command("/other")
            assert "1 notes" in rig.notices
            [entry] = [one for _, one in rig.session.log.entries() if isinstance(one, CustomEntry)]
            assert entry.data == {"text": "buy milk"}

    asyncio.run(main())


def test_an_error_of_a_command_is_for_its_user(tmp_path: Path) -> None:
    code = """
    from tau.ext import TauError

    def extension(tau):
        @tau.command("fail")
        def fail(args, ctx):
            raise TauError("Name a file.")
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            with pytest.raises(TauError, match="Name a file"):
                await rig.extensions.run_command("/fail")
            assert not rig.faults

    asyncio.run(main())


def test_input_context_and_prompt_are_changed_in_load_order(tmp_path: Path) -> None:
    code = """
    from tau.ext import RunSetup

    def extension(tau):
        tau.on("input", lambda event, ctx: event.text + " one")
        tau.on("input", lambda event, ctx: event.text + " two")
        setup = RunSetup(system_prompt="Be brief.", note="Today is Monday.")
        tau.on("before_agent_start", lambda event, ctx: setup)
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            await rig.session.prompt("zero")
            request = rig.faux.requests[0]
            assert request.system == "Be brief."
            assert "zero one two" in str(request.messages[-1])
            assert "Today is Monday." in str(request.messages)

    asyncio.run(main())


def test_a_note_triggers_a_turn_only_where_there_is_a_face(tmp_path: Path) -> None:
    code = """
    def extension(tau):
        @tau.command("say")
        def say(args, ctx):
            tau.send_message("from the extension", kind="memo")
    """

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            await rig.extensions.run_command("/say")
            await rig.session.prompt("go on")
            assert "from the extension" in str(rig.faux.requests[0].messages[0])

    asyncio.run(main())


def test_a_bad_extension_is_named_and_the_others_load(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def extension(tau):\n    pass\n\nimport nothing_like_it\n")
    (tmp_path / "odd.py").write_text("def extension(tau:\n")
    (tmp_path / "empty.py").write_text("x = 1\n")

    async def main() -> None:
        paths = ("broken.py", "odd.py", "empty.py", "e.py")
        async with opened(tmp_path, TOOL, extensions=paths) as rig:
            text = "\n".join(rig.notices)
            assert f"{tmp_path}/broken.py:4: ModuleNotFoundError" in text
            assert "tau plugin install nothing_like_it" in text
            assert f"{tmp_path}/odd.py:1:" in text
            assert "define `def extension(tau)`" in text
            assert "add" in [tool.name for tool in rig.session.tools]

    asyncio.run(main())


def test_without_extensions_nothing_is_loaded(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as rig:
            assert rig.session.extensions is None

    asyncio.run(main())
