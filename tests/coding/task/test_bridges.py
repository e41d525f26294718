"""Other ways to agents: eval cells, RPC commands, URLs, the SDK."""

import asyncio
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tau.base.errors import ToolError
from tau.coding.task.ports import TaskOrder
from tests.coding.task.play import Play, finish, results_in, session_of, task, text_in, yielded

CELL = """
import json
one = agent("alpha", schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
rest = parallel([lambda: agent("b"), lambda: agent("c")])
print(json.dumps([one["n"], *rest]))
"""


def test_eval_cells_start_agents(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        name = assignment.split()[0]
        return yielded({"n": 7} if name == "alpha" else f"<{name}>")

    play = Play([[Use("eval", cells=[{"language": "py", "code": CELL}])], [Say("ok")]], agent)

    async def main() -> str:
        async with session_of(play, tmp_path, settings={"tools.approvalMode": "yolo"}) as session:
            await session.prompt("go")
            return text_in(session.log.messages()[2])

    assert '[7, "<b>", "<c>"]' in asyncio.run(main())


def test_urls_show_results_parts_and_transcripts(tmp_path: Path) -> None:
    reads = ["agent://x", "agent://X/items/1", "agent://X?q=items[0].name", "agent://X/none", "history://X"]
    play = Play(
        [[task("list them", id="X")], *([Use("read", path=url)] for url in reads), [Say("ok")]],
        lambda assignment, turn: yielded({"items": [{"name": "first"}, "second"]}),
    )

    async def main() -> list[str]:
        async with session_of(play, tmp_path, settings={"async.enabled": False}) as session:
            await session.prompt("go")
            return [text_in(one) for one in session.log.messages()[4::2]]

    whole, part, query, missing, history, *_ = asyncio.run(main())
    assert '"first"' in whole and "second" in part and "first" in query
    assert "it has items" in missing
    assert "list them" in history and "-> yield" in history


def test_program_starts_an_agent_and_gets_its_result(tmp_path: Path) -> None:
    play = Play([[Say("ok")]], lambda assignment, turn: yielded("out"))

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            assert session.team is not None
            result = await session.team().run(TaskOrder(agent="task", text="work"), "")
            assert (result.outcome, result.output) == ("completed", "out")
            assert session.spawn is not None
            again = await session.spawn("more work", id="More", context="Background.")
            assert (again.id, again.outcome) == ("More", "completed")
            with pytest.raises(ToolError, match='There is no agent "nobody"'):
                await session.spawn("work", agent="nobody")

    asyncio.run(main())


@pytest.mark.parametrize("isolated", [False, True])
def test_model_gets_the_isolated_parameter_only_if_it_works(tmp_path: Path, isolated: bool) -> None:
    play = Play([[Say("ok")]], lambda assignment, turn: yielded())

    async def main() -> None:
        mode = "auto" if isolated else "none"
        async with session_of(play, tmp_path, settings={"task.isolation.mode": mode}) as session:
            await session.prompt("go")
            await finish(session)
            assert not results_in(session)

    asyncio.run(main())
    spec = next(tool for tool in play.main_requests[0].tools if tool.name == "task")
    assert ("isolated" in str(spec.parameters)) is isolated
