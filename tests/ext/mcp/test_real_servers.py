"""Real servers from npm, unchanged: each lists, dies, comes back and ends with us."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.base.process_group import find_marked
from tests.ext.mcp.rig import call_script, connected, result_text, session_with
from tests.support.idle import until
from tests.support.limits import HANG_S
from tests.support.npm_packages import MCP_SERVERS

MARK = "MCP_TEST_MARK"
CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "everything": ("echo", {"message": "hello"}, "hello"),
    "filesystem": ("list_allowed_directories", {}, "Allowed directories"),
    "memory": ("read_graph", {}, "entities"),
    "sequential-thinking": (
        "sequentialthinking",
        {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "thoughtNumber",
    ),
}


def definition(name: str, folder: Path, mark: str = "") -> dict[str, Any]:
    program = str(MCP_SERVERS.require() / ".bin" / f"mcp-server-{name}")
    args = [str(folder)] if name == "filesystem" else []
    env = {"MEMORY_FILE_PATH": str(folder / "memory.json"), **({MARK: mark} if mark else {})}
    return {"command": program, "args": args, "env": env}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "everything" else pytest.mark.soak) for name in CALLS]
)
def test_a_server_is_called_killed_and_called_again(name: str, tmp_path: Path) -> None:
    tool, arguments, expected = CALLS[name]

    async def main() -> None:
        mark = os.urandom(8).hex()
        script = [*call_script(f"mcp__{name}_{tool}", **arguments)] * 2
        async with session_with(tmp_path, {name: definition(name, tmp_path, mark)}, script) as (session, _):
            late = await connected(session)
            await session.prompt("Go.")
            assert expected in result_text(session)
            for pid in find_marked(MARK, mark):
                os.kill(pid, signal.SIGKILL)
            await until(lambda: late.status()[0].state != "connected", HANG_S, lambda: "not noticed")
            await session.prompt("Again.")
            assert expected in result_text(session)
        assert not find_marked(MARK, mark)

    asyncio.run(main())


PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from tests.ext.mcp.rig import connected, session_with
async def main():
    async with session_with(Path(sys.argv[1]), json.loads(sys.argv[2])) as (session, _):
        await connected(session)
        print("ready", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def test_a_server_that_ignores_its_end_dies_with_a_killed_tau(tmp_path: Path) -> None:
    import json

    mark = os.urandom(8).hex()
    servers = {"everything": definition("everything", tmp_path, mark)}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), json.dumps(servers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as tau:
        assert tau.stdout is not None and tau.stdout.readline() == "ready\n"
        assert find_marked(MARK, mark)
        tau.kill()
    asyncio.run(_gone(mark))


async def _gone(mark: str) -> None:
    await until(lambda: not find_marked(MARK, mark), HANG_S, lambda: "it is still there")


def test_a_tool_that_runs_as_a_task_becomes_a_job(tmp_path: Path) -> None:
    async def main() -> None:
        script = call_script("mcp__everything_simulate-research-query", topic="whales", ambiguous=False)
        servers = {"everything": definition("everything", tmp_path)}
        async with session_with(tmp_path, servers, script) as (session, _):
            await connected(session)
            await session.prompt("Go.")
            assert "Running in the background as job" in result_text(session)
            [job] = session.jobs.list()
            await until(lambda: not session.jobs.list()[0].running, HANG_S, lambda: "the job runs on")
            done = session.jobs.get(job.id)
            assert done is not None and done.status == "completed" and "whales" in str(done.result_text)

    asyncio.run(main())


def test_a_server_of_the_newest_revision_works_over_http(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server.mcpserver")
    program = [sys.executable, str(Path(__file__).with_name("modern_server.py"))]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"

        async def main() -> None:
            script = call_script("mcp__modern_double", number=4)
            async with session_with(tmp_path, {"modern": {"url": url}}, script) as (session, _):
                late = await connected(session)
                assert late.status()[0].protocol == "2026-07-28"
                await session.prompt("Go.")
                assert "8" in result_text(session)

        try:
            asyncio.run(main())
        finally:
            server.kill()
