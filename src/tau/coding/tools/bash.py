"""bash: one shell command, its output as it comes, and how it ended."""

import asyncio
import signal
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base import run
from tau.base.errors import ToolError
from tau.coding.output import OutputMeta, OutputSink, notice, with_notice
from tau.coding.paths import failure, resolve, shown
from tau.coding.ports import CodingContext
from tau.coding.tools import ToolSettings

UPDATE_INTERVAL_S = 0.1
# Nobody is there to page, answer or look at colours.
QUIET: Mapping[str, str] = MappingProxyType(
    {
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
)


class BashParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"cmd": "command", "workdir": "cwd"}

    command: Annotated[str, Meta(description="Shell text")]
    timeout: Annotated[int | None, Meta(description="Seconds, 1 to 3600")] = None
    cwd: Annotated[str | None, Meta(description="Directory to run in")] = None


class BashDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`exit_code` is null while the command runs and when a signal ended it."""

    command: str
    cwd: str
    exit_code: int | None = None
    signal: str | UnsetType = UNSET
    timed_out: bool = False
    duration_ms: int = 0
    meta: OutputMeta | UnsetType = UNSET


class Bash(Tool[BashParams]):
    name, label = "bash", "Bash"

    def __init__(self, settings: ToolSettings | None = None) -> None:
        wanted = settings or ToolSettings()
        self._timeout_s = wanted.bash_timeout_s
        self._limits = wanted.command_output

    @cached_property
    def description(self) -> str:
        return super().description.replace("{{seconds}}", str(self._timeout_s))

    def effects(self, params: BashParams, cwd: Path) -> Effects:
        return Effects(runs=(params.command,))

    async def run(self, params: BashParams, ctx: CodingContext) -> ToolOutput:
        if not params.command.strip():
            raise ToolError("`command` is empty; there is nothing to run.")
        if "\0" in params.command:
            raise ToolError("`command` contains a NUL character, which no shell can take.")
        cwd = await _folder(params.cwd, ctx)
        seconds = min(max(self._timeout_s if params.timeout is None else params.timeout, 1), 3600)
        began = time.monotonic()
        with OutputSink(ctx.artifacts, self.name, self._limits) as sink:
            progress = _Progress(sink, BashDetails(command=params.command, cwd=str(cwd)), ctx)
            limits = run.Limits(timeout=seconds)
            try:
                process = await ctx.run.start(params.command, cwd=cwd, env=QUIET, limits=limits)
                async with process:
                    async for chunk in process.output():
                        sink.push(chunk)
                        progress.note()
                    exited = await process.wait()
            except asyncio.CancelledError:
                progress.send()
                raise
            except OSError as error:
                if error.filename and str(error.filename) != str(cwd):
                    raise failure("start", str(error.filename), error) from error
                raise failure("run the command in", shown(cwd, ctx.cwd), error) from error
            finally:
                progress.stop()
            duration_ms = round((time.monotonic() - began) * 1000)
            return _report(params.command, cwd, sink, exited, seconds, duration_ms)


async def _folder(text: str | None, ctx: CodingContext) -> Path:
    if text is None:
        return ctx.cwd
    cwd = resolve(text, ctx.cwd)
    stat = await ctx.fs.stat(cwd)
    if stat is None or not stat.is_dir:
        raise ToolError(f"`cwd` is not a directory: {shown(cwd, ctx.cwd)}.")
    return cwd


class _Progress:
    """Shows the end of the output while the command runs, at most so many times a second."""

    def __init__(self, sink: OutputSink, details: BashDetails, ctx: CodingContext) -> None:
        self._sink = sink
        self._details = details
        self._ctx = ctx
        self._timer: asyncio.TimerHandle | None = None

    def note(self) -> None:
        """Something came: show it soon, with what else comes until then."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_INTERVAL_S, self.send)

    def send(self) -> None:
        self.stop()
        self._ctx.update(ToolOutput.text(self._sink.tail(), self._details))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _report(
    command: str, cwd: Path, sink: OutputSink, exited: run.Exit, seconds: int, duration_ms: int
) -> ToolOutput:
    output = sink.finish()
    text = with_notice(output.text, notice(output.truncation))
    ending = _ending(exited, seconds)
    if not text.strip():
        text = "" if ending else "[No output]"
    details = BashDetails(
        command=command,
        cwd=str(cwd),
        exit_code=exited.code,
        signal=UNSET if exited.signal is None else _signal_name(exited.signal),
        timed_out=exited.timed_out,
        duration_ms=duration_ms,
        meta=output.meta,
    )
    return ToolOutput.text(with_notice(text, ending), details, is_error=bool(ending))


def _ending(exited: run.Exit, seconds: int) -> str:
    """How the command ended, if not well."""
    if exited.timed_out:
        return f"[Stopped: it ran longer than its time limit of {seconds} s]"
    if exited.signal is not None:
        return f"[Ended by signal {_signal_name(exited.signal)}]"
    if not exited.code:
        return ""
    # A shell reports a command that a signal ended as 128 and the number of the signal.
    name = _signal_name(exited.code - 128) if exited.code > 128 else ""
    return f"[Exit code {exited.code} ({name})]" if name.startswith("SIG") else f"[Exit code {exited.code}]"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
