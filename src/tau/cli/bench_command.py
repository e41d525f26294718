"""`tau bench`: runs a suite with several models and settings, and compares them."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tau.base.errors import UsageError
from tau.base.files import typed_path, write_atomic
from tau.base.version import VERSION
from tau.cli import batch_command
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.config.layers import setting_problems
from tau.modes.batch.comparison import BenchReport, bench_table, compare, drops
from tau.modes.batch.run_folder import RunFolder
from tau.modes.batch.suite import BUNDLED, Run, Variant, load_suite, make_tasks, strict
from tau.modes.batch.suite_task import SuiteTask
from tau.modes.exit_status import DONE, FAILED
from tau.modes.output_stream import OutputStream, tell

MAX_REPEATS = 1_000
REPORT = "report.json"
SETTLED = ("done", "unsupported")


def run(words: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("bench", words, common=True)
    if len(parsed.words) > 1:
        raise UsageError(usage_line("bench"))
    suite = typed_path(parsed.words[0]) if parsed.words else BUNDLED
    tasks = _chosen(load_suite(suite), parsed.all("task"))
    is_oracle = parsed.has("oracle")
    if is_oracle and (missing := [name for name, task in tasks.items() if not task.solution]):
        raise UsageError(f"{missing[0]} has no reference solution.")
    variants = [Variant("oracle")] if is_oracle else _variants(parsed)
    repeats = batch_command.number("repeat", parsed.value("repeat") or "1", MAX_REPEATS)
    name = "oracle" if is_oracle else "bench"
    out = typed_path(parsed.value("out") or f"{'tau' if suite == BUNDLED else suite.stem}-{name}").absolute()
    made = make_tasks(suite, tasks, variants, repeats, out / "runs")
    seed = batch_command.number("seed", parsed.value("seed") or "1", 2**31)
    order = list(made)
    random.Random(seed).shuffle(order)
    folder = RunFolder(out / "runs")
    listed = {key: made[key][1] for key in order}
    if not folder.exists:
        prompts = hashlib.sha256("".join(task.prompt for task in tasks.values()).encode()).hexdigest()
        RunFolder.create(folder.path, listed.values(), {"tau": VERSION, "seed": seed, "prompts": prompts})
    elif folder.tasks() != listed:
        raise UsageError(f'"{out}" has another bench; use --out for a new folder.')
    instead = {key: strict(tasks[run.task].solution) for key, (run, _) in made.items()} if is_oracle else {}
    code = batch_command.resume(folder, parsed, instead)
    folder.read()
    report = compare({key: run for key, (run, _) in made.items()}, folder.state.results, repeats)
    write_atomic(out / REPORT, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    if parsed.has("json"):
        OutputStream().write(msgspec.json.encode(report) + b"\n")
    else:
        OutputStream().text(bench_table(report))
    if (predictions := parsed.value("predictions")) is not None:
        write_atomic(
            typed_path(predictions), _predictions(folder, {key: run for key, (run, _) in made.items()})
        )
    if code not in (DONE, FAILED):
        return code
    if is_oracle:  # a task that cannot run here says nothing about its solution
        return DONE if all(one.status in SETTLED for one in folder.state.results.values()) else FAILED
    return _judge(report, parsed)


def _predictions(folder: RunFolder, runs: Mapping[str, Run]) -> bytes:
    """The patches of the first runs, as the official harness of SWE-bench reads them."""
    lines: list[bytes] = []
    for key, run in runs.items():
        result = folder.state.results.get(key)
        if result is None or run.repeat > 1:
            continue
        patch = (folder.path / result.patch).read_bytes().decode("utf-8", "replace") if result.patch else ""
        row = {"instance_id": run.task, "model_name_or_path": run.variant, "model_patch": patch}
        lines.append(msgspec.json.encode(row) + b"\n")
    return b"".join(lines)


def _judge(report: BenchReport, parsed: ParsedArgs) -> int:
    """Whether it is as good as the baseline; a task that a model did not solve is no error."""
    name = parsed.value("baseline")
    if name is None:
        return DONE
    try:
        baseline = msgspec.json.decode(typed_path(name).read_bytes(), type=BenchReport)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f'The baseline "{name}" cannot be read: {error}.') from None
    found = drops(report, baseline, batch_command.amount("max-drop", parsed.value("max-drop") or "0.05"))
    for sentence in found:
        tell(sentence)
    return FAILED if found else DONE


def _chosen(tasks: Mapping[str, SuiteTask], names: Sequence[str]) -> Mapping[str, SuiteTask]:
    if unknown := [name for name in names if name not in tasks]:
        raise UsageError(f'The suite has no task "{unknown[0]}"; there are {", ".join(tasks)}.')
    return {name: tasks[name] for name in names} or tasks


def _variants(parsed: ParsedArgs) -> list[Variant]:
    models = parsed.all("model") or [""]
    found = [Variant(model or "default", model) for model in models]
    for text in parsed.all("set"):
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f'--set needs KEY=VALUE, not "{text}".')
        settings = _nested(key.split("."), value)
        for problem in setting_problems(settings):
            raise UsageError(f"--set {text}: {problem}")
        found += [Variant(f"{model or 'default'}+{text}", model, settings) for model in models]
    return found


def _nested(keys: Sequence[str], text: str) -> dict[str, Any]:
    """`a.b` and a value as in a settings file."""
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = text
    for key in reversed(keys):
        value = {key: value}
    result: dict[str, Any] = value
    return result
