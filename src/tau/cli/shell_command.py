"""`tau shell`: the shell the agent uses, for people to try."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct

from tau.agent.abort import Abort, Aborted
from tau.backends.shell.session import ShellSession
from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.run import Limits, LocalRunner
from tau.cli.signals import Signals
from tau.cli.stdin import STDIN
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.sandbox import LateSandbox
from tau.config.layers import load_settings
from tau.config.paths import Paths, current_folder, user_paths
from tau.config.settings import Settings
from tau.modes.line_input import InputInterrupted, LineReader
from tau.modes.output_stream import OutputStream, tell

MAX_MS, DEFAULT_MS = 3_600_000, 300_000


class _ShellArgs(Struct, frozen=True):
    cwd: Path
    timeout_ms: int
    snapshot: bool


def run(words: Sequence[str]) -> int:
    """Run each line of standard input; the exit code is that of the last one."""
    return asyncio.run(_run(parse(words)))


def parse(words: Sequence[str]) -> _ShellArgs:
    parsed = parse_subcommand("shell", words)
    if parsed.words:
        raise UsageError(usage_line("shell"))
    folder, number = parsed.value("C"), parsed.value("t") or str(DEFAULT_MS)
    cwd = current_folder() if folder is None else typed_path(folder).absolute()
    if not cwd.is_dir():
        raise UsageError(f'Folder "{cwd}" not found.')
    if not number.isdecimal() or not 0 < int(number) <= MAX_MS:
        raise UsageError(f"-t takes milliseconds, from 1 to {MAX_MS:,}.")
    return _ShellArgs(cwd, int(number), not parsed.has("no-snapshot"))


async def _run(args: _ShellArgs) -> int:
    paths = user_paths(os.environ)
    settings = load_settings(paths, args.cwd).settings
    lines, out, code = LineReader(STDIN), OutputStream(), 0
    cache = paths.cache / "shell" if args.snapshot else None
    if lines.is_terminal:
        tell("Each line runs in the agent's shell; Ctrl+C stops a command, Ctrl+D exits.")
    async with AsyncExitStack() as stack:
        signals = stack.enter_context(Signals())
        sandbox, runner = await _open_runner(args.cwd, settings, paths, stack)
        async with ShellSession(runner, cwd=args.cwd, cache=cache) as shell:
            while not out.gone:
                signals.interrupt = lines.interrupt
                if lines.is_terminal:
                    sys.stderr.write(f"{shell.cwd}$ ")
                    sys.stderr.flush()
                try:
                    line = await lines.next()
                except InputInterrupted:
                    continue
                if line is None:
                    break
                if line.strip():
                    code = await _run_line(line, shell, args, out, signals)
                    for note in [] if sandbox is None else sandbox.check():
                        tell(note)
    return code


async def _open_runner(
    cwd: Path, settings: Settings, paths: Paths, stack: AsyncExitStack
) -> tuple[LateSandbox | None, LocalRunner]:
    """As for an agent: with its sandbox, unless the user has turned it off."""
    shell, pass_env = settings.shell_path, settings.tools.pass_env
    outside = LocalRunner(shell=shell, pass_env=pass_env)
    stack.callback(outside.close)
    sandbox = None
    if settings.sandbox.mode != "off":
        sandbox = await stack.enter_async_context(LateSandbox((cwd,), settings.sandbox, paths, outside))
        sandbox.warn = tell
    runner = outside.inside(sandbox)
    stack.callback(runner.close)
    return sandbox, runner


async def _run_line(
    line: str, shell: ShellSession, args: _ShellArgs, out: OutputStream, signals: Signals
) -> int:
    """Run one line and stream its output."""
    try:
        running = await shell.start(line, limits=Limits(timeout=args.timeout_ms / 1000))
    except OSError as error:
        tell(f"The command cannot run: {error.strerror or error}.")
        return 127
    abort = Abort()
    signals.interrupt = abort.abort
    try:
        async with abort.scope(), running.process as process:
            async for chunk in process.output():
                out.text(chunk.decode("utf-8", "replace"))
            ended = await process.wait()
    except Aborted:
        tell("Stopped.")
        return 130
    for note in running.notes():
        tell(note)
    if ended.timed_out:
        tell(f"Stopped after {args.timeout_ms:,} ms.")
    return 1 if ended.code is None else ended.code
