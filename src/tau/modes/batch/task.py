"""A task of a batch, and the files that list them; everything is checked before anything runs."""

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tau.ai.model import ThinkingLevel
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes
from tau.modes.batch.check_verdict import Judge
from tau.modes.batch.task_container import TaskContainer

layers = late("tau.config.layers")
schema_check = late("tau.coding.task.schema_check")

MAX_FILE_BYTES = 1024 * MIB
MAX_PROMPT_BYTES = MIB
MAX_PROBLEMS = 20
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Positive = Annotated[int, Meta(gt=0)]
PositiveNumber = Annotated[float, Meta(gt=0)]


class Budget(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one attempt may use."""

    turns: Positive | None = None
    tokens: Positive | None = None
    cost: PositiveNumber | None = None
    minutes: PositiveNumber | None = None


class Resources(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    cpus: PositiveNumber = 1
    memory_mb: Annotated[int, Meta(ge=0)] = 0
    labels: dict[str, PositiveNumber] = {}


class BatchTask(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"
):
    """One line of a task file. `check` is a shell command whose exit code judges the work."""

    id: str = ""
    prompt: str = ""
    prompt_file: str = ""
    repo: str = ""
    commit: str = ""
    dir: str = ""
    files: dict[str, str] = {}
    model: str = ""
    thinking: ThinkingLevel | None = None
    tools: list[str] | None = None
    approval_mode: Literal["ask", "workspace", "plan", "yolo"] | None = None
    settings: dict[str, Any] = {}
    env: list[str] = []
    budget: Budget = Budget()
    setup: str = ""
    check: str = ""
    collect: list[str] = []
    attempts: Annotated[int, Meta(ge=1, le=20)] = 1
    after: list[str] = []
    output: dict[str, Any] | None = None  # a JSON Schema of the answer
    judge: Judge = Judge()
    container: TaskContainer | None = None
    resources: Resources = Resources()

    def problems(self) -> Iterator[str]:
        """What is wrong with this task alone, as `field: sentence`."""
        if self.id and not _ID.fullmatch(self.id):
            yield f'id: "{self.id[:80]}" must be up to 80 letters, digits, ".", "_" or "-".'
        if not self.prompt.strip():
            yield "prompt: missing; give prompt or promptFile."
        elif len(self.prompt.encode()) > MAX_PROMPT_BYTES:
            yield f"prompt: larger than {format_bytes(MAX_PROMPT_BYTES)}; put the data in a file of the task."
        if self.repo and self.dir:
            yield "dir: give repo or dir, not both."
        if self.repo.startswith("-") or self.commit.startswith("-"):
            yield 'repo: repository and commit cannot begin with "-".'
        if self.commit and not self.repo:
            yield "commit: needs repo."
        if self.output is not None and (why := schema_check.schema_problem(self.output)):
            yield f"output: no JSON Schema: {why.rstrip('.')}."
        yield from self._content_problems()

    def _content_problems(self) -> Iterator[str]:
        for name in self.env:
            if not _NAME.fullmatch(name):
                yield f'env: "{name[:80]}" is no name of a variable; values do not belong in a task file.'
        for field, names in (("files", self.files), ("collect", self.collect)):
            for name in names:
                path = PurePosixPath(name)
                if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
                    yield f'{field}: "{name[:80]}" must stay in the folder of the task.'
        for problem in layers.setting_problems(self.settings) if self.settings else ():
            yield f"settings: {problem}"
        if self.files and self.dir:
            yield "files: they cannot be written into dir; use repo, or neither."


class TaskList(Struct, frozen=True):
    """Tasks by key, in order. The key is the id, or a hash of the task."""

    tasks: dict[str, BatchTask]


def key_of(task: BatchTask) -> str:
    return task.id or hashlib.sha256(msgspec.json.encode(task, order="sorted")).hexdigest()[:16]


def provider_of(model: str) -> str:
    """What shares limits: the provider if the model names one."""
    return model.partition("/")[0] if "/" in model else model or "the provider"


def load_tasks(path: Path, template: str | None = None) -> TaskList:
    """Read a task file, or rows that fill the template. Raises UsageError naming each bad line and field."""
    tasks = check_tasks(
        (
            (f"{path}:{number}", row if template is None else _fill(template, row))
            for number, row in _rows(path)
        ),
        path.parent,
    )
    if not tasks.tasks:
        raise UsageError(f"{path} has no tasks.")
    return tasks


def check_tasks(rows: Iterable[tuple[str, object]], folder: Path) -> TaskList:
    """Tasks, or JSON objects, each with a name for its place. Raises UsageError naming each bad field."""
    found: list[str] = []
    tasks: dict[str, BatchTask] = {}
    places: dict[str, str] = {}
    for place, row in rows:
        try:
            task = row if isinstance(row, BatchTask) else _task(row, folder)
        except (ValueError, msgspec.ValidationError, RecursionError) as error:
            found.append(f"{place}: {_field_first(str(error))}")
            continue
        found += (f"{place}: {problem}" for problem in task.problems())
        key = key_of(task)
        if key in tasks:
            what = f'id: "{key}" is also' if task.id else "the same task is"
            found.append(f"{place}: {what} {places[key]}.")
        tasks[key] = task
        places[key] = place
    found += (f"{places[key]}: {problem}" for key, problem in _order_problems(tasks))
    if found:
        more = f"\n... and {len(found) - MAX_PROBLEMS} more" if len(found) > MAX_PROBLEMS else ""
        raise UsageError("\n".join(found[:MAX_PROBLEMS]) + more)
    return TaskList(tasks)


def _rows(path: Path) -> Iterator[tuple[int, object]]:
    """Each row with its line number; a row that cannot be read is its error."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{path} is larger than {format_bytes(MAX_FILE_BYTES)}.")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}).") from None
    if path.suffix.lower() == ".csv":
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            for row in reader:
                extra = None in row or None in row.values()
                yield (
                    reader.line_num,
                    ValueError("row: as many values as columns are needed.") if extra else row,
                )
        except csv.Error as error:
            yield reader.line_num, ValueError(f"row: {error}.")
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line.encode())
            except (msgspec.DecodeError, RecursionError) as error:
                yield number, ValueError(f"not JSON: {error}.")


def _task(row: object, folder: Path) -> BatchTask:
    if isinstance(row, ValueError):
        raise row
    task = msgspec.convert(row, BatchTask)
    if not task.prompt_file:
        return task
    if task.prompt:
        raise ValueError("promptFile: give prompt or promptFile, not both.")
    try:
        file = folder / task.prompt_file
        if file.stat().st_size > MAX_PROMPT_BYTES:
            raise ValueError(f"promptFile: {file} is larger than {format_bytes(MAX_PROMPT_BYTES)}.")
        prompt = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"promptFile: {task.prompt_file} is not UTF-8 text.") from None
    except OSError as error:
        raise ValueError(f"promptFile: {task.prompt_file} cannot be read: {error.strerror}.") from None
    return msgspec.structs.replace(task, prompt=prompt, prompt_file="")


def _fill(template: str, row: object) -> object:
    """A task whose prompt is the filled template; columns named like a field of a task set it."""
    if isinstance(row, ValueError):
        return row
    if not isinstance(row, Mapping):
        return ValueError("row: an object is needed.")
    wanted = _placeholders(template)
    if missing := [name for name in wanted if name not in row]:
        return ValueError(f"{missing[0]}: the template needs it, and the row does not have it.")
    fields = {field.encode_name for field in msgspec.structs.fields(BatchTask)} - {"prompt", "promptFile"}
    known = {name: value for name, value in row.items() if name in fields and value not in ("", None)}
    text = "".join(
        literal + ("" if name is None else str(row[name]))
        for literal, name, _, _ in Formatter().parse(template)
    )
    return {**known, "prompt": text}


def _placeholders(template: str) -> Sequence[str]:
    try:
        return [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise UsageError(f"The template is invalid: {error}; write {{{{ for a brace.") from None


def _order_problems(tasks: Mapping[str, BatchTask]) -> Iterator[tuple[str, str]]:
    """Unknown ids in `after`, and cycles."""
    waits = {key: list(task.after) for key, task in tasks.items()}
    for key, names in waits.items():
        for name in names:
            if name not in tasks:
                yield key, f'after: there is no task "{name[:80]}".'
    waiting = {key: sum(name in tasks for name in names) for key, names in waits.items()}
    followers: dict[str, list[str]] = {}
    for key, names in waits.items():
        for name in names:
            followers.setdefault(name, []).append(key)
    free = [key for key, count in waiting.items() if not count]
    while free:
        for follower in followers.get(free.pop(), ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                free.append(follower)
    if stuck := [key for key, count in waiting.items() if count]:
        yield stuck[0], f"after: these tasks wait for each other: {', '.join(stuck[:5])}."


def _field_first(message: str) -> str:
    """`budget.turns: Expected ...`, from what msgspec says: `Expected ... - at `$.budget.turns``."""
    text, _, at = message.partition(" - at `$")
    if not at:
        return message
    path = at.rstrip("`").lstrip(".")
    return f"{path}: {text}." if path else f"{text}."
