"""`tau batch`: runs a file of tasks to the end, resumes it, and shows what came of it."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.cli.json_output import write_json
from tau.cli.parse import ParsedArgs
from tau.cli.signals import Signals
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.modes.batch import coordinator as running
from tau.modes.batch.executor import Executor
from tau.modes.batch.limiter import RateLimits
from tau.modes.batch.local_executor import LocalExecutor, auto_jobs
from tau.modes.batch.progress_view import ProgressView, write_stderr
from tau.modes.batch.report import HEAD, html_report, markdown_report, result_rows, summary_line, text_table
from tau.modes.batch.run_folder import RetryRecord, RunFolder
from tau.modes.batch.scheduler import Status
from tau.modes.batch.task import BatchTask, load_tasks, provider_of
from tau.modes.batch.workspace import Workspaces
from tau.modes.exit_status import DONE
from tau.modes.output_stream import OutputStream, tell

if TYPE_CHECKING:
    from tau.modes.batch.delivery import Deliveries, DeliveryKind

delivery = late("tau.modes.batch.delivery")
ray_executors = late("tau.modes.batch.ray_executor")

# Flags of tau that are passed on to each task.
PASSED = (
    "provider",
    "model",
    "thinking",
    "base-url",
    "tools",
    "no-tools",
    "approval-mode",
    "yolo",
    "trust",
    "config",
)


def run(words: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("batch", words, common=True)
    match parsed.words:
        case ["status" | "show" | "report" as action, folder]:
            return _show(action, RunFolder(typed_path(folder)), parsed)
        case ["show", folder, key]:
            return _show_task(RunFolder(typed_path(folder)), key)
        case ["retry", folder, *keys]:
            return _retry(RunFolder(typed_path(folder)), keys, parsed)
        case ["cancel", folder, *keys]:
            return _cancel(RunFolder(typed_path(folder)), keys)
        case [file]:
            return _run(typed_path(file), parsed)
    raise UsageError(usage_line("batch"))


def _run(file: Path, parsed: ParsedArgs) -> int:
    if file.is_dir() and RunFolder(file).exists:
        return resume(RunFolder(file), parsed)
    tasks = load_tasks(file, parsed.value("template")).tasks
    if parsed.has("dry-run"):
        return _show_plan(tasks, parsed.value("model") or "default")
    out = parsed.value("out")
    folder = RunFolder(typed_path(out) if out else file.with_name(f"{file.stem}-batch"))
    if not folder.exists:
        folder = RunFolder.create(folder.path, tasks.values(), {})
    elif folder.tasks() != tasks:
        raise UsageError(
            f'The tasks have changed since the batch in "{folder.path}" began; use --out for a new folder.'
        )
    return resume(folder, parsed)


def resume(folder: RunFolder, parsed: ParsedArgs, instead: Mapping[str, str] | None = None) -> int:
    """Run what has no result; for a bench, commands can run `instead` of agents. Returns the exit code."""
    tasks = folder.tasks()
    folder.lock()
    try:
        executor = _executor(folder, parsed.value("jobs") or "auto", parsed, instead or {})
        return asyncio.run(_work(folder, tasks, parsed, executor, quiet=instead is not None))
    finally:
        folder.close()


async def _work(
    folder: RunFolder,
    tasks: Mapping[str, BatchTask],
    parsed: ParsedArgs,
    executor: Executor,
    *,
    quiet: bool = False,
) -> int:
    limits = RateLimits(None, _optional(parsed, "rpm"), _optional(parsed, "tpm"))
    max_cost = parsed.value("max-cost")
    model = parsed.value("model") or ""
    options = running.BatchOptions(
        jobs=executor.capacity,
        max_cost=None if max_cost is None else amount("max-cost", max_cost),
        fail_fast=_optional(parsed, "fail-fast"),
        limits={provider_of(task.model or model): limits for task in tasks.values()},
    )
    show, finish = _reporter(folder, tasks, as_json=parsed.has("json") and not quiet)
    runner = LocalRunner()
    batch = running.Coordinator(
        folder,
        tasks,
        executor,
        options,
        show,
        lambda task: provider_of(task.model or model),
        _deliveries(folder, parsed, runner),
    )
    with Signals() as signals:
        presses = 0

        def interrupt() -> None:
            nonlocal presses
            presses += 1
            if presses == 1:
                batch.stop("Waiting for running tasks; press Ctrl+C again to stop them.")
            else:
                batch.cancel()

        def terminate() -> None:
            batch.stop("Stopping.")
            batch.cancel()

        signals.interrupt = interrupt
        signals.stop = terminate
        control = folder.path / "control"
        with _ControlPipe(control, batch):
            try:
                code = await _run_to_end(batch)
            finally:
                await executor.close()
                runner.close()
                finish()
        if signals.code is not None and signals.code != 128 + signal.SIGINT:
            code = signals.code
    tell(f"{summary_line(tasks, folder.state)}. Results: {folder.path / 'results.jsonl'}")
    return code


async def _run_to_end(batch: running.Coordinator) -> int:
    """Raises TauError if the journal cannot be written."""
    try:
        return await batch.run()
    except (OSError, BaseExceptionGroup) as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if not isinstance(cause, OSError):
            raise
        raise TauError(f"The batch stopped: {cause}. Run the same command again to continue.") from None


def _deliveries(folder: RunFolder, parsed: ParsedArgs, runner: LocalRunner) -> "Deliveries | None":
    collect = parsed.value("collect")
    if not collect:
        return None
    kind: DeliveryKind = "pr" if collect == "pr" else "branch"
    return delivery.Deliveries(folder, kind, Workspaces(folder.path, runner), runner)


class _ControlPipe:
    """Reads the words of `tau batch cancel` from a named pipe while the batch runs."""

    def __init__(self, path: Path, batch: running.Coordinator) -> None:
        self._path = path
        self._batch = batch
        self._fd = -1

    def __enter__(self) -> None:
        self._path.unlink(missing_ok=True)
        os.mkfifo(self._path, 0o600)
        self._fd = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._path.unlink(missing_ok=True)

    def _read(self) -> None:
        words = os.read(self._fd, 65536).decode("utf-8", "replace").split("\n")
        keys = [word for word in words if word]
        if "*" in keys:
            self._batch.stop("Cancelled from another terminal.")
            self._batch.cancel()
        else:
            self._batch.cancel(*keys)


def _executor(folder: RunFolder, jobs: str, parsed: ParsedArgs, instead: Mapping[str, str]) -> Executor:
    keep, flags = parsed.value("keep") or "failed", _passed(parsed)
    if parsed.value("executor") != "ray":
        for name in ("address", "shared-dir", "forward-env"):
            if parsed.has(name):
                raise UsageError(f"--{name} needs --executor ray.")
        count = auto_jobs() if jobs == "auto" else number("jobs", jobs)
        return LocalExecutor(folder.path, count, keep, flags, lambda key: instead.get(key, ""))
    shared = parsed.value("shared-dir")
    options = ray_executors.RayOptions(
        parsed.value("address"),
        "" if shared is None else str(typed_path(shared).absolute()),
        tuple(parsed.all("forward-env")),
    )
    most = None if jobs == "auto" else number("jobs", jobs)
    return ray_executors.RayExecutor(
        folder.path, most, keep, flags, options, lambda key: instead.get(key, "")
    )


def _passed(parsed: ParsedArgs) -> list[str]:
    words: list[str] = []
    for name in PASSED:
        for value in parsed.all(name):
            path = name == "config"
            words += (
                [f"--{name}", str(typed_path(value).absolute()) if path else value]
                if value
                else [f"--{name}"]
            )
    return words


def _reporter(
    folder: RunFolder, tasks: Mapping[str, BatchTask], *, as_json: bool
) -> tuple[Callable[[running.BatchEvent], None], Callable[[], None]]:
    if as_json:
        out = OutputStream()
        return lambda event: out.write(msgspec.json.encode(event) + b"\n"), lambda: None
    state = folder.state
    done = sum(result.status != "cancelled" for result in state.results.values())
    live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    view = ProgressView(write_stderr, len(tasks), done, live=live, spent=state.spent)
    return view.show, view.finish


def _show_plan(tasks: Mapping[str, BatchTask], model: str) -> int:
    head = ("task", "where", "model", "attempts", "after", "prompt")
    rows = [
        (
            key,
            task.repo or task.dir or "empty folder",
            task.model or model,
            str(task.attempts),
            ",".join(task.after),
            " ".join(task.prompt.split())[:60],
        )
        for key, task in tasks.items()
    ]
    OutputStream().text(
        text_table(head, rows, frozenset({3})) + f"{len(tasks)} tasks; nothing was started.\n"
    )
    return DONE


def _show(action: str, folder: RunFolder, parsed: ParsedArgs) -> int:
    folder.options()
    tasks = folder.tasks()
    folder.read()
    out = OutputStream()
    if parsed.has("json"):
        data: dict[str, object] = {
            "tasks": len(tasks),
            "spent": folder.state.spent,
            "running": sorted(folder.state.open),
            "results": list(folder.state.results.values()),
        }
        out.write(msgspec.json.encode(data) + b"\n")
    elif parsed.has("html"):
        out.text(html_report(tasks, folder.state))
    elif action == "report":
        out.text(markdown_report(tasks, folder.state))
    elif action == "show":
        out.text(text_table(HEAD, result_rows(tasks, folder.state)))
    else:
        out.text(f"{summary_line(tasks, folder.state)}\n")
    return DONE


def _show_task(folder: RunFolder, key: str) -> int:
    folder.options()
    folder.read()
    result = folder.state.results.get(key)
    if result is None:
        raise UsageError(f'There is no result of "{key}" in "{folder.path}" yet.')
    write_json(result)
    return DONE


def _retry(folder: RunFolder, keys: Sequence[str], parsed: ParsedArgs) -> int:
    folder.options()
    tasks = folder.tasks()
    statuses = parsed.all("status")
    if unknown := [name for name in statuses if name not in get_args(Status)]:
        raise UsageError(f'"{unknown[0]}" is no status; there are {", ".join(get_args(Status))}.')
    if missing := [key for key in keys if key not in tasks]:
        raise UsageError(f'There is no task "{missing[0]}" in "{folder.path}".')
    folder.lock()
    try:
        chosen = [
            key
            for key, result in folder.state.results.items()
            if (key in keys if keys else result.status in statuses if statuses else result.status != "done")
        ]
        if not chosen:
            tell("There is nothing to retry.")
            return DONE
        folder.write(RetryRecord(chosen))
        folder.rewrite_results()
        executor = _executor(folder, parsed.value("jobs") or "auto", parsed, {})
        return asyncio.run(_work(folder, tasks, parsed, executor))
    finally:
        folder.close()


def _cancel(folder: RunFolder, keys: Sequence[str]) -> int:
    folder.options()
    tasks = folder.tasks()
    if missing := [key for key in keys if key not in tasks]:
        raise UsageError(f'There is no task "{missing[0]}" in "{folder.path}".')
    try:
        fd = os.open(folder.path / "control", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        raise UsageError(f'No tau runs the batch in "{folder.path}".') from None
    try:
        os.write(fd, ("\n".join(keys or ["*"]) + "\n").encode())
    finally:
        os.close(fd)
    tell("Asked the running batch to stop " + ("these tasks." if keys else "all tasks."))
    return DONE


def _optional(parsed: ParsedArgs, name: str) -> int | None:
    text = parsed.value(name)
    return None if text is None else number(name, text)


def number(name: str, text: str, most: int = 1_000_000_000) -> int:
    """Raises UsageError."""
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise UsageError(f'--{name} takes a number from 1 to {most}, not "{text}".')
    return int(text)


def amount(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise UsageError(f'--{name} takes an amount above 0, not "{text}".')
    return value
