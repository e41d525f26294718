"""`agents` limits a rule to conversations of these kinds."""

import asyncio
from pathlib import Path

import pytest

from tau.ai.faux import Say
from tests.coding.task.play import Play, finish, session_of, task, yielded


@pytest.mark.parametrize(("agents", "reads"), [("main", (True, False)), ("ta*", (False, True))])
def test_only_the_agents_that_a_rule_names_read_it(
    tmp_path: Path, agents: str, reads: tuple[bool, bool]
) -> None:
    for name, fields in (("always", "alwaysApply: true"), ("listed", "description: Listed words")):
        path = tmp_path / ".tau/rules" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{fields}\nagents: {agents}\n---\nPrefer short words.\n")
    play = Play([[task("A")], [Say("ok")]], lambda assignment, turn: yielded())

    async def main() -> None:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await finish(session)

    asyncio.run(main())
    for words in ("Prefer short words.", "Listed words"):
        prompts = (play.main_requests[0].system, play.agent_requests[0].system)
        assert tuple(words in prompt for prompt in prompts) == reads
