"""What callers read about an agent whose copy is merged and gone."""

from pathlib import Path

from tau.ai.faux import Say, Use
from tests.coding.task.play import Play, finish, results_in, run, session_of, task, yielded
from tests.coding.task.test_isolation import repository  # noqa: F401 - a fixture

SETTINGS = {"task.isolation.mode": "worktree", "tools.approvalMode": "yolo"}


def test_an_agent_that_cannot_be_woken_is_not_offered_for_messages(repository: Path) -> None:  # noqa: F811
    write = [Use("write", path="new.txt", content="x")]
    play = Play(
        [[task("work", isolated=True)], [Say("ok")], [Say("ok")]],
        lambda assignment, turn: write if turn == 0 else yielded("done"),
    )

    async def main() -> None:
        async with session_of(play, repository, settings=SETTINGS) as session:
            await session.prompt("go")
            await finish(session)
            text = "\n".join(results_in(session))
            assert "Merged: new.txt" in text and "[Transcript: history://" in text
            assert "is idle" not in text

    run(main())
