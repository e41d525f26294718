"""What agents may spend and do: budgets, fan-out, permissions, honest failures."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Act, Count, Fail, Say, Stop, Use, Wait
from tau.base.errors import ProviderError
from tau.coding.approval.request import ApprovalDecision
from tau.coding.session.session import Session
from tests.coding.context import FakeDialogs, FakeUi
from tests.coding.task.play import Play, finish, results_in, session_of, task, yielded
from tests.support.idle import until

NOW = {"async.enabled": False}


def told(play: Play, folder: Path, **more: Any) -> list[str]:
    async def main() -> list[str]:
        settings = {**NOW, **more.pop("settings", {})}
        async with session_of(play, folder, settings=settings, **more) as session:
            await session.prompt("go")
            await finish(session)
            return results_in(session)

    return asyncio.run(main())


def test_endless_spawner_stops_at_the_limit(tmp_path: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        return [task(*"abcde")] if turn == 0 else yielded()

    play = Play([[task(*"abcde")], [task(*"abcde")], [Say("ok")]], agent)
    [_, second] = told(play, tmp_path, settings={"task.maxAgents": 12})
    assert len({str(request.messages[0]) for request in play.agent_requests}) <= 12
    assert "task.maxAgents" in second


def test_request_budget_forces_a_yield_and_then_ends_the_agent(tmp_path: Path) -> None:
    play = Play([[task("x")], [Say("ok")]], lambda assignment, turn: [Use("find", paths=["*"])])
    [text] = told(play, tmp_path, settings={"task.softRequestBudget": 4})
    assert "aborted" in text and "4 requests" in text
    assert len(play.agent_requests) == 6 + 3
    assert play.agent_requests[6].tool_choice == "yield"


def test_token_budget_ends_the_agent_and_says_so(tmp_path: Path) -> None:
    play = Play(
        [[task("x")], [Say("ok")]],
        lambda assignment, turn: [Count(input=600), Say("part"), Use("find", paths=["*"])],
    )
    [text] = told(play, tmp_path, settings={"task.maxTokens": 1000})
    assert "The budget of 1,000 tokens is used up" in text and "part" in text
    assert len(play.agent_requests) == 2


def test_time_limit_ends_the_agent(tmp_path: Path) -> None:
    play = Play([[task("x")], [Say("ok")]], lambda assignment, turn: [Wait(None)])
    [text] = told(play, tmp_path, settings={"task.maxRuntimeMs": 1})
    assert "aborted" in text and "time limit" in text


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([Fail(ProviderError("The key is refused.", status=401))], "The key is refused."),
        ([Say("half"), Stop("length")], "length limit"),
        ([Say("")], "empty response"),
    ],
    ids=["provider error", "length", "no text"],
)
def test_failures_are_not_shown_as_success(tmp_path: Path, answer: Any, reason: str) -> None:
    play = Play([[task("x")], [Say("ok")]], lambda assignment, turn: answer)
    [text] = told(play, tmp_path, settings={"retry.enabled": False})
    assert "failed" in text.splitlines()[0] and reason in text and "faux/faux" in text
    assert "history://" in text


def test_invalid_data_is_rejected_with_all_errors_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / ".tau" / "agents"
    folder.mkdir(parents=True)
    fields = "{n: {type: integer}, s: {type: string}}"
    head = f"name: strict\ndescription: d\noutput: {{type: object, properties: {fields}, required: [n, s]}}"
    (folder / "strict.md").write_text(f"---\n{head}\n---\nWork.\n")
    play = Play(
        [[task("x", agent="strict")], [Say("ok")]], lambda assignment, turn: yielded({"n": "no", "s": 1})
    )
    [text] = told(play, tmp_path, trust=True)
    assert "failed" in text and "$.n" in text and "$.s" in text and '"n": "no"' in text
    assert len(play.agent_requests) == 4


def test_agents_of_an_untrusted_repository_are_not_used(tmp_path: Path) -> None:
    folder = tmp_path / ".tau" / "agents"
    folder.mkdir(parents=True)
    (folder / "evil.md").write_text("---\nname: evil\ndescription: d\n---\nDo evil.\n")
    play = Play([[task("x", agent="evil")], [Say("ok")]], lambda assignment, turn: yielded())

    async def main() -> str:
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            return str(session.log.messages()[2])

    assert "until you trust this repository" in asyncio.run(main())
    assert not play.agent_requests


def write(path: Path) -> Use:
    return Use("write", path=str(path), content="x")


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("mode", ["ask", "plan"])
def test_agents_do_not_write_without_approval(tmp_path: Path, mode: str, depth: int) -> None:
    """The mode changes while the agent works: its next call follows it."""
    target = tmp_path / "written"
    sessions: list[Session] = []

    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        if turn:
            return yielded()
        if depth == 2 and assignment.startswith("outer"):
            return [task("inner")]
        return [Act(lambda: sessions[0].permissions.set_mode(mode)), write(target)]

    play = Play([[task("outer")], [Say("ok")]], agent)

    async def main() -> None:
        async with session_of(play, tmp_path, settings=NOW) as session:
            sessions.append(session)
            await session.prompt("go")

    asyncio.run(main())
    assert not target.exists() and len(play.agent_requests) >= 2


def test_question_of_an_agent_names_it_and_is_answered_once_for_all(tmp_path: Path) -> None:
    asked: list[str] = []

    class Dialogs(FakeDialogs):
        async def approve(self, request: Any) -> Any:
            asked.append(request.agent)
            return ApprovalDecision("session")

    play = Play(
        [[task("x", id="Ann")], [Say("ok")]],
        lambda assignment, turn: [write(tmp_path / f"f{turn}")] if turn < 2 else yielded(),
    )

    async def main() -> None:
        options = {"ui": FakeUi([]), "dialogs": Dialogs()}
        async with session_of(
            play, tmp_path, settings={**NOW, "tools.approvalMode": "ask"}, **options
        ) as session:
            await session.prompt("go")

    asyncio.run(main())
    assert asked and set(asked) == {"Ann"}
    assert (tmp_path / "f0").exists() and (tmp_path / "f1").exists()


def test_escape_ends_foreground_agents_and_stop_ends_background_ones(tmp_path: Path) -> None:
    async def main() -> None:
        play = Play([[task("x")], [Say("ok")]], lambda assignment, turn: [Wait(None)])
        async with session_of(play, tmp_path, settings=NOW) as session:
            run = asyncio.ensure_future(session.prompt("go"))
            await until(lambda: play.active == 1, 5, lambda: "not started")
            session.abort()
            assert (await run).aborted
            await until(lambda: play.active == 0, 5, lambda: "still running")
        play = Play([[task("x", id="X")], [Say("ok")]], lambda assignment, turn: [Wait(None)])
        async with session_of(play, tmp_path) as session:
            await session.prompt("go")
            await until(lambda: play.active == 1, 5, lambda: "not started")
            session.abort()
            assert play.active == 1
            assert session.team is not None and session.team().stop("X")
            await finish(session)
            assert play.active == 0
            assert "The user stopped it." in results_in(session)[-1]

    asyncio.run(main())


def test_totals_are_the_sum_over_the_tree(tmp_path: Path) -> None:
    play = Play(
        [[Count(input=10), task("a", "b")], [Count(input=10), Say("ok")]],
        lambda assignment, turn: [Count(input=100, output=7), *yielded()],
    )

    async def main() -> int:
        async with session_of(play, tmp_path, settings=NOW) as session:
            await session.prompt("go")
            usage = session.stats.usage
            return usage.input + usage.output

    assert asyncio.run(main()) == 20 + 2 * 107


def test_hundred_agents_ending_at_once_deliver_hundred_results(tmp_path: Path) -> None:
    gate = asyncio.Event()
    play = Play(
        [[task(*(f"n{number}" for number in range(100)))], [Say("ok")]],
        lambda assignment, turn: [Act(gate.wait), *yielded(f"result {assignment.split()[0]}.")],
    )

    async def main() -> None:
        settings = {"task.maxAgents": 0, "task.maxConcurrency": 0}
        async with session_of(play, tmp_path, settings=settings) as session:
            await session.prompt("go")
            await until(lambda: play.active == 100, 20, lambda: f"{play.active} started")
            gate.set()
            await finish(session)
            text = "\n".join(results_in(session))
            assert [number for number in range(100) if text.count(f"result n{number}.") != 1] == []

    asyncio.run(main())
