"""Servers in a session: their tools are offered, called, approved, and survive faults."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say, Use
from tau.base.errors import TauError
from tau.config.paths import user_paths
from tests.ext.mcp.rig import call_script, connected, faux_server, result_text, results, session_with
from tests.support.npm_packages import MCP_SERVERS


def run_call(
    folder: Path, *, tool: str = "mcp__faux_echo", settings: dict[str, Any] | None = None, **server: Any
) -> str:
    """The text that the model gets from one call."""

    async def main() -> str:
        servers = {"faux": faux_server(**server)}
        async with session_with(folder, servers, call_script(tool, text="hi"), settings=settings or {}) as (
            session,
            _,
        ):
            await connected(session)
            await session.prompt("Go.")
            return result_text(session)

    return asyncio.run(main())


def test_a_servers_tool_is_offered_and_called(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_with(
            tmp_path, {"faux": faux_server()}, call_script("mcp__faux_echo", text="hello")
        ) as (session, faux):
            await connected(session)
            await session.prompt("Say hello.")
            spec = next(spec for spec in faux.requests[0].tools if spec.name == "mcp__faux_echo")
            assert spec.description == "Say the text again"
            assert spec.parameters["properties"] == {"text": {"type": "string"}}
            assert "hello" in result_text(session) and not results(session)[-1].is_error
            assert "MCP server faux" in result_text(session)  # it is fenced as text from outside

    asyncio.run(main())


def test_the_name_with_two_more_underscores_works_too(tmp_path: Path) -> None:
    assert "hi" in run_call(tmp_path, tool="mcp__faux__echo")


@pytest.mark.parametrize(
    "fault", ["invalid json", "noise", "wrong ids", "twice", "progress", "changes tools"]
)
def test_a_call_works_in_spite_of(fault: str, tmp_path: Path) -> None:
    assert "hi" in run_call(tmp_path, fault=fault)


def test_a_flood_of_notifications_and_errors_blocks_nothing(tmp_path: Path) -> None:
    assert "hi" in run_call(tmp_path, fault="flood")


def test_a_result_beyond_all_limits_fails_the_call_only(tmp_path: Path) -> None:
    text = run_call(tmp_path, fault="huge", size=20_000_000)
    assert "at most 16 MiB is read" in text


def test_a_server_that_dies_in_a_call_serves_the_next_one(tmp_path: Path) -> None:
    async def main() -> None:
        servers = {"faux": faux_server(fault="dies in call", state=str(tmp_path / "starts"))}
        script = [[Use("mcp__faux_echo", text="one")], [Use("mcp__faux_echo", text="two")], [Say("Done.")]]
        async with session_with(tmp_path, servers, script) as (session, _):
            await connected(session)
            await session.prompt("Go.")
            first, second = results(session)
            assert first.is_error and "ended during the call" in str(first.content)
            assert not second.is_error and "two" in str(second.content)

    asyncio.run(main())


def test_a_server_that_never_answers_times_out(tmp_path: Path) -> None:
    text = run_call(tmp_path, fault="hang", server_timeout=200)
    assert "did not answer tools/call within 0.2 s" in text


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    async def main() -> None:
        servers = {"faux": {"command": "/no/such/program"}}
        async with session_with(tmp_path, servers) as (session, faux):
            late = await connected(session)
            [row] = late.status()
            assert (row.state, row.why) == (
                "failed",
                'Cannot start "/no/such/program": No such file or directory.',
            )
            await session.prompt("Go.")  # nothing else stops
            assert not [spec for spec in faux.requests[0].tools if spec.name.startswith("mcp__")]

    asyncio.run(main())


def test_a_program_that_the_sandbox_hides_is_not_called_missing(tmp_path: Path) -> None:
    async def main(place: str) -> None:
        program = Path(place) / "server"
        program.write_text(f"#!{sys.executable}\n")
        program.chmod(0o755)
        servers = {"a": {"command": str(program)}, "b": {"command": sys.executable, "args": [str(program)]}}
        async with session_with(tmp_path, servers, settings={"sandbox.mode": "auto"}) as (session, _):
            late = await connected(session)
            for row in late.status():
                assert row.state == "failed"
                assert f"the sandbox hides {program}; install it outside /tmp" in row.why

    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        asyncio.run(main(place))


def test_a_required_server_that_fails_stops_a_run_without_a_user(tmp_path: Path) -> None:
    async def main() -> None:
        servers = {"faux": faux_server(fault="exits at once", server_required=True)}
        async with session_with(tmp_path, servers) as (session, _):
            with pytest.raises(
                TauError, match=r"faux cannot be used: It exited with code 1: no such database\."
            ):
                await session.prompt("Go.")

    asyncio.run(main())


def test_a_call_is_refused_unless_a_rule_allows_it(tmp_path: Path) -> None:
    text = run_call(tmp_path, settings={"tools.approvalMode": "workspace"})
    assert "call the MCP tool faux.echo" in text and '"mcp: faux.echo"' in text
    allowed = {"tools.approvalMode": "workspace", "tools.allow": ["mcp: faux.*"]}
    assert "hi" in run_call(tmp_path, settings=allowed)
    denied = {"tools.deny": ["mcp: faux.ec*"]}
    assert "forbids it" in run_call(tmp_path, settings=denied)


def test_a_server_gets_few_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VARIABLE", "some value")
    text = run_call(tmp_path, fault="environment", server_env={"GIVEN": "${SOME_VARIABLE}"})
    assert '"SOME_VARIABLE"' not in text and '"GIVEN": "some value"' in text and '"PATH"' in text
    assert '"SOME_VARIABLE"' in run_call(tmp_path, fault="environment", server_inheritEnv=True)


def test_more_than_forty_tools_are_searched_activated_and_called(tmp_path: Path) -> None:
    async def main() -> None:
        tools = [
            {"name": f"get_{name}", "description": f"Get the {name}", "inputSchema": {"type": "object"}}
            for name in ("weather", "stock", *(f"thing{n}" for n in range(60)))
        ]
        script = [
            [Use("search_tool_bm25", query="weather", limit=1)],
            [Use("mcp__faux_get_weather", text="sunny")],
            [Say("Done.")],
        ]
        async with session_with(tmp_path, {"faux": faux_server(tools=tools)}, script) as (session, faux):
            await connected(session)
            await session.prompt("What is the weather?")
            before, after = ([spec.name for spec in request.tools] for request in faux.requests[:2])
            assert "search_tool_bm25" in before and "mcp__faux_get_weather" not in before
            assert after == [*before, "mcp__faux_get_weather"]  # appended: the cached start stays
            found, called = results(session)
            assert str(found.content).count("mcp__faux_get_weather") == 1 and not called.is_error

    asyncio.run(main())


def test_a_hidden_tool_that_is_called_by_name_is_activated(tmp_path: Path) -> None:
    async def main() -> None:
        script = call_script("mcp__faux_tool_7", text="seven")
        async with session_with(tmp_path, {"faux": faux_server(tools=60)}, script) as (session, faux):
            await connected(session)
            await session.prompt("Go.")
            assert "seven" in result_text(session)
            assert faux.requests[1].tools[-1].name == "mcp__faux_tool_7"

    asyncio.run(main())


def test_the_everything_server_works(tmp_path: Path) -> None:
    program = MCP_SERVERS.require() / ".bin" / "mcp-server-everything"

    async def main() -> None:
        script = call_script("mcp__everything_get-sum", a=3, b=4)
        servers = {"everything": {"command": str(program), "inheritEnv": True}}
        async with session_with(tmp_path, servers, script) as (session, _):
            late = await connected(session)
            [row] = late.status()
            assert row.state == "connected" and row.tools >= 13
            await session.prompt("Add.")
            assert "The sum of 3 and 4 is 7" in result_text(session)

    asyncio.run(main())


def test_a_cell_finds_describes_and_calls_hidden_tools(tmp_path: Path) -> None:
    code = """
found = tools.search("tool_7", 1)
print(found[0]["name"], tools.schema("mcp__faux_tool_7")["type"])
print(tool.mcp__faux_tool_7(text="from a cell"))
"""

    async def main() -> None:
        script = [[Use("eval", cells=[{"language": "py", "code": code}])], [Say("Done.")]]
        async with session_with(tmp_path, {"faux": faux_server(tools=60)}, script) as (session, faux):
            await connected(session)
            await session.prompt("Go.")
            assert "mcp__faux_tool_7 object" in result_text(session)
            assert "from a cell" in result_text(session)
            assert "mcp__faux_tool_7" in [spec.name for spec in faux.requests[1].tools]

    asyncio.run(main())


def test_a_program_of_a_repository_does_not_get_the_users_login(tmp_path: Path) -> None:
    url = "https://mcp.example/x"
    kept = {"type": "oauth", "access": "secret-login", "refresh": "r", "expires": 0}
    (tmp_path / ".git").mkdir()
    auth = user_paths(os.environ).auth
    auth.parent.mkdir(parents=True, exist_ok=True)
    auth.write_text(json.dumps({f"mcp:{url}": kept}))
    fields = {**faux_server(), "auth": "oauth", "url": url}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"thief": fields}}))

    async def main() -> str:
        async with session_with(tmp_path, {}, trust=True, mcp=True) as (session, _):
            [row] = (await connected(session)).status()
            return f"{row.state} {row.why}"

    said = asyncio.run(main())
    assert said.startswith("failed") and "would get your login" in said
