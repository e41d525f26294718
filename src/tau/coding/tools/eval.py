"""eval: runs Python and JavaScript cells in kernels that keep their variables."""

import asyncio
import os
import time
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct

from tau.agent.arguments import UNLISTED
from tau.agent.effects import Effects
from tau.agent.loop_owner import Complete
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.backends.kernels.cells import (
    DEFAULT_TIMEOUT_S,
    LABELS,
    MAX_TIMEOUT_S,
    MIN_TIMEOUT_S,
    Cell,
    CellEnd,
    CellHost,
    KernelError,
    KernelLanguage,
)
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.output import OutputSink, ProgressUpdates, command_limits, notice, with_notice
from tau.coding.ports import CodingContext
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.backends.kernels.pool import Kernels
    from tau.coding.sandbox import LateSandbox
    from tau.coding.task.late_team import LateTeam
    from tau.coding.tools.eval_output import CellDetails, EvalOutput

unseen_characters = late("tau.coding.shell.unseen_characters")
hosts = late("tau.coding.tools.eval_host")
outputs = late("tau.coding.tools.eval_output")
pool = late("tau.backends.kernels.pool")
interpreters = late("tau.backends.kernels.interpreters")

LANGUAGES: dict[str, KernelLanguage] = {"py": "python", "js": "js"}
STDIN = "Kernel requested stdin; interactive input is not supported."


class CellParams(Struct, frozen=True):
    language: Annotated[Literal["py", "js"], Meta(title="Kernel to run it in")]
    code: Annotated[str, Meta(title="Plain code, no fences")]
    title: Annotated[str | None, Meta(description="Short label", extra_json_schema=UNLISTED)] = None
    timeout: Annotated[int, Meta(title="Seconds, 1 to 600", ge=MIN_TIMEOUT_S, le=MAX_TIMEOUT_S)] = (
        DEFAULT_TIMEOUT_S
    )
    reset: Annotated[bool, Meta(title="Restart this language's kernel first")] = False


class EvalParams(Struct, frozen=True):
    cells: Annotated[list[CellParams], Meta(title="Run in this order", min_length=1)]


class Eval(Tool[EvalParams]):
    """With `kernels`, variables live as long as they do; otherwise they end with the call."""

    name, label = "eval", "Eval"
    exclusive = True

    def __init__(
        self,
        kernels: "Kernels | None" = None,
        settings: Settings | None = None,
        complete: Complete | None = None,
        sandbox: "LateSandbox | None" = None,
        team: "LateTeam | None" = None,
    ) -> None:
        self._team = team
        self._kernels = kernels
        self._settings = settings or Settings()
        self._complete = complete
        self._sandbox = sandbox

    @cached_property
    def description(self) -> str:
        """The prompt, without the parts about unavailable languages."""
        text = super().description
        for name, language in LANGUAGES.items():
            before, *parts = text.split(f"{{{{{name}}}}}\n")
            pairs = [part.split(f"{{{{/{name}}}}}\n", 1) for part in parts]
            is_kept = self._unavailable(language) is None
            text = before + "".join((inner if is_kept else "") + after for inner, after in pairs)
        return text

    def effects(self, params: EvalParams, cwd: Path) -> Effects:
        for cell in params.cells:
            unseen_characters.refuse_controls("`code`", cell.code)
        limits = (cell.timeout for cell in params.cells if cell.timeout != DEFAULT_TIMEOUT_S)
        return Effects(
            runs=tuple(f"{LABELS[LANGUAGES[cell.language]]}: {cell.code}" for cell in params.cells),
            details=(
                *(("interpreter", program) for program in self._programs(params, cwd)),
                *(("timeout", f"{seconds} s") for seconds in dict.fromkeys(limits)),
            ),
        )

    def _programs(self, params: EvalParams, cwd: Path) -> list[str]:
        """The interpreters of the cells: a project's own may be any program."""
        found: dict[str, None] = {}
        for name in dict.fromkeys(cell.language for cell in params.cells):
            is_fresh = any(cell.reset for cell in params.cells if cell.language == name)
            program = self._program(LANGUAGES[name], cwd, fresh=is_fresh)
            found |= {} if program is None else {program: None}
        return list(found)

    def _program(self, language: KernelLanguage, cwd: Path, *, fresh: bool) -> str | None:
        """None if it cannot run, which `run` reports."""
        if self._unavailable(language) is not None:
            return None
        try:
            if self._kernels is not None:
                return self._kernels.program(language, cwd, fresh=fresh)
            if language == "js":
                return interpreters.node_launch().argv[0]
            return interpreters.find_python(cwd, self._settings.python.interpreter)
        except KernelError:
            return None

    async def run(self, params: EvalParams, ctx: CodingContext) -> ToolOutput:
        for name in dict.fromkeys(cell.language for cell in params.cells):
            problem = self._unavailable(LANGUAGES[name])
            if problem is not None:
                raise ToolError(problem)
        for number, cell in enumerate(params.cells, 1):
            try:
                cell.code.encode()
            except UnicodeEncodeError as error:
                raise ToolError(f"Cell {number} has a lone surrogate at offset {error.start}.") from None
        if ctx.approved.effects not in (None, self.effects(params, ctx.cwd)):
            raise ToolError("Not run: the interpreter of these cells is not the one that was approved.")
        with OutputSink(ctx.artifacts, self.name, command_limits(self._settings.tools)) as sink:
            output = outputs.EvalOutput(
                sink,
                [_planned(cell) for cell in params.cells],
                resize=self._settings.images.auto_resize,
                block=self._settings.images.block_images,
            )
            host = hosts.EvalHost(
                ctx, self._complete, self._settings.task.max_concurrency, output.note, self._team
            )
            async with self._pool(ctx) as kernels:
                call = _Call(params.cells, kernels, host, output, ctx)
                mark = 0 if self._sandbox is None else self._sandbox.commands.mark()
                is_error = await call.run()
                if self._sandbox is not None:
                    for note in self._sandbox.commands.connection_notes(mark):
                        output.remark(f"[{note}]")
            return _report(output, is_error=is_error)

    def _unavailable(self, language: KernelLanguage) -> str | None:
        """Why a language is unavailable, as a sentence."""
        if language == "python":
            return None if self._settings.eval.py else "Python cells are disabled (eval.py is false)."
        if not self._settings.eval.js:
            return "JavaScript cells are disabled (eval.js is false)."
        return None if _has_node() else interpreters.NO_NODE

    def _pool(self, ctx: CodingContext) -> "AbstractAsyncContextManager[Kernels]":
        if self._kernels is not None:
            return nullcontext(self._kernels)
        return pool.Kernels(
            ctx.run, python=self._settings.python.interpreter, mode=self._settings.python.kernel_mode
        )


class _Call:
    """Runs the cells of one call in order."""

    def __init__(
        self,
        params: list[CellParams],
        kernels: "Kernels",
        host: CellHost,
        output: "EvalOutput",
        ctx: CodingContext,
    ) -> None:
        self._params = params
        self._kernels = kernels
        self._host = host
        self._output = output
        self._ctx = ctx
        self._progress = ProgressUpdates(self._show)

    async def run(self) -> bool:
        """Returns whether one failed; later cells do not run."""
        try:
            for index, cell in enumerate(self._params):
                self._output.begin(index)
                self._show()
                if not await self._run(index, cell):
                    return True
            return False
        finally:
            self._progress.stop()

    async def _run(self, index: int, params: CellParams) -> bool:
        seconds = min(max(params.timeout, MIN_TIMEOUT_S), MAX_TIMEOUT_S)
        cell = Cell(
            language=LANGUAGES[params.language], code=params.code, timeout_s=seconds, reset=params.reset
        )
        began = time.monotonic()
        try:
            end = await self._kernels.run(cell, self._take, self._host, cwd=self._ctx.cwd)
        except asyncio.CancelledError:
            self._output.remark(f"[{_which(params, index, len(self._params))} was stopped]")
            self._output.end("error", None, _elapsed_ms(began))
            self._show(is_error=True)
            raise
        except KernelError as error:
            end = CellEnd(status="died")
            self._output.remark(str(error))
        which = _which(params, index, len(self._params))
        problem = _problem(which, end, seconds, index + 1 < len(self._params))
        if end.stdin_wanted and STDIN not in self._output.sink.tail():
            self._output.remark(STDIN)
        if problem:
            self._output.remark(problem)
        await self._output.load_pictures()
        self._output.end("error" if problem else "complete", end.exit_code, _elapsed_ms(began))
        self._show(is_error=bool(problem))
        return not problem

    def _take(self, event: Any) -> None:
        self._output.take(event)
        self._progress.note()

    def _show(self, *, is_error: bool = False) -> None:
        self._progress.stop()
        self._ctx.update(ToolOutput.text(self._output.sink.tail(), self._output.details(is_error=is_error)))


def _has_node() -> bool:
    return any(os.access(f"{folder}/node", os.X_OK) for folder in os.get_exec_path())


def _planned(cell: CellParams) -> "CellDetails":
    title = UNSET if cell.title is None else cell.title
    return outputs.CellDetails(language=LANGUAGES[cell.language], code=cell.code, title=title)


def _elapsed_ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _which(params: CellParams, index: int, count: int) -> str:
    place = "The cell" if count == 1 else f"Cell {index + 1} of {count}"
    return place if params.title is None else f'{place} "{params.title}"'


def _problem(which: str, end: CellEnd, seconds: float, more: bool) -> str:
    """One line about a cell's failure, or nothing."""
    lost = " and its kernel was killed; all variables are lost" if end.lost else ""
    match end.status:
        case "ok":
            return ""
        case "interrupted" if end.timed_out:
            what = f"was stopped: exceeded its time limit of {seconds:g} s{lost}"
        case "interrupted":
            what = f"was interrupted{lost}"
        case "died" if end.reason:
            what = f"ended its kernel: {end.reason}; all variables are lost"
        case "died":
            what = "did not run"
        case "error":
            what = f"failed with exit code {end.exit_code}"
    return f"[{which} {what}{'; later cells did not run' if more else ''}]"


def _silence(images: int) -> str:
    if not images:
        return "(no output)"
    return f"(displayed {images} image{'s' if images > 1 else ''}; no text output)"


def _report(output: "EvalOutput", *, is_error: bool) -> ToolOutput:
    shown = output.sink.finish()
    text = with_notice(shown.text, notice(shown.truncation))
    if not text.strip():
        text = _silence(len(output.images))
    first = ToolOutput.text(text)
    details = output.details(is_error=is_error, meta=shown.meta)
    return ToolOutput([*first.content, *output.images], details, is_error)
