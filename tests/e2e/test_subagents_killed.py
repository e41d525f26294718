"""kill -9 while agents begin, work, are merged and cleaned up: nothing is lost, nothing is left."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import FAKE, TAU, Program
from tests.support.fake_answers import Answer, Call, Text
from tests.support.limits import HANG_S
from tests.support.soak import is_soaking
from tests.support.team_server import TeamServer, delegate, hand_over, say

Reached = Callable[["Killed"], bool]
PLACES: dict[str, Reached] = {
    "first request": lambda run: len(run.team.server.requests) >= 1,
    "registered": lambda run: run.has("A1.agent.json"),
    "copy begun": lambda run: any(copies().glob("*-A1")),
    "copy made": lambda run: any(copies().glob("*-A1/workspace.json")),
    "asked": lambda run: len(run.team.server.requests) >= 4,
    "at work": lambda run: any(copies().glob("*-A1/*/A1.txt")),
    "handed over": lambda run: len(run.team.server.requests) >= 7,
    "patch written": lambda run: run.has("A1.patch"),
    "merged": lambda run: (run.team.project / "A1.txt").exists(),
    "output written": lambda run: run.has("A1.md"),
}
FEW = ("registered", "copy made", "at work", "patch written", "merged")
LATER = range(10) if is_soaking() else range(1)
POINTS = [(place, more) for place in (PLACES if is_soaking() else FEW) for more in LATER]


def agent(text: str, turn: int) -> Answer:
    name = text[:2]
    match turn:
        case 0:
            return Answer((Text("I begin."), Call("bash", {"command": f"echo {name} > {name}.txt"}, id="c0")))
        case 1:
            return Answer((Call("bash", {"command": f"echo {name} >> more-{name}.txt"}, id="c1"),))
        case _:
            return hand_over(f"{name} is done")


def copies() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or f"{os.environ['HOME']}/.local/state"
    return Path(state) / "tau" / "workspaces"


def is_main(body: dict[str, Any]) -> bool:
    return all(tool["function"]["name"] != "yield" for tool in body.get("tools", []))


def mounts() -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(copies()) in line]


class Killed:
    """A print run that is killed once a condition holds, and a number of looks later."""

    def __init__(self, team: Program) -> None:
        self.team = team

    @property
    def session(self) -> Path | None:
        return next((self.team.home / "sessions").glob("*/*.jsonl"), None)

    def has(self, name: str) -> bool:
        return self.session is not None and (self.session.with_suffix("") / name).exists()

    def run(self, reached: Reached, more: int) -> None:
        with subprocess.Popen(
            [*TAU, *FAKE, "-p", "go"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.team.project,
        ) as child:
            deadline = time.monotonic() + HANG_S
            while child.poll() is None and not (reached(self) and (more := more - 1) < 0):
                if time.monotonic() > deadline:
                    child.kill()
                    raise AssertionError("it never came that far")
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Program]:
    with TeamServer(agent) as server:
        tau = Program(server, tmp_path)
        command = (
            "git init -q && echo x > x && git add -A && git -c user.name=a -c user.email=a@b commit -qm x"
        )
        subprocess.run(command, shell=True, cwd=tau.project, check=True)
        yield tau


@pytest.mark.parametrize(("place", "more"), POINTS)
def test_killed_at_any_point_loses_nothing(team: Program, place: str, more: int) -> None:
    mode = ("overlay", "worktree")[(list(PLACES).index(place) + more) % 2]
    team.settings(
        task={"isolation": {"mode": mode}},
        tools={"approvalMode": "yolo"},
        sandbox={"mode": "off"},
        retry={"enabled": False},
    )
    team.server.script(delegate("A1 works", "A2 works", isolated=True), say("They work."), say("Noted."))
    killed = Killed(team)
    killed.run(PLACES[place], more)
    session = killed.session
    team.server.script(say("I see."))
    if session is None or not team.server.requests:
        return
    ran = team.run(*FAKE, "-p", "and?", "--resume", str(session))
    assert ran.returncode == 0, ran.stderr
    heard = "\n".join(str(one.body["messages"]) for one in team.server.requests if is_main(one.body))
    for name in ("A1", "A2"):
        if not killed.has(f"{name}.agent.json"):
            continue  # not registered yet: the call has no result either
        is_done, is_told = f"{name} is done" in heard, f"{name} was interrupted" in heard
        assert is_done or is_told, heard[-3000:]
        merged = (team.project / f"{name}.txt").exists() and (team.project / f"more-{name}.txt").exists()
        kept = [path for path in copies().glob(f"*-{name}") if (path / "workspace.json").exists()]
        assert merged or kept or is_told, f"{name} has lost its work"
        assert merged or not is_done or "Merged" not in heard
    assert mounts() == []
    cleaned = team.run("worktree", "clean")
    assert cleaned.returncode == 0 and "in use" not in cleaned.stdout, cleaned.stdout
    assert mounts() == []
