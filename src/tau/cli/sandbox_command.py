"""`tau sandbox`: run a command as the agent does, and show what contains it."""

import asyncio
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import json, to_builtins
from msgspec.structs import replace

from tau.backends.sandbox import engines
from tau.backends.sandbox.explanation import PathAccess, explain, explain_path
from tau.backends.sandbox.session import SandboxOptions, SessionSandbox
from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.run import LocalRunner
from tau.cli.subcommand_help import usage_line
from tau.coding.sandbox import sandbox_options
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.settings import Settings
from tau.modes.output_stream import OutputStream, tell

NETWORKS = {
    "off": "localhost only",
    "list": "localhost, and the hosts of sandbox.hosts through tau",
    "on": "everything, unfiltered",
}


ACTIONS = ("run", "explain", "probe")


def run(words: Sequence[str]) -> int:
    match list(words):
        case ["run", "--config", file, *rest] if command := rest[rest[:1] == ["--"] :]:
            return asyncio.run(_run(command, (typed_path(file).absolute(),)))
        case ["run", "--", *command] | ["run", *command] if command:
            return asyncio.run(_run(command))
        case ["explain", *rest] if len(named := _names(rest)) <= 1:
            return _explain(named, as_json="--json" in rest)
        case ["probe", *rest] if not _names(rest):
            return asyncio.run(_probe(as_json="--json" in rest))
    raise UsageError(usage_line("sandbox"))


def _names(words: Sequence[str]) -> list[str]:
    return [word for word in words if word != "--json"]


def _load(files: Sequence[Path] = ()) -> tuple[Settings, SandboxOptions, Path]:
    cwd, paths = current_folder(), user_paths(os.environ)
    settings = load_settings(paths, cwd, files=tuple(files)).settings
    return settings, sandbox_options((cwd,), settings.sandbox, paths), cwd


async def _run(command: Sequence[str], files: Sequence[Path] = ()) -> int:
    """Run one command, as shell text if it is one word; the exit code is its own."""
    settings, options, cwd = _load(files)
    if settings.sandbox.mode == "off":
        raise TauError("sandbox.mode is off, so there is no sandbox to run in.")
    outside = LocalRunner(shell=settings.shell_path)
    out = OutputStream()
    try:
        async with SessionSandbox(replace(options, mode="required"), outside, warn=lambda _: None) as sandbox:
            inside = LocalRunner(shell=settings.shell_path, sandbox=sandbox, pass_env=settings.tools.pass_env)
            text = command[0] if len(command) == 1 else shlex.join(command)
            async with await inside.start(text, cwd=cwd) as process:
                async for chunk in process.output():
                    out.text(chunk.decode("utf-8", "replace"))
                ended = await process.wait()
            for note in sandbox.check_repositories():
                tell(note)
            inside.close()
    finally:
        outside.close()
    return 128 + (ended.signal or 0) if ended.code is None else ended.code


def _explain(named: Sequence[str], *, as_json: bool) -> int:
    _, options, _ = _load()
    explanation = explain(options)
    out = OutputStream()
    if named:
        found = explain_path(typed_path(named[0]).absolute(), explanation)
        out.text(_json(found) if as_json else f"{found.path} is {found.access}: {found.reason}\n")
        return 0
    if as_json:
        out.text(_json(explanation))
        return 0
    out.text(f"Network: {NETWORKS[explanation.network]}\nFiles: read-only, except\n")
    for access in ("writable", "hidden", "read-only"):
        for one in explanation.paths:
            if one.access == access:
                out.text(_row(one))
    if not explanation.all_repositories_found:
        out.text("Not all folders were searched for Git repositories: there are too many.\n")
    return 0


def _row(one: PathAccess) -> str:
    return f"  {one.access:9}  {one.path}  ({one.reason})\n"


async def _probe(*, as_json: bool) -> int:
    """Start each engine once; the exit code says whether one works."""
    _, options, _ = _load()
    outside = LocalRunner()
    found: dict[str, dict[str, str]] = {}
    try:
        for engine in engines.ENGINES:
            wanted = replace(options, engine=engine.name)
            async with SessionSandbox(wanted, outside, warn=lambda _: None) as sandbox:
                works = await sandbox.prepare()
                problem = sandbox.problem.removeprefix(f"{engine.name}: ")
                found[engine.name] = {"works": "" if works else problem, **sandbox.results}
    finally:
        outside.close()
    out = OutputStream()
    if as_json:
        out.text(_json(found))
    else:
        out.text("".join(_probe_rows(found)))
    return 0 if any(not results["works"] for results in found.values()) else 1


def _probe_rows(found: dict[str, dict[str, str]]) -> list[str]:
    rows = [f"{'':12}{'works':8}" + "".join(f"{name:12}" for name in engines.PROMISES) + "\n"]
    notes = []
    for name, results in found.items():
        cells = [f"{'no' if results['works'] else 'yes':8}"]
        for promise in engines.PROMISES:
            problem = results.get(promise)
            cells.append(f"{'-' if problem is None else 'no' if problem else 'yes':12}")
            notes += [f"{name}, {promise}: {problem}\n"] if problem else []
        notes += [f"{name}: {results['works']}\n"] if results["works"] else []
        rows.append(f"{name:12}{''.join(cells).rstrip()}\n")
    meanings = [f"{name}: {meaning}\n" for name, meaning in engines.PROMISES.items()]
    return [*rows, "\n", *notes, *(["\n"] if notes else []), *meanings]


def _json(value: object) -> str:
    return json.format(json.encode(to_builtins(value, str_keys=True, enc_hook=str))).decode() + "\n"
