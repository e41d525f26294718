"""The Agent Hub: what each agent does, live, and what can be done with it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Act, Say, Use, Wait
from tests.coding.task.play import Answer, Play, yielded
from tests.modes.interactive.rig import Rig, rigged, run

YOLO: dict[str, Any] = {"tools.approvalMode": "yolo", "sandbox.mode": "off"}


def delegate(*names: str, agent: str = "task") -> Answer:
    return [
        Use(
            "task",
            agent=agent,
            context="Shared.",
            tasks=[{"id": name, "assignment": f"Work on {name}"} for name in names],
        )
    ]


def hub(
    tmp_path: Path,
    names: tuple[str, ...],
    agent: Callable[[str, int], Answer],
    test: Callable[[Rig, Play], Awaitable[None]],
    *,
    kind: str = "task",
    **options: Any,
) -> None:
    async def main() -> None:
        play = Play([delegate(*names, agent=kind), [Say("Started.")], [Say("Thanks.")]], agent)
        settings = {**YOLO, **options.pop("settings", {})}
        async with rigged(tmp_path, stream=play.stream, settings=settings, **options) as rig:
            await rig.send("go")
            await test(rig, play)
            await rig.until(lambda: rig.session.team is not None)
            rig.session.team().stop_all()  # type: ignore[misc]

    run(main)


def waiting(assignment: str, turn: int) -> Answer:
    return [Say("I look around."), Wait()]


def test_agents_of_a_blocking_call_are_listed_and_stopped(tmp_path: Path) -> None:
    async def test(rig: Rig, play: Play) -> None:
        await rig.show("2 running")
        await rig.press("alt+a")
        await rig.show("── Agents")
        await rig.press("down", "alt+s")
        await rig.show("Stopping Two.")
        await rig.show("aborted")
        await rig.press("alt+x")
        await rig.show("Stopping 1 agent.")
        await rig.press("escape")
        await rig.show("Started.")

    hub(tmp_path, ("One", "Two"), waiting, test, kind="oracle", columns=60, rows=30)


def test_transcript_grows_while_it_is_open(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def wait() -> None:
        await go.wait()

    def agent(assignment: str, turn: int) -> Answer:
        if turn == 0:
            return [Say("First I read."), Use("bash", command="echo from-the-tool")]
        return [Say("Now I **know**."), Act(wait), *yielded("all of it")]

    async def test(rig: Rig, play: Play) -> None:
        await rig.show("Started.")
        await rig.press("alt+a")
        await rig.show("── Agents")
        await rig.press("enter")
        await rig.show("from-the-tool")
        await rig.show("Now I know.")
        assert rig.terminal.alternate
        go.set()
        await rig.show("One: completed")
        await rig.show("Accepted.")
        await rig.press("q")
        await rig.show("completed, idle")
        await rig.press("escape")

    hub(tmp_path, ("One",), agent, test)


def test_message_wakes_an_idle_agent(tmp_path: Path) -> None:
    async def test(rig: Rig, play: Play) -> None:
        await rig.show("Started.")
        await rig.press("left")
        await rig.press("left")
        await rig.show("completed, idle")
        await rig.press("alt+m")
        await rig.show("Message to One")
        await rig.type("one more thing")
        await rig.press("enter")
        await rig.show("One works on it.")
        await rig.until(lambda: any("one more thing" in str(one.messages) for one in play.agent_requests))
        await rig.press("escape")

    hub(tmp_path, ("One",), lambda assignment, turn: yielded("done") if turn == 0 else [Say("ok")], test)


def test_filter_and_menu_of_actions(tmp_path: Path) -> None:
    async def test(rig: Rig, play: Play) -> None:
        await rig.show("Started.")
        await rig.send("/hub")
        await rig.show("── Agents")
        await rig.type("Thr")
        await rig.show("❯ Three")
        await rig.press("tab")
        await rig.show("Forget it")
        assert "its copy" not in rig.screen()  # it has none
        await rig.press("down", "enter")
        await rig.show("Stopping Three.")
        await rig.press("alt+d")
        await rig.show("did not work in a copy")
        await rig.press("escape")

    hub(tmp_path, ("One", "Two", "Three"), waiting, test)


def test_question_of_an_agent_is_announced_and_comes_after_the_hub(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def wait() -> None:
        await go.wait()

    def agent(assignment: str, turn: int) -> Answer:
        return [Act(wait), Use("bash", command="touch x")] if turn == 0 else yielded("done")

    async def test(rig: Rig, play: Play) -> None:
        await rig.show("Started.")
        await rig.press("alt+a")
        await rig.show("── Agents")
        go.set()
        await rig.show("Esc closes this and shows it.")
        await rig.show("waiting for you")
        await rig.press("escape")
        await rig.show("Allow once")
        await rig.show("One")
        await rig.press("escape")
        await rig.gone("Allow once")

    hub(tmp_path, ("One",), agent, test, settings={"tools.approvalMode": "ask"})


def test_panel_shows_six_agents_and_vanishes_with_the_last(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def wait() -> None:
        await go.wait()

    def agent(assignment: str, turn: int) -> Answer:
        return [Act(wait), *yielded("done")]

    async def test(rig: Rig, play: Play) -> None:
        shown = await rig.show("8 running")
        assert "2 more" in shown and "Alt+A opens them" in shown
        assert sum("Work on" in row and "1 request" in row for row in (await rig.drawn()).splitlines()) <= 6
        assert "8 agents" in shown
        go.set()
        await rig.gone("Alt+A opens them")
        await rig.gone("8 agents")
        assert rig.tape().count("8 running") == 0

    names = tuple(f"N{at}" for at in range(8))
    hub(tmp_path, names, agent, test, columns=120, rows=40)


@pytest.mark.parametrize("kind", ["task", "oracle"])
def test_screen_reader_hears_one_line_per_change(tmp_path: Path, kind: str) -> None:
    async def test(rig: Rig, play: Play) -> None:
        await rig.show("Agent One: running.")
        await rig.show("Agent One: completed.")
        await rig.idle()
        assert rig.tape().count("Agent One: running.") == 1
        assert rig.tape().count("Agent One: completed.") == 1

    settings = {"display.screenReader": True}
    hub(tmp_path, ("One",), lambda assignment, turn: yielded("done"), test, kind=kind, settings=settings)
