"""Tasks of Terminal-Bench 1: `task.yaml`, a Dockerfile, `run-tests.sh`, `tests/`, `solution.sh`."""

from pathlib import Path
from typing import Any

import msgspec
import yaml12
from msgspec import Struct
from msgspec.structs import replace

from tau.modes.batch.check_verdict import Judge
from tau.modes.batch.formats.dockerfile import UnsupportedTask, read_dockerfile
from tau.modes.batch.suite_task import SuiteTask
from tau.modes.batch.task import Budget
from tau.modes.batch.task_container import SOLUTION, TESTS, TaskContainer

DEFAULT_TIMEOUT_S = 360.0
DEFAULT_TEST_TIMEOUT_S = 60.0
COMPOSE = "docker-compose.yaml"


class _TaskFile(Struct):
    instruction: str = ""
    descriptions: list[dict[str, str]] = []
    max_agent_timeout_sec: float = DEFAULT_TIMEOUT_S
    max_test_timeout_sec: float = DEFAULT_TEST_TIMEOUT_S
    parser_name: str = "pytest"


class _Compose(Struct):
    services: dict[str, Any] = {}


def load_terminal_bench(folder: Path) -> SuiteTask:
    """Raises OSError, and ValueError for a damaged file."""
    file = msgspec.convert(_yaml(folder / "task.yaml"), _TaskFile, strict=False)
    base = [one.get("description", "") for one in file.descriptions if one.get("key") == "base"]
    prompt = file.instruction or "".join(base[:1])
    if not prompt.strip():
        raise ValueError("instruction: missing")
    try:
        if file.parser_name != "pytest":
            raise UnsupportedTask(f'Only the parser pytest is known, not "{file.parser_name}".')
        container = _container(folder)
    except UnsupportedTask as error:
        container = TaskContainer(unsupported=str(error))
    solution = folder / "solution.sh"
    return SuiteTask(
        prompt=prompt,
        check=f"bash {TESTS}/run-tests.sh",
        solution=f"bash {SOLUTION}/solution.sh" if solution.is_file() else _typed_solution(folder),
        budget=Budget(minutes=file.max_agent_timeout_sec / 60),
        judge=Judge("pytest"),
        container=replace(
            container,
            env={**container.env, "TEST_DIR": TESTS},
            tests=[(str(folder / "tests"), ""), (str(folder / "run-tests.sh"), "run-tests.sh")],
            solution=[(str(solution), solution.name)] if solution.is_file() else [],
            check_minutes=file.max_test_timeout_sec / 60,
        ),
    )


def _container(folder: Path) -> TaskContainer:
    if (folder / COMPOSE).is_file():
        services = msgspec.convert(_yaml(folder / COMPOSE), _Compose, strict=False).services
        if len(services) > 1:
            raise UnsupportedTask("It needs several containers.")
    if not (folder / "Dockerfile").is_file():
        raise UnsupportedTask("It has no Dockerfile.")
    return read_dockerfile(folder / "Dockerfile")


def _typed_solution(folder: Path) -> str:
    """The commands of `solution.yaml`, which are typed into a terminal there."""
    path = folder / "solution.yaml"
    if not path.is_file():
        return ""
    commands = msgspec.convert(_yaml(path), list[dict[str, Any]])
    return "\n".join(str(one.get("command", "")) for one in commands)


def _yaml(path: Path) -> object:
    return yaml12.parse_yaml(path.read_text(encoding="utf-8"))
