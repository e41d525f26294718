"""Servers that flood, loop, stall, or put escapes where names belong."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Faux, Say
from tau.base.json_rpc import JsonRpcError
from tau.base.text import strip_controls
from tau.ext.mcp.client import MAX_PAGES
from tau.ext.mcp.messages import MAX_TOOLS
from tau.ext.mcp.server_requests import ALLOW, ALWAYS
from tau.modes.mcp_session import PROGRAM, REMOTE, run_line
from tests.ext.mcp.rig import call_script, connected, faux_server, result_text, session_with
from tests.ext.mcp.test_features import Typist, answers
from tests.support.idle import until
from tests.support.limits import HANG_S

ESCAPE = "\x1b[2J\x1b]0;owned\x07\u202e"


def listed(folder: Path, **options: Any) -> tuple[str, list[str]]:
    """The state of such a server, and the names of its tools."""

    async def main() -> tuple[str, list[str]]:
        async with session_with(folder, {"faux": faux_server(**options)}) as (session, _):
            late = await connected(session)
            [row] = late.status()
            return row.state, [tool.name for tool in late.tools()]

    return asyncio.run(main())


def test_endless_pages_end(tmp_path: Path) -> None:
    state, names = listed(tmp_path, fault="endless pages")
    assert state == "connected" and len(names) == MAX_PAGES


def test_ten_thousand_tools_are_cut_off(tmp_path: Path) -> None:
    state, names = listed(tmp_path, tools=10_000)
    assert state == "connected" and len(names) == MAX_TOOLS


def test_tools_with_names_of_paths_get_plain_names(tmp_path: Path) -> None:
    schema = {"type": "object"}
    tools = [{"name": name, "inputSchema": schema} for name in ("../x", "/etc/passwd", "a\nb", "é" * 99, "")]
    state, names = listed(tmp_path, tools=tools)
    assert state == "connected" and len(set(names)) == 4
    assert all(len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() for name in names)
    assert all(name.isascii() for name in names)


def test_a_server_that_exits_after_listing_is_started_again_and_serves(tmp_path: Path) -> None:
    async def main() -> None:
        server = faux_server(fault="exits after listing", state=str(tmp_path / "starts"))
        script = call_script("mcp__faux_echo", text="hi")
        async with session_with(tmp_path, {"faux": server}, script) as (session, _):
            late = await connected(session)
            starts = tmp_path / "starts"
            await until(lambda: len(starts.read_text()) == 2, HANG_S, lambda: str(late.status()))
            await until(lambda: late.status()[0].state == "connected", HANG_S, lambda: str(late.status()))
            await session.prompt("Go.")
            assert "hi" in result_text(session)

    asyncio.run(main())


def test_a_server_that_always_exits_stops_being_started(tmp_path: Path) -> None:
    async def main() -> None:
        server = faux_server(fault="exits after listing", state=str(tmp_path / "starts"), times=99)
        async with session_with(tmp_path, {"faux": server}) as (session, _):
            late = await connected(session)
            await until(lambda: late.status()[0].state == "failed", HANG_S, lambda: str(late.status()))
            assert len((tmp_path / "starts").read_text()) <= 6

    asyncio.run(main())


def test_a_server_that_does_not_read_blocks_only_its_call(tmp_path: Path) -> None:
    async def main() -> None:
        server = faux_server(fault="stops reading", server_timeout=200)
        script = call_script("mcp__faux_echo", text="x" * 500_000)
        async with session_with(tmp_path, {"faux": server}, script) as (session, _):
            await connected(session)
            await session.prompt("Go.")
            assert "did not answer tools/call within 0.2 s" in result_text(session)

    asyncio.run(main())


def test_a_server_that_says_nothing_fails_after_its_limit(tmp_path: Path) -> None:
    async def main() -> None:
        server = faux_server(fault="silent", server_startupTimeout=300)
        async with session_with(tmp_path, {"faux": server}) as (session, _):
            late = await connected(session)
            [row] = late.status()
            assert (row.state, row.why) == ("failed", "It did not connect within 0.3 s.")

    asyncio.run(main())


def test_escapes_in_names_and_descriptions_reach_nobody(tmp_path: Path) -> None:
    bad = f"evil{ESCAPE}text"
    tool = {
        "name": "echo",
        "title": bad,
        "description": bad,
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string", "description": bad}}},
        "annotations": {"title": bad},
    }
    options: dict[str, Any] = {
        "tools": [tool],
        "version": "2025-11-25",
        "instructions": bad,
        "capabilities": {"prompts": {}, "resources": {}},
        "result": {"content": [{"type": "text", "text": bad}], "isError": True},
        "answers": {
            "prompts/list": {"prompts": [{"name": bad, "description": bad}]},
            "resources/list": {"resources": [{"uri": f"demo://{bad}", "name": bad}]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": bad, "name": bad}]},
        },
    }

    async def main() -> None:
        script = call_script("mcp__faux_echo", text="hi")
        async with session_with(tmp_path, {"faux": faux_server(**options)}, script) as (session, faux):
            late = await connected(session)
            await session.prompt("Go.")
            seen = [
                faux.requests[0].system,
                next(spec for spec in faux.requests[0].tools if spec.name == "mcp__faux_echo").description,
                (await run_line(session, "tools faux")).text,
                (await run_line(session, "prompts faux")).text,
                (await run_line(session, "resources faux")).text,
                (await run_line(session, "call faux echo text=x")).text,
                (await run_line(session, "list")).text,
            ]
            for text in seen:
                assert strip_controls(text) == text, repr(text)
            assert "\u202e" not in result_text(session)  # the screen shows controls of results as such
            assert [row.state for row in late.status()] == ["connected"]

    asyncio.run(main())


def test_a_server_that_samples_in_a_loop_uses_up_its_budget_only() -> None:
    params = {"maxTokens": 100, "messages": [{"role": "user", "content": {"type": "text", "text": "again"}}]}

    async def main() -> None:
        model = Faux([[Say("word " * 100)]] * 60)
        user = answers(Typist(ALWAYS), budget=1_000, model=model)
        done = 0
        with pytest.raises(JsonRpcError, match=r"used up|50 times"):
            for _ in range(1_000):
                await user.answer("s", "sampling/createMessage", params)
                done += 1
        assert 0 < done <= 50 and len(model.requests) == done
        for _ in range(3):
            with pytest.raises(JsonRpcError):
                await user.answer("s", "sampling/createMessage", params)
        assert len(model.requests) == done
        asked_once = answers(Typist(ALLOW, None), budget=1_000, model=Faux([[Say("ok")]] * 2))
        await asked_once.answer("s", "sampling/createMessage", params)
        with pytest.raises(JsonRpcError, match="rejected"):  # the second question was closed
            await asked_once.answer("s", "sampling/createMessage", params)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("typed", "target"),
    [
        (("files", PROGRAM, "npx -y 'server files' ."), "npx -y server files ."),
        (("docs", REMOTE, "https://127.0.0.1:1/mcp"), "https://127.0.0.1:1/mcp"),
    ],
)
def test_the_wizard_adds_what_was_answered(typed: tuple[str, ...], target: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with session_with(tmp_path, {"faux": faux_server()}) as (session, _):
            said = (await run_line(session, "add", Typist(*typed))).text
            assert said.startswith(f"Added {typed[0]} to ")
            [row] = [row for row in (await connected(session)).status() if row.name == typed[0]]
            assert row.target == target

    asyncio.run(main())


@pytest.mark.parametrize("typed", [(None,), ("x", None), ("", None), ("../x", REMOTE, "https://a")])
def test_a_wizard_that_is_left_adds_nothing(typed: tuple[str | None, ...], tmp_path: Path) -> None:
    async def main() -> None:
        async with session_with(tmp_path, {"faux": faux_server()}) as (session, _):
            with pytest.raises(Exception, match=r"Nothing was added|The name may have"):
                await run_line(session, "add", Typist(*typed))
            assert len((await connected(session)).status()) == 1

    asyncio.run(main())


def test_a_remote_definition_without_its_variable_fails_and_is_not_tried_again(tmp_path: Path) -> None:
    async def main() -> None:
        headers = {"Authorization": "Bearer ${NO_SUCH_VARIABLE}"}
        servers = {"docs": {"url": "https://127.0.0.1:9/mcp", "headers": headers}}
        async with session_with(tmp_path, servers) as (session, _):
            [row] = (await connected(session)).status()
            assert row.state == "failed" and "The variable NO_SUCH_VARIABLE is not set." in row.why

    asyncio.run(main())
