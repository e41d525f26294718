"""Tasks of Harbor: `task.toml`, `instruction.md`, `environment/`, `tests/test.sh`, `solution/solve.sh`."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tau.modes.batch.check_verdict import Judge
from tau.modes.batch.formats.dockerfile import UnsupportedTask, read_dockerfile
from tau.modes.batch.suite_task import SuiteTask
from tau.modes.batch.task import Budget
from tau.modes.batch.task_container import SOLUTION, TESTS, TaskContainer

DEFAULT_TIMEOUT_S = 600.0


class _Phase(Struct, frozen=True):
    timeout_sec: float = DEFAULT_TIMEOUT_S
    env: dict[str, Any] = {}


class _Environment(Struct, frozen=True):
    docker_image: str | None = None
    allow_internet: bool = True
    network_mode: str | None = None
    env: dict[str, Any] = {}


class _TaskFile(Struct):
    agent: _Phase = _Phase()
    verifier: _Phase = _Phase()
    environment: _Environment = _Environment()


def is_harbor(folder: Path) -> bool:
    return (folder / "task.toml").is_file() and (folder / "instruction.md").is_file()


def load_harbor(folder: Path) -> SuiteTask:
    """Raises OSError, and ValueError for a damaged file."""
    file = msgspec.convert(
        tomllib.loads((folder / "task.toml").read_text(encoding="utf-8")), _TaskFile, strict=False
    )
    environment = file.environment
    try:
        container = _container(folder / "environment", environment.docker_image)
    except UnsupportedTask as error:
        container = TaskContainer(unsupported=str(error))
    env = {name: str(value) for name, value in (environment.env | file.verifier.env).items()}
    solution = folder / "solution"
    is_offline = not environment.allow_internet or environment.network_mode in ("none", "no-network")
    return SuiteTask(
        prompt=(folder / "instruction.md").read_text(encoding="utf-8"),
        check=f"bash {TESTS}/test.sh",
        solution=f"bash {SOLUTION}/solve.sh" if (solution / "solve.sh").is_file() else "",
        budget=Budget(minutes=file.agent.timeout_sec / 60),
        settings={"sandbox": {"network": "off"}} if is_offline else {},
        judge=Judge("reward"),
        container=replace(
            container,
            env=container.env | env,
            tests=[(str(folder / "tests"), "")],
            solution=[(str(solution), "")] if solution.is_dir() else [],
            check_minutes=file.verifier.timeout_sec / 60,
        ),
    )


def _container(folder: Path, image: str | None) -> TaskContainer:
    if image:
        raise UnsupportedTask(f"It needs the container image {image}.")
    if any(folder.glob("*compose*.y*ml")):
        raise UnsupportedTask("It needs several containers.")
    if not (folder / "Dockerfile").is_file():
        raise UnsupportedTask("It has no environment/Dockerfile.")
    return read_dockerfile(folder / "Dockerfile")
