"""SubagentStart and SubagentStop: what they get, and what their answers do to the agent."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tau.ai.faux import FauxStep, Say
from tests.coding.task.play import Play, finish, results_in, session_of, task, text_in, yielded
from tests.ext.hooks.rig import events, hook, user_hooks


def told(play: Play) -> list[str]:
    """What the agent's last message said, for each of its requests."""
    return [text_in(request.messages[-1]) for request in play.agent_requests]


def run(tmp_path: Path, answer: Sequence[FauxStep] | None = None) -> tuple[Play, list[str]]:
    """A session that starts one agent, which yields, or answers, whenever asked; and the results it got."""
    script = [[task("find A", id="Finder")], *([Say("ok")] for _ in range(3))]
    play = Play(script, lambda assignment, turn: answer or yielded())
    found: list[str] = []
    work = tmp_path / "work"
    work.mkdir()

    async def main() -> None:
        async with session_of(play, work, settings={"tools.approvalMode": "yolo"}) as session:
            await session.prompt("go")
            await finish(session)
            found.extend(results_in(session))

    asyncio.run(main())
    return play, found


def seen(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def test_start_hook_gets_the_agent_and_adds_to_its_assignment(tmp_path: Path) -> None:
    log = tmp_path / "start"
    user_hooks(events(SubagentStart=("task", hook(f"cat >> {log}; echo >> {log}; echo 'It is Monday'"))))
    play, _ = run(tmp_path)
    [one] = seen(log)
    assert (one["hook_event_name"], one["agent_id"], one["agent_type"]) == ("SubagentStart", "Finder", "task")
    assert "find A" in told(play)[0] and told(play)[0].endswith("It is Monday")


def test_matcher_of_another_kind_of_agent_runs_nothing(tmp_path: Path) -> None:
    log = tmp_path / "start"
    user_hooks(events(SubagentStart=("explore", hook(f"touch {log}")), SubagentStop=("plan", hook("exit 2"))))
    play, _ = run(tmp_path)
    assert not log.exists() and len(play.agent_requests) == 1


def test_stop_hook_sends_the_agent_back_to_work_once(tmp_path: Path) -> None:
    log = tmp_path / "stop"
    once = f"[ $(grep -c SubagentStop {log}) -gt 1 ] || {{ echo 'run the tests' >&2; exit 2; }}"
    user_hooks(events(SubagentStop=("task", hook(f"cat >> {log}; echo >> {log}; {once}"))))
    play, results = run(tmp_path)
    first, second = seen(log)
    assert (first["agent_id"], first["agent_type"]) == ("Finder", "task")
    assert (first["last_assistant_message"], first["stop_hook_active"]) == ("done", False)
    assert second["stop_hook_active"] is True
    assert len(play.agent_requests) == 2 and "run the tests" in told(play)[1]
    assert sum("done" in text for text in results) == 1


def test_stop_hook_that_never_agrees_does_not_hold_the_agent_forever(tmp_path: Path) -> None:
    user_hooks(events(SubagentStop=[hook("echo 'not yet' >&2; exit 2")]))
    play, results = run(tmp_path)
    assert 1 < len(play.agent_requests) <= 6
    assert sum("done" in text for text in results) == 1


def test_agent_has_its_own_events_instead_of_those_of_the_conversation(tmp_path: Path) -> None:
    log = tmp_path / "events"
    record = hook(f"cat >> {log}; echo >> {log}")
    names = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "SubagentStart", "SubagentStop")
    user_hooks(events(**{name: [record] for name in names}))
    run(tmp_path)
    found = [one["hook_event_name"] for one in seen(log)]
    assert [found.count(name) for name in ("SessionStart", "UserPromptSubmit", "SessionEnd")] == [1, 1, 1]
    assert [found.count(name) for name in ("SubagentStart", "SubagentStop")] == [1, 1]
    assert all(one["last_assistant_message"] == "ok" for one in seen(log) if one["hook_event_name"] == "Stop")


def test_stop_hook_comes_for_an_agent_that_never_yields_too(tmp_path: Path) -> None:
    log = tmp_path / "stop"
    user_hooks(events(SubagentStop=[hook(f"cat >> {log}; echo >> {log}; exit 2")]))
    run(tmp_path, answer=[Say("I will not.")])
    [one] = seen(log)
    assert one["last_assistant_message"] == "I will not."
