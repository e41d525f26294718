"""Suites of `tau bench`: a folder for each task, with its files, a check and a reference solution."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.modes.batch.suite_task import SuiteTask
from tau.modes.batch.task import BatchTask

harbor = late("tau.modes.batch.formats.harbor")
swe_bench = late("tau.modes.batch.formats.swe_bench")
terminal_bench = late("tau.modes.batch.formats.terminal_bench")

Loaded = TypeVar("Loaded")

BUNDLED = Path(__file__).with_name("suite")
TASK_FILE = "task.toml"
MAX_TASKS = 10_000


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
    """A folder of tasks, or a file of SWE-bench rows. Raises UsageError and ConfigError."""
    if path.is_file():
        return _read(path, swe_bench.load_swe_bench)
    if not path.is_dir():
        raise UsageError(f'There is no suite "{path}": it is a folder with a folder for each task.')
    folders = [path] if harbor.is_harbor(path) else sorted(path.iterdir())
    found: dict[str, SuiteTask] = {}
    for folder in folders[:MAX_TASKS]:
        if harbor.is_harbor(folder):
            found[folder.name] = _read(folder / TASK_FILE, lambda file: harbor.load_harbor(file.parent))
        elif (folder / TASK_FILE).is_file():
            found[folder.name] = _read(folder / TASK_FILE, _load)
        elif (folder / "task.yaml").is_file():
            found[folder.name] = _read(
                folder / "task.yaml", lambda file: terminal_bench.load_terminal_bench(file.parent)
            )
    if not found:
        raise UsageError(f'"{path}" has no tasks: no folder in it has a {TASK_FILE} or task.yaml.')
    return found


def _load(file: Path) -> SuiteTask:
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), SuiteTask)


def _read(file: Path, load: Callable[[Path], Loaded]) -> Loaded:
    try:
        return load(file)
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise ConfigError(f"{error}.".replace("..", "."), path=file) from None


def make_tasks(
    suite: Path, tasks: Mapping[str, SuiteTask], variants: Sequence[Variant], repeats: int, folder: Path
) -> dict[str, tuple[Run, BatchTask]]:
    """The tasks of a batch in `folder`, by id. Agents see neither the suite nor other runs."""
    hidden = [str(path) for path in (suite.resolve(), folder / "tasks", folder / "tasks.jsonl")]
    made: dict[str, tuple[Run, BatchTask]] = {}
    for variant in variants:
        for name, one in tasks.items():
            settings = _hide(_joined(one.settings, variant.settings), hidden)
            for repeat in range(1, repeats + 1):
                run = Run(name, variant.name, repeat)
                made[run.id] = (
                    run,
                    BatchTask(
                        id=run.id,
                        prompt=one.prompt,
                        model=variant.model,
                        settings=settings,
                        repo=one.repo,
                        commit=one.commit,
                        budget=one.budget,
                        files=one.files,
                        judge=one.judge,
                        container=one.container,
                        setup=one.setup,
                        check=strict(one.check),
                    ),
                )
    return made


def strict(script: str) -> str:
    """A shell script that ends at its first failure."""
    return f"set -e\n{script}"


def _joined(task: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a task, and over them those of a variant."""
    sections = {name: value for name, value in variant.items() if isinstance(value, dict)}
    return {**task, **variant, **{name: {**task.get(name, {}), **value} for name, value in sections.items()}}


def _hide(settings: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    sandbox, tools = dict(settings.get("sandbox", {})), dict(settings.get("tools", {}))
    sandbox["hide"] = [*sandbox.get("hide", ()), *paths]
    tools["deny"] = [*tools.get("deny", ()), *(f"read:{path}/**" for path in paths)]
    return {**settings, "sandbox": sandbox, "tools": tools}
