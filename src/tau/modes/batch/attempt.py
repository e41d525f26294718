"""One attempt at a task: workspace, setup, the agent, its changes, the check. Runs on any machine."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.events import RunError
from tau.ai.wire import AppMessage, AssistantMessage
from tau.base.clock import iso, now_ms
from tau.base.errors import TauError
from tau.base.files import make_private
from tau.base.late import late
from tau.base.run import OUTSIDE, Exit, Limits, LocalRunner, Process, secret_environ
from tau.base.sizes import KIB, MIB
from tau.base.text import clean_line, shortened
from tau.coding.sandbox import sandbox_options
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.modes.batch.check_verdict import CheckVerdict, judge_reward, judge_tests
from tau.modes.batch.executor import Lease, Progress, Requeue
from tau.modes.batch.run_folder import BatchResult, TaskUsage
from tau.modes.batch.scheduler import Status
from tau.modes.batch.task import BatchTask
from tau.modes.batch.task_container import REWARD_FOLDER, SOLUTION, TESTS, ContainerRoot
from tau.modes.batch.workspace import SetupError, TaskWorkspace, Workspaces
from tau.modes.exit_status import DONE, INTERRUPTED, JOBS_STOPPED, TRY_LATER

answer_schemas = late("tau.modes.answer_schema")
sandboxes = late("tau.backends.sandbox.session")

COMMAND_TIMEOUT_S = 1_800.0
MAX_OUTPUT_BYTES = 64 * MIB
MAX_STDERR_BYTES = 64 * KIB
MAX_LINE_BYTES = 64 * MIB
MAX_ANSWER_CHARS = 100_000
GRACE_S = 3.0  # for tau to save its session


class _Event(Struct):
    """What counts of a line of JSON mode."""

    type: str
    message: AppMessage | UnsetType = UNSET
    tool_name: str | UnsetType = msgspec.field(default=UNSET, name="toolName")
    error: RunError | UnsetType = UNSET


class _Kind(Struct):
    type: str


_kind = msgspec.json.Decoder(_Kind)
_event = msgspec.json.Decoder(_Event)
_WANTED = frozenset({"message_end", "tool_execution_start", "auto_retry_start", "agent_settled"})


class AgentRun:
    """What the agent has said so far."""

    def __init__(self, tell: Callable[[Progress], None]) -> None:
        self._tell = tell
        self.usage: dict[str, TaskUsage] = {}
        self.answer = ""
        self.error = ""
        self.turns = 0
        self.error_kind = ""
        self.retry_after_s: float | None = None

    @property
    def cost(self) -> float:
        return sum(usage.cost for usage in self.usage.values())

    def feed(self, line: bytes) -> bool:
        """Take a line; whether it is worth keeping. What is no event is ignored."""
        try:
            if _kind.decode(line).type == "message_update":
                return False
            event = _event.decode(line)
        except msgspec.MsgspecError:
            return True
        if event.type not in _WANTED:
            return True
        if event.type == "message_end" and isinstance(event.message, AssistantMessage):
            self._count(event.message)
            self._tell(Progress(usage=dict(self.usage)))
        elif event.type == "tool_execution_start":
            self._tell(Progress(str(event.tool_name), dict(self.usage)))
        elif event.type == "auto_retry_start":
            self._tell(Progress("waiting", dict(self.usage)))
        elif event.type == "agent_settled" and event.error is not UNSET:
            self.error, self.error_kind = event.error.message, event.error.kind
            wait_ms = event.error.retry_after_ms
            self.retry_after_s = None if wait_ms is UNSET else wait_ms / 1000
        return True

    def _count(self, message: AssistantMessage) -> None:
        self.turns += message.stop_reason not in ("error", "aborted")
        self.answer = message.text or self.answer
        self.error = message.error_message if message.error_message is not UNSET else ""
        key = f"{message.provider}/{message.model}"
        old, new = self.usage.get(key, TaskUsage()), message.usage
        self.usage[key] = TaskUsage(
            old.requests + 1,
            old.input + new.input,
            old.output + new.output,
            old.cache_read + new.cache_read,
            old.cache_write + new.cache_write,
            old.cost + new.cost.total,
        )


class Attempt:
    """`files` is the folder for what stays of it, `flags` go to tau; `keep` says when its workspace stays.

    A command can run `instead` of the agent.
    """

    def __init__(
        self,
        lease: Lease,
        files: Path,
        workspaces: Workspaces,
        runner: LocalRunner,
        tell: Callable[[Progress], None],
        flags: Sequence[str] = (),
        keep: str = "none",
        instead: str = "",
    ) -> None:
        self._lease = lease
        self._task: BatchTask = lease.task
        self._files = files
        self._workspaces = workspaces
        self._runner = runner
        self._tell = tell
        self._flags = flags
        self._keep = keep
        self._instead = instead
        self._root: ContainerRoot | None = None
        self._started = now_ms()
        self._agent = AgentRun(tell)

    async def run(self) -> BatchResult | Requeue:
        make_private(self._files)
        workspace: TaskWorkspace | None = None
        outcome: BatchResult | Requeue | None = None
        try:
            self._tell(Progress("setup"))
            workspace = await self._workspaces.open(
                f"{self._lease.key}-{self._lease.fence}",
                repo=self._task.repo,
                commit=self._task.commit,
                folder=self._task.dir,
            )
            for name, text in self._task.files.items():
                await asyncio.to_thread(_write, workspace.path, name, text)
            outcome = await self._work(workspace)
        except SetupError as error:
            outcome = self._result("setup_failed", error=str(error))
        finally:
            # after an error or a stop, what the agent did exists only there
            if workspace is not None and outcome is not None and not self._keeps(outcome):
                await self._workspaces.remove(workspace)
        if isinstance(outcome, BatchResult) and workspace is not None and self._keeps(outcome):
            return replace(outcome, workspace=str(workspace.path))
        return outcome

    async def _work(self, workspace: TaskWorkspace) -> BatchResult | Requeue:
        task = self._task
        if task.container is not None:
            self._root = ContainerRoot(task.container, workspace.path)
            if problem := self._root.problem() or await self._prepare(self._root, workspace):
                return self._result("unsupported", error=problem)
        if task.setup:
            ended = await self._command(task.setup, workspace, "setup.log")
            if ended.code != 0:
                return self._result(
                    "setup_failed", error=f"The setup command {_how(ended, self._limit_s())}."
                )
        if self._instead:
            if self._root is not None:
                await asyncio.to_thread(self._root.place_solution)
            ended, remark = await self._command(self._instead, workspace, "solution.log", SOLUTION), ""
        else:
            ended, remark = await self._run_agent(workspace)
        status = self._judge(ended)
        if status is None:
            return Requeue(
                self._agent.error or remark or "The provider refused the request.",
                retry_after_s=self._agent.retry_after_s,
                cost=self._agent.cost,
            )
        patch = self._files / "changes.patch"
        await self._workspaces.write_patch(workspace, patch)
        check_exit, reward = None, None
        if task.check and status == "done":
            self._tell(Progress("check", dict(self._agent.usage)))
            if self._root is not None:
                await asyncio.to_thread(self._root.place_tests)
            checked = await self._command(task.check, workspace, "check.log", TESTS)
            check_exit = checked.code if checked.code is not None else 128 + (checked.signal or 0)
            verdict = await asyncio.to_thread(self._verdict, checked, check_exit)
            reward = verdict.reward
            if not verdict.passed:
                status, remark = "check_failed", verdict.reason
        collected = await self._workspaces.collect(workspace, task.collect, self._files / "collected")
        error = "" if status == "done" else remark or self._agent.error
        result = self._result(status, error=error)
        return replace(
            result,
            patch=self._name(patch) if patch.exists() else "",
            base_commit=workspace.base,
            check_exit=check_exit,
            reward=reward,
            collected=collected,
        )

    async def _prepare(self, root: ContainerRoot, workspace: TaskWorkspace) -> str:
        """Copy what the task brings and run its commands; returns why that is impossible here."""
        try:
            await asyncio.to_thread(root.make)
        except OSError as error:
            raise SetupError(f"The files of the task cannot be copied: {error}.") from None
        for number, command in enumerate(root.commands, 1):
            ended = await self._command(command, workspace, f"run-{number}.log")
            if ended.code != 0:
                return f"RUN {shortened(command, 80)} {_how(ended, self._limit_s())} in the sandbox."
        return ""

    def _verdict(self, checked: Exit, code: int) -> CheckVerdict:
        judge = self._task.judge
        if checked.timed_out or judge.by == "exit":
            return CheckVerdict(
                code == 0 and not checked.timed_out, f"The check {_how(checked, self._limit_s(TESTS))}."
            )
        if judge.by == "reward" and self._root is not None:
            return judge_reward(self._root.path(REWARD_FOLDER))
        return judge_tests(self._files / "check.log", judge.tests)

    def _judge(self, ended: Exit) -> Status | None:
        """None: this was no attempt."""
        if ended.timed_out:
            return "timeout"
        if self._agent.error_kind == "timeout":
            return "timeout"
        if self._agent.error_kind == "budget":
            return "budget"
        if ended.code == TRY_LATER:
            return None
        if ended.code == INTERRUPTED:
            return "cancelled"
        return "done" if ended.code in (DONE, JOBS_STOPPED) else "failed"

    async def _run_agent(self, workspace: TaskWorkspace) -> tuple[Exit, str]:
        """How tau ended, and the last line it wrote to stderr."""
        make_private(self._files / "session")
        minutes = self._task.budget.minutes
        # tau sends no request after the limit; this ends what takes longer
        limits = Limits(timeout=None if minutes is None else minutes * 60, grace=GRACE_S)
        errors = os.open(
            self._files / "stderr.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        try:
            started = await self._runner.start(
                [*self._prefix(), *_tau(), *self._arguments(workspace)],
                cwd=workspace.path,
                env={**secret_environ(), **self._variables(), "TAU_BATCH": self._lease.key},
                sandbox=OUTSIDE,
                limits=limits,
                stdin=self._task.prompt.encode(),
                stderr=errors,
            )
            async with started as process:
                with (self._files / "events.jsonl").open("wb") as log:
                    room = MAX_OUTPUT_BYTES
                    async for line in _lines(process):
                        if self._agent.feed(line) and room > len(line):
                            log.write(line + b"\n")
                            room -= len(line) + 1
                ended = await process.wait()
            size = os.fstat(errors).st_size
            tail = os.pread(errors, MAX_STDERR_BYTES, max(0, size - MAX_STDERR_BYTES))
        except OSError as error:
            raise TauError(f"tau cannot be started: {error}.") from None
        finally:
            os.close(errors)
        said = tail.decode("utf-8", "replace").strip().rpartition("\n")[2].removeprefix("tau: ")
        return ended, shortened(clean_line(said), 500)

    def _arguments(self, workspace: TaskWorkspace) -> list[str]:
        task = self._task
        container = task.container
        cwd = str(workspace.path) if container is None else container.workdir
        words = ["--mode", "json", "--snapshots", "none", "--cwd", cwd]
        words += ["--session-dir", str(self._files / "session"), *self._flags]
        settings: dict[str, Any] = dict(task.settings)
        if task.env:
            settings["tools"] = {**settings.get("tools", {}), "passEnv": task.env}
        if task.output is not None:
            path = self._files / "output-schema.json"
            path.write_bytes(msgspec.json.encode(task.output))
            words += ["--output-schema", str(path)]
        if settings:
            path = self._files / "settings.json"
            path.write_bytes(msgspec.json.encode(settings))
            words += ["--config", str(path)]
        budget = {
            "turns": task.budget.turns,
            "tokens": task.budget.tokens,
            "cost": task.budget.cost,
            "minutes": task.budget.minutes,
        }
        for name, value in budget.items():
            words += [] if value is None else [f"--max-{name}", str(value)]
        for folder in () if self._root is None else self._root.tops:
            words += ["--add-dir", folder]
        words += ["--model", task.model] if task.model else []
        words += ["--thinking", task.thinking] if task.thinking else []
        words += ["--tools", ",".join(task.tools)] if task.tools else []
        words += ["--no-tools"] if task.tools == [] else []
        words += ["--approval-mode", task.approval_mode] if task.approval_mode else []
        return words

    async def _command(self, text: str, workspace: TaskWorkspace, log_name: str, folder: str = "") -> Exit:
        """Run a shell command of the task in the user's sandbox; its output goes to a file.

        In a container it also sees the `folder`.
        """
        limits = Limits(timeout=self._limit_s(folder))
        if self._root is not None:
            return await self._command_in_root(self._root, text, log_name, folder, limits)
        paths = user_paths()
        settings = load_settings(paths, workspace.path).settings
        options = sandbox_options((workspace.path,), settings.sandbox, paths)
        async with sandboxes.SessionSandbox(options, self._runner, warn=lambda _: None) as sandbox:
            if settings.sandbox.mode != "off" and not await sandbox.prepare():
                raise SetupError(
                    f"No sandbox works here ({sandbox.problem}), so setup and check do not run;"
                    " to run them without one, set sandbox.mode to off."
                )
            inside = self._runner.inside(None if settings.sandbox.mode == "off" else sandbox)
            return await self._log(inside, text, workspace.path, log_name, limits)

    def _limit_s(self, folder: str = "") -> float:
        """For a command of the task: what the agent may take at most, or for tests what their suite says."""
        container, minutes = self._task.container, self._task.budget.minutes
        if container is not None:
            minutes = container.check_minutes if folder == TESTS else None
            return COMMAND_TIMEOUT_S if minutes is None else minutes * 60
        return COMMAND_TIMEOUT_S if minutes is None else min(COMMAND_TIMEOUT_S, minutes * 60)

    async def _command_in_root(
        self, root: ContainerRoot, text: str, log_name: str, folder: str, limits: Limits
    ) -> Exit:
        """The sandbox is made by another tau, which sees the folders of the task at their places."""
        config = self._files / "sandbox.json"
        rules: dict[str, object] = {"write": root.tops, "mode": "required"}
        if (network := self._task.settings.get("sandbox", {}).get("network")) is not None:
            rules["network"] = network
        config.write_bytes(msgspec.json.encode({"sandbox": rules}))
        inner = [*_tau(), "sandbox", "run", "--config", str(config), "--", text]
        argv = [*root.argv(*([folder] if folder else [])), *inner]
        return await self._log(self._runner, argv, self._files, log_name, limits)

    async def _log(
        self, runner: LocalRunner, command: str | Sequence[str], cwd: Path, log_name: str, limits: Limits
    ) -> Exit:
        room = MAX_OUTPUT_BYTES
        with (self._files / log_name).open("wb") as log:
            started = await runner.start(command, cwd=cwd, limits=limits, env=self._variables())
            async with started as process:
                async for chunk in process.output():
                    log.write(chunk[:room])
                    room -= min(room, len(chunk))
                return await process.wait()

    def _prefix(self) -> list[str]:
        return [] if self._root is None else self._root.argv()

    def _variables(self) -> dict[str, str]:
        return {} if self._task.container is None else self._task.container.env

    def _keeps(self, outcome: BatchResult | Requeue | None) -> bool:
        if not isinstance(outcome, BatchResult) or self._keep == "none":
            return False
        return self._keep == "all" or outcome.status != "done"

    def _result(self, status: Status, *, error: str = "") -> BatchResult:
        agent, schema = self._agent, self._task.output
        output = None
        if schema is not None and status == "done":
            output, _ = answer_schemas.AnswerSchema(schema).read(agent.answer)
        session = next((self._files / "session").rglob("*.jsonl"), None)
        return BatchResult(
            id=self._lease.key,
            attempt=self._lease.attempt,
            status=status,
            answer=shortened(agent.answer, MAX_ANSWER_CHARS),
            output=output,
            usage=dict(agent.usage),
            cost=agent.cost,
            turns=agent.turns,
            started_at=iso(self._started),
            duration_ms=now_ms() - self._started,
            worker=f"{os.uname().nodename}:{os.getpid()}",
            session="" if session is None else self._name(session),
            error=error,
        )

    def _name(self, path: Path) -> str:
        return f"tasks/{self._lease.key}/{path.relative_to(self._files)}"


def _write(folder: Path, name: str, text: str) -> None:
    target = folder / name
    try:
        if not target.parent.resolve().is_relative_to(folder.resolve()) or target.is_symlink():
            raise SetupError(f'files: "{name}" leads out of the workspace.')
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    except OSError as error:
        raise SetupError(f'files: "{name}" cannot be written: {error}.') from None


def _tau() -> list[str]:
    return [sys.executable, "-m", "tau"]


def _how(ended: Exit, limit_s: float) -> str:
    if ended.timed_out:
        return f"took longer than {limit_s / 60:g} minutes"
    return (
        f"ended with exit code {ended.code}"
        if ended.code is not None
        else f"was ended by signal {ended.signal}"
    )


async def _lines(process: Process) -> AsyncIterator[bytes]:
    """Complete lines; one that is too long is left out."""
    rest, skipping = bytearray(), False
    async for chunk in process.output():
        rest += chunk
        if b"\n" in chunk:
            *lines, last = bytes(rest).split(b"\n")
            for line in lines[1:] if skipping else lines:
                yield line
            rest, skipping = bytearray(last), False
        elif len(rest) > MAX_LINE_BYTES:
            rest.clear()
            skipping = True
