"""Ordinary commands run unasked in a sandbox, and end there as they do outside."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.agent.ui import NoticeLevel
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tests.safety.ordinary_commands import COMMANDS, DIFFERENT, DIFFERENT_WITH_LANDLOCK, SLOW, fill
from tests.safety.sandbox_rig import ENGINES, GIT_ENV, Place, git, require
from tests.support.free_ports import free_port

MAX_QUESTIONS = 6
MIN_SAME = 0.97
NOT_FOUND = 127


class CountingUi:
    """Counts the questions. Approves commands, and refuses everything that a sandbox blocked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        self.asked.append(title)
        return "Yes" if "Yes" in options else None

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"not expected: {name}")


def commands_of_today() -> dict[str, str]:
    """The commands by their templates."""
    return {command: command.replace("PORT", str(free_port())) for command in COMMANDS}


def environment_of(place: Place) -> dict[str, str]:
    """Without retries: npm waits 70 s before it tries a refused connection for the last time."""
    return {
        **GIT_ENV,
        "HOME": str(place.home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "npm_config_fetch_retries": "0",
    }


def make_project(folder: Path) -> Place:
    place = Place(folder)
    fill(place.project)
    place.init(place.project)
    for name in (".npm", ".cargo"):
        (place.home / name).mkdir()
    git(place.project, "clone", "-q", "--bare", ".", str(place.home / "origin.git"))
    git(place.project, "remote", "add", "origin", str(place.home / "origin.git"))
    return place


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The exit codes of the commands without a sandbox."""
    place = make_project(tmp_path_factory.mktemp("outside"))
    environment = {**os.environ, **environment_of(place)}
    for name in ("XDG_CACHE_HOME", "TAU_HOME"):
        environment.pop(name, None)

    def run(command: str) -> int:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=place.project,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode

    codes = {template: run(command) for template, command in commands_of_today().items()}
    Path("/tmp/tau-note.txt").unlink(missing_ok=True)  # else the tests of another user cannot write it
    return codes


@pytest.mark.parametrize(
    ("engine", "left_out"),
    [
        (ENGINES[0], frozenset[str]()),
        *((engine, SLOW) for engine in ENGINES[1:]),
        *(pytest.param(engine, frozenset[str](), marks=pytest.mark.soak) for engine in ENGINES[1:]),
    ],
)
def test_200_commands_ask_at_most_6_questions_and_exit_as_outside(
    tmp_path: Path,
    engine: str,
    left_out: frozenset[str],
    outside: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require(engine)
    place = make_project(tmp_path / "inside")
    today = commands_of_today()
    templates = [template for template in COMMANDS if template not in left_out]
    commands = [today[template] for template in templates]
    for name, value in environment_of(place).items():
        monkeypatch.setenv(name, value)
    for name in ("XDG_CACHE_HOME", "TAU_HOME"):
        monkeypatch.delenv(name, raising=False)
    ui = CountingUi()

    async def main() -> list[ToolResultMessage]:
        script: list[list[FauxStep]] = [
            *([Use("bash", command=command, cwd=".")] for command in commands),
            [Say("done")],
        ]
        options = tau.SessionOptions(
            cwd=place.project,
            stream=Faux(script).stream,
            save=False,
            tools=("bash",),
            ui=ui,
            settings={"sandbox.engine": engine, "sandbox.mode": "required"},
        )
        async with tau.create_session(options) as session:
            await session.prompt("go")
            return [each for each in session.log.messages() if isinstance(each, ToolResultMessage)]

    results = asyncio.run(main())
    assert len(results) == len(commands) >= 200
    differ = {
        template: f"{outside[template]}, inside: {text_of(result.content)[-400:]}"
        for template, result in zip(templates, results, strict=True)
        if getattr(result.details, "exit_code", None) != outside[template]
    }
    found = [code for code in outside.values() if code != NOT_FOUND]
    assert len(ui.asked) <= MAX_QUESTIONS, "\n\n".join(ui.asked)
    known = {**DIFFERENT, **(DIFFERENT_WITH_LANDLOCK if engine == "landlock" else {})}
    assert {template: text for template, text in differ.items() if template not in known} == {}
    assert sum(code == 0 for code in found) > 0.85 * len(found), "most of them should work outside"


def test_few_commands_are_known_to_exit_differently() -> None:
    assert {*DIFFERENT, *DIFFERENT_WITH_LANDLOCK, *SLOW} <= set(COMMANDS)
    assert len({**DIFFERENT, **DIFFERENT_WITH_LANDLOCK}) <= (1 - MIN_SAME) * len(COMMANDS)
