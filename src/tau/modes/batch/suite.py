"""Suites of `tau bench`: a folder for each task, with its files, a check and a reference solution."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tau.base.errors import ConfigError, UsageError
from tau.modes.batch.task import Budget, Task

BUNDLED = Path(__file__).with_name("suite")
TASK_FILE = "task.toml"
MAX_TASKS = 10_000


class SuiteTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`task.toml`. `check` and `solution` are shell scripts; the agent sees neither."""

    prompt: str
    check: str
    solution: str = ""
    setup: str = ""
    files: dict[str, str] = {}
    budget: Budget = Budget()


class Variant(Struct, frozen=True):
    """What is compared: a model, with settings."""

    name: str
    model: str = ""
    settings: dict[str, Any] = {}


class Run(Struct, frozen=True):
    """One attempt of one variant at one task of a suite."""

    task: str
    variant: str
    repeat: int

    @property
    def id(self) -> str:
        return re.sub(r"[^A-Za-z0-9_-]+", "-", f"{self.task}.{self.variant}")[:70] + f".{self.repeat}"


def load_suite(path: Path) -> dict[str, SuiteTask]:
    """Raises UsageError and ConfigError."""
    if not path.is_dir():
        raise UsageError(f'There is no suite "{path}": it is a folder with a folder for each task.')
    found: dict[str, SuiteTask] = {}
    for file in sorted(path.glob(f"*/{TASK_FILE}"))[:MAX_TASKS]:
        try:
            found[file.parent.name] = msgspec.convert(
                tomllib.loads(file.read_text(encoding="utf-8")), SuiteTask
            )
        except (OSError, ValueError, msgspec.ValidationError) as error:
            raise ConfigError(f"{error}.".replace("..", "."), path=file) from None
    if not found:
        raise UsageError(f'"{path}" has no tasks: no folder in it has a {TASK_FILE}.')
    return found


def make_tasks(
    suite: Path, tasks: Mapping[str, SuiteTask], variants: Sequence[Variant], repeats: int, folder: Path
) -> dict[str, tuple[Run, Task]]:
    """The tasks of a batch in `folder`, by id. Agents see neither the suite nor other runs."""
    hidden = [str(path) for path in (suite.resolve(), folder / "tasks", folder / "tasks.jsonl")]
    made: dict[str, tuple[Run, Task]] = {}
    for variant in variants:
        settings = _hide(variant.settings, hidden)
        for name, one in tasks.items():
            for repeat in range(1, repeats + 1):
                run = Run(name, variant.name, repeat)
                made[run.id] = (
                    run,
                    Task(
                        id=run.id,
                        prompt=one.prompt,
                        model=variant.model,
                        settings=settings,
                        budget=one.budget,
                        files=one.files,
                        setup=one.setup,
                        check=strict(one.check),
                    ),
                )
    return made


def strict(script: str) -> str:
    """A shell script that ends at its first failure."""
    return f"set -e\n{script}"


def _hide(settings: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    sandbox, tools = dict(settings.get("sandbox", {})), dict(settings.get("tools", {}))
    sandbox["hide"] = [*sandbox.get("hide", ()), *paths]
    tools["deny"] = [*tools.get("deny", ()), *(f"read:{path}/**" for path in paths)]
    return {**settings, "sandbox": sandbox, "tools": tools}
