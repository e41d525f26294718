"""bash: runs one shell command with live output."""

import asyncio
import re
from collections.abc import Collection, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from tau.agent.arguments import UNLISTED
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.wire import TextContent
from tau.base import run
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import IN_TERMINAL, QUIET
from tau.base.text import clean_line, shortened
from tau.coding.files.paths import failure, is_folder, resolve, shown
from tau.coding.output import OutputSink, command_limits
from tau.coding.ports import CodingContext, JobReport, JobWork
from tau.config.settings import Settings
from tau.config.tool_settings import AutoBackgroundSettings

if TYPE_CHECKING:
    from tau.backends.shell.session import ShellSession
    from tau.coding.sandbox import LateSandbox
    from tau.coding.shell.blocked_attempts import BlockedAttempt
    from tau.coding.shell.git_transfers import TransferPlan
    from tau.coding.shell.rewrite import TrimmedCommand
    from tau.coding.shell.running_command import RunningCommand

unseen_characters = late("tau.coding.shell.unseen_characters")
commands = late("tau.coding.shell.running_command")
sessions = late("tau.backends.shell.session")
rewrite = late("tau.coding.shell.rewrite")
sandboxes = late("tau.coding.sandbox")
shell_details = late("tau.coding.shell.details")
shlex = late("shlex")

MAX_TIMEOUT_S = 3600
LABEL_CHARS = 120
TERMINAL_SIZE = (120, 40)
RESERVED = (run.RUN_ID, run.FAMILY_ID)


class BashParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"cmd": "command", "workdir": "cwd"}

    command: Annotated[str, Meta(title="Shell text")]
    timeout: Annotated[int | None, Meta(description="Seconds, 1 to 3600")] = None
    cwd: Annotated[str | None, Meta(title="Directory to run in")] = None
    env: Annotated[
        dict[str, str], Meta(description="Variables for this call", extra_json_schema=UNLISTED)
    ] = {}
    pty: Annotated[bool, Meta(description="Run in a terminal")] = False
    in_background: Annotated[bool, Meta(description="Run as a job")] = field(name="async", default=False)
    fresh: Annotated[bool, Meta(description="Run in a new shell", extra_json_schema=UNLISTED)] = False


class PreparedCommand(Struct, frozen=True, kw_only=True):
    """A call ready to run. `folder` is None for the shell's own; `stay`: the shell stays there."""

    command: str
    folder: Path | None = None
    stay: bool = False
    limited: "TrimmedCommand | None" = None


class Bash(Tool[BashParams]):
    """With a `shell`, commands share its state; without one each gets a fresh shell from `ctx.run`.

    `tools` are the names of the other available tools.
    """

    name, label = "bash", "Bash"

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        shell: "ShellSession | None" = None,
        tools: Collection[str] = (),
        sandbox: "LateSandbox | None" = None,
    ) -> None:
        wanted = settings or Settings()
        self._settings = wanted.bash
        self._can_background = wanted.async_.enabled
        self._timeout_s = wanted.bash.timeout_seconds
        self._limits = command_limits(wanted.tools)
        self._shell = shell
        self._program = wanted.shell_path
        self._outside = tuple(wanted.sandbox.outside)
        self._tools = tools
        self._sandbox = sandbox

    @cached_property
    def description(self) -> str:
        fresh = "Run a command in a fresh shell: `cd` and variables end with the call."
        lasting = "Run a command in your shell: directory, variables and functions stay for later calls."
        text = super().description.replace("{{seconds}}", str(self._timeout_s))
        kind = fresh if self._shell is None else lasting
        program = (self._program or run.find_shell()) if self._shell is None else self._shell.program
        name = Path(program).name
        return text.replace("{{shell}}", kind if name == "bash" else f"{kind} It is {name}, not bash.")

    def effects(self, params: BashParams, cwd: Path) -> Effects:
        """The command as it will run, and its folder if that is not the session's."""
        self._check(params)
        here = self._here(cwd)
        plan = self._plan(params, cwd, here)
        return self._declared(params, plan.command, plan.folder or here, cwd)

    async def run(self, params: BashParams, ctx: CodingContext) -> ToolOutput:
        self._check(params)
        plan = self._approved_plan(params, ctx)
        if params.cwd is not None:
            await _check_folder(resolve(params.cwd, ctx.cwd), ctx)
        plan = replace(plan, command=await _with_paths(plan.command, ctx))
        seconds = self._seconds(params)
        if params.in_background:
            return self._in_background(params, plan, seconds, ctx)
        transfer = await self._plan_git(params, plan, ctx)
        if transfer is not None and transfer.argv:
            return await self._transfer(transfer, params, plan, seconds, ctx)
        async with await self._started(params, plan, seconds, ctx) as command:
            moved = await self._follow(command, params, seconds, ctx)
            if moved is not None:
                return moved
            output = command.report()
        if transfer is not None:
            output = _with_note(output, transfer.note)
        elif output.is_error and self._sandbox is not None:
            hint = self._sandbox.commands.transfers.hint(plan.command)
            output = _with_note(output, hint) if hint else output
        for attempt in command.blocked:
            if attempt.kind in ("write", "socket"):  # a connection was asked about while the request waited
                return await self._run_again(attempt, output, params, plan, seconds, ctx)
        return output

    async def _follow(
        self, command: "RunningCommand", params: BashParams, seconds: int, ctx: CodingContext
    ) -> ToolOutput | None:
        """Wait for the end; returns a result if it moves to the background, by time or by the user."""
        by_user = False

        def move() -> None:
            nonlocal by_user
            by_user = True
            limit.reschedule(0)

        can_move = self._can_background and not params.pty
        try:
            async with asyncio.timeout(_wait_s(self._settings.auto_background, params, seconds)) as limit:
                with ctx.jobs.foreground.movable(move) if can_move else nullcontext():
                    await command.follow()
        except TimeoutError:
            with suppress(ToolError):  # the job limit is reached: wait for it here
                return self._detached(command, ctx, by_user=by_user)
            await command.follow()
        return None

    async def _run_again(
        self,
        attempt: "BlockedAttempt",
        output: ToolOutput,
        params: BashParams,
        plan: PreparedCommand,
        seconds: int,
        ctx: CodingContext,
    ) -> ToolOutput:
        """Offer to allow what the sandbox blocked; run the command again if the user does."""
        assert self._sandbox is not None
        folder = None if (there := self._folder(plan, ctx.cwd)) == ctx.cwd else there
        answer = await self._sandbox.commands.grants.ask_rerun(attempt, plan.command, folder, params.env)
        if answer == "no":
            return output
        outside = answer == "outside"
        if not outside:
            await self._sandbox.commands.grant(attempt)
        async with await self._started(params, plan, seconds, ctx, outside=outside) as command:
            await command.follow()
            again = command.report()
        place = "outside the sandbox" if outside else f"with access to {attempt.subject}"
        return _with_note(
            again, f"{attempt.note}. The user allowed it; this is the result of running it {place}"
        )

    async def _plan_git(
        self, params: BashParams, plan: PreparedCommand, ctx: CodingContext
    ) -> "TransferPlan | None":
        """Git needs what the sandbox keeps away: the network and keys to transfer, an agent to sign."""
        if self._sandbox is None or params.pty or "git" not in plan.command or not await ctx.run.prepare():
            return None
        folder = self._folder(plan, ctx.cwd)
        transfer = await self._sandbox.commands.transfers.plan(plan.command, folder)
        if transfer is not None:
            return transfer
        note = await self._sandbox.commands.offer_signing(plan.command, folder)
        return self._sandbox.commands.transfers.stay_inside(note) if note else None

    async def _transfer(
        self,
        transfer: "TransferPlan",
        params: BashParams,
        plan: PreparedCommand,
        seconds: int,
        ctx: CodingContext,
    ) -> ToolOutput:
        """Run a transfer outside the sandbox, and what follows it inside."""
        assert self._sandbox is not None
        transfers = self._sandbox.commands.transfers
        async with transfers.runner(transfer) as runner:
            process = await runner.start(
                transfer.argv,
                cwd=transfer.folder,
                env={**QUIET, **transfer.env},
                limits=run.Limits(timeout=seconds),
            )
            running = sessions.RunningShellCommand(process=process, cwd=transfer.folder)
            async with self._running(running, plan, seconds, ctx) as command:
                await command.follow()
                output = command.report()
        if output.is_error or not transfer.then:
            return output
        rest = replace(plan, command=transfer.then)
        async with await self._started(params, rest, seconds, ctx) as command:
            await command.follow()
            merged = command.report()
        return ToolOutput([*output.content, *merged.content], merged.details, merged.is_error)

    def _check(self, params: BashParams) -> None:
        if not params.command.strip():
            raise ToolError("`command` is empty; there is nothing to run.")
        unseen_characters.refuse_controls("`command`", params.command)
        unseen_characters.refuse_controls("`env`", *params.env, *params.env.values())
        unseen_characters.refuse_controls("`cwd`", params.cwd or "")
        wrong = [name for name in params.env if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)]
        if wrong or not set(RESERVED).isdisjoint(params.env):
            named = ", ".join(wrong or RESERVED)
            raise ToolError(f"`env` cannot set {named}; use names of letters, digits and underscores.")
        if params.in_background and not self._can_background:
            raise ToolError("Background jobs are disabled (async.enabled); omit `async`.")
        if params.pty and params.in_background:
            raise ToolError("A command with `pty` cannot run in the background; omit one of the two.")
        if self._settings.interceptor:
            reason = rewrite.better_tool(params.command, self._tools)
            if reason is not None:
                raise ToolError(reason)

    def _seconds(self, params: BashParams) -> int:
        return min(max(self._timeout_s if params.timeout is None else params.timeout, 1), MAX_TIMEOUT_S)

    def _here(self, cwd: Path) -> Path:
        """Where a command runs that names no folder."""
        return cwd if self._shell is None else self._shell.cwd

    def _declared(self, params: BashParams, command: str, folder: Path, cwd: Path) -> Effects:
        there = "" if folder == cwd else f"cd {shlex.quote(str(folder))} && "
        facts = (
            ("timeout", f"{self._seconds(params)} s" if params.timeout is not None else ""),
            ("terminal", "yes" if params.pty else ""),
            ("in the background", "yes" if params.in_background else ""),
        )
        return Effects(
            runs=(there + command,),
            env=tuple(sorted(params.env.items())),
            run_cwd=None if folder == cwd else folder,
            details=tuple(fact for fact in facts if fact[1]),
        )

    def _approved_plan(self, params: BashParams, ctx: CodingContext) -> PreparedCommand:
        """The plan as it was approved: in that folder, even if another call has moved the shell since."""
        effects, cwd = ctx.approved.effects, ctx.cwd
        here = self._here(cwd)
        plan = self._plan(params, cwd, here)
        if effects is None or self._declared(params, plan.command, plan.folder or here, cwd) == effects:
            return plan
        plan = replace(plan, folder=effects.run_cwd or cwd)
        [command] = self._declared(params, plan.command, plan.folder or cwd, cwd).runs
        ctx.approved.run(command)
        return plan

    def _plan(self, params: BashParams, cwd: Path, here: Path) -> PreparedCommand:
        """Fold a leading `cd` and strip a trailing `head` or `tail` where that is safe."""
        folder = None if params.cwd is None else resolve(params.cwd, cwd)
        command, stay = params.command.strip("\n"), False
        folded = rewrite.fold_cd(command)
        if folded is not None and is_folder(there := resolve(folded.folder, folder or here)):
            command, folder, stay = folded.rest, there, params.cwd is None
        limited = None
        if self._settings.strip_trailing_head_tail and not params.pty:
            limited = rewrite.without_limit(command, self._limits.lines)
        return PreparedCommand(
            command=command if limited is None else limited.command,
            folder=folder,
            stay=stay,
            limited=limited,
        )

    async def _started(
        self,
        params: BashParams,
        plan: PreparedCommand,
        seconds: int,
        ctx: CodingContext,
        *,
        beside: bool = False,
        outside: bool = False,
    ) -> "RunningCommand":
        keyboard = ctx.dialogs.terminal if params.pty and ctx.dialogs is not None else None
        terminal = None
        if params.pty:
            columns, rows = TERMINAL_SIZE if keyboard is None else keyboard.size
            terminal = run.Pty(columns=columns, rows=rows, echo=keyboard is not None)
        limits = run.Limits(timeout=seconds)
        folder = self._folder(plan, ctx.cwd)
        sandbox = (
            run.OUTSIDE
            if outside or (self._outside and _runs_outside(self._outside, params, plan, ctx))
            else None
        )
        contained = None if sandbox is not None or self._sandbox is None else self._sandbox.commands
        mark = 0 if contained is None else contained.mark()
        try:
            # Outside, the shell's functions and variables would be those that commands set inside.
            if self._shell is None or sandbox is not None:
                env = {**(QUIET if terminal is None else IN_TERMINAL), **params.env}
                process = await ctx.run.start(
                    plan.command, cwd=folder, env=env, limits=limits, terminal=terminal, sandbox=sandbox
                )
                running = sessions.RunningShellCommand(process=process, cwd=folder)
            else:
                running = await self._shell.start(
                    plan.command,
                    cwd=plan.folder,
                    stay=plan.stay,
                    env=params.env,
                    limits=limits,
                    fresh=params.fresh,
                    beside=beside,
                    terminal=terminal,
                )
        except OSError as error:
            if error.filename and str(error.filename) != str(folder):
                raise failure("start", str(error.filename), error) from error
            raise failure("run the command in", shown(folder, ctx.cwd), error) from error
        terminal_options = {"in_terminal": params.pty, "keyboard": keyboard}
        return self._running(running, plan, seconds, ctx, **terminal_options, contained=contained, mark=mark)

    def _running(
        self,
        running: "sessions.RunningShellCommand",
        plan: PreparedCommand,
        seconds: int,
        ctx: CodingContext,
        **more: Any,
    ) -> "RunningCommand":
        return commands.RunningCommand(
            running,
            ctx,
            OutputSink(ctx.artifacts, self.name, self._limits),
            details=shell_details.BashDetails(command=plan.command, cwd=str(running.cwd)),
            time_limit_s=seconds,
            limited=plan.limited,
            **more,
        )

    def _folder(self, plan: PreparedCommand, cwd: Path) -> Path:
        return plan.folder or self._here(cwd)

    def _in_background(
        self, params: BashParams, plan: PreparedCommand, seconds: int, ctx: CodingContext
    ) -> ToolOutput:
        async def work(report: JobReport) -> str:
            async with await self._started(params, plan, seconds, ctx, beside=True) as command:
                return await command.to_end(report)

        details = shell_details.BashDetails(command=plan.command, cwd=str(self._folder(plan, ctx.cwd)))
        return self._job(details, work, ctx)

    def _detached(self, command: "RunningCommand", ctx: CodingContext, *, by_user: bool) -> ToolOutput:
        """End the call and continue the command as a job. Raises ToolError if that is impossible."""

        async def work(report: JobReport) -> str:
            async with rest:
                return await command.to_end(report)

        output = self._job(command.details, work, ctx, already=command.tail(), by_user=by_user)
        if self._shell is not None:
            self._shell.detach(command.running)
        rest = command.detach()
        return output

    def _job(
        self,
        details: "shell_details.BashDetails",
        work: JobWork,
        ctx: CodingContext,
        already: str = "",
        *,
        by_user: bool = False,
    ) -> ToolOutput:
        id = ctx.jobs.start("bash", shortened(clean_line(details.command), LABEL_CHARS), work)
        before = f"{already.rstrip()}\n" if already.strip() else ""
        what = "The user moved this to the background; it runs" if by_user else "Running in the background"
        text = f"{before}[{what} as {id}; its result will follow, or use job]"
        return ToolOutput.text(text, replace(details, job_id=id))


def _runs_outside(
    patterns: Sequence[str], params: BashParams, plan: PreparedCommand, ctx: CodingContext
) -> bool:
    """Whether the user's settings say so, about the command as it was approved and as it is now."""
    declared = () if ctx.approved.effects is None else ctx.approved.effects.runs
    texts = (plan.command, *declared)
    return not params.env and all(sandboxes.runs_outside(text, patterns) for text in texts)


def _wait_s(background: AutoBackgroundSettings, params: BashParams, seconds: int) -> float | None:
    """Seconds before a command moves to the background; None for never."""
    if not background.enabled or params.pty:
        return None
    return min(background.threshold_ms / 1000, max(seconds - 1, seconds / 2))


def _with_note(output: ToolOutput, note: str) -> ToolOutput:
    return ToolOutput([*output.content, TextContent(f"[{note}]")], output.details, output.is_error)


async def _check_folder(folder: Path, ctx: CodingContext) -> None:
    try:
        stat = await ctx.fs.stat(folder)
    except OSError as error:
        raise failure("run a command in", str(folder), error) from error
    if stat is None or not stat.is_dir:
        raise ToolError(f"`cwd` is not a directory: {shown(folder, ctx.cwd)}.")


async def _with_paths(command: str, ctx: CodingContext) -> str:
    """The command with internal URLs replaced by their files."""
    parts: list[str] = []
    done = 0
    for match in rewrite.internal_urls(command):
        resource = await ctx.urls.resolve(match[0], ctx)
        if resource.path is None:
            raise ToolError(f"{match[0]} is not a file on disk; use read.")
        parts += [
            command[done : match.start()],
            rewrite.quoted_at(command, match.start(), str(resource.path)),
        ]
        done = match.end()
    return "".join((*parts, command[done:]))
