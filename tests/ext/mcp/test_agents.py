"""Agents use the connections of the session they work for."""

import asyncio
from pathlib import Path

from tau.ai.faux import Say, Use
from tests.coding.task.play import Play, finish, session_of, task, text_in, yielded
from tests.ext.mcp.rig import connected, faux_server


def test_an_agent_calls_a_tool_over_the_connection_of_its_caller(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    play = Play(
        [[task("ask the server")], [Say("ok")]],
        lambda assignment, turn: (
            [Use("mcp__faux_echo", text="from an agent")] if turn == 0 else yielded("seen")
        ),
    )

    async def main() -> None:
        servers = {"faux": faux_server(state=str(starts))}
        settings = {"tools.approvalMode": "yolo"}
        async with session_of(play, tmp_path, mcp_servers=servers, settings=settings) as session:
            await connected(session)
            await session.prompt("go")
            await finish(session)
            assert "from an agent" in text_in(play.agent_requests[1].messages[-1])
        assert starts.read_text() == "x"  # one start

    asyncio.run(main())
