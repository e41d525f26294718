"""bash with a session shell: state, folders, jobs, terminals, and rewritten commands."""

import asyncio
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.backends.shell.session import ShellSession
from tau.base.errors import ToolError
from tau.base.run import LocalRunner
from tau.coding.jobs.session_jobs import SessionJobs
from tau.coding.output import ARTIFACT_CAP_BYTES, OutputSink
from tau.coding.tools.bash import Bash, BashParams
from tau.config.settings import Settings
from tau.config.tool_settings import AutoBackgroundSettings, BashSettings
from tests.backends.shell.shell_rig import is_alive, until
from tests.coding.context import CallContext, FakeDialogs, call, text_of
from tests.support.limits import HANG_S, growing

Body = Callable[["Stage"], Awaitable[Any]]


class Stage:
    """A tool with a real shell session and real jobs."""

    def __init__(self, ctx: CallContext, tool: Bash, jobs: SessionJobs) -> None:
        self.ctx = ctx
        self.tool = tool
        self.jobs = jobs

    async def call(self, command: str, **more: Any) -> ToolOutput:
        async with asyncio.timeout(HANG_S):
            return await call(self.tool, self.ctx, command=command, **more)

    async def text(self, command: str, **more: Any) -> str:
        return text_of(await self.call(command, **more))

    def effects(self, command: str, **more: Any) -> Effects:
        return self.tool.effects(BashParams(command, **more), self.ctx.cwd)


def on_stage(ctx: CallContext, body: Body, tools: Sequence[str] = (), **bash: Any) -> Any:
    """`bash` holds settings of that section."""

    async def main() -> Any:
        runner = LocalRunner(shell="/bin/bash")
        async with ShellSession(runner, cwd=ctx.cwd) as shell, SessionJobs() as jobs:
            ctx.jobs = jobs
            tool = Bash(Settings(bash=BashSettings(**bash)), shell=shell, tools=tools)
            result = await body(Stage(ctx, tool, jobs))
        runner.close()
        return result

    return asyncio.run(main())


def test_state_persists_across_calls_and_the_prompt_says_so(ctx: CallContext) -> None:
    (ctx.cwd / "sub").mkdir()

    async def body(stage: Stage) -> None:
        assert "stay for later calls" in stage.tool.description
        await stage.call("cd sub; x=1")
        output = await stage.call("pwd; echo $x")
        assert text_of(output) == f"{ctx.cwd}/sub\n1\n"
        assert output.details.cwd == f"{ctx.cwd}/sub"

    on_stage(ctx, body)


def test_call_may_have_its_own_folder_and_variables(ctx: CallContext) -> None:
    (ctx.cwd / "sub").mkdir()

    async def body(stage: Stage) -> None:
        assert await stage.text("pwd; echo $A", cwd="sub", env={"A": "x y"}) == f"{ctx.cwd}/sub\nx y\n"
        assert await stage.text('pwd; echo "-$A-"') == f"{ctx.cwd}\n--\n"
        with pytest.raises(ToolError, match="not a directory: none"):
            await stage.call("pwd", cwd="none")
        for env in ({"A-B": "x"}, {"": "x"}, {"1": "x"}, {"TAU_RUN": "x"}):
            with pytest.raises(ToolError, match="`env` cannot set"):
                await stage.call("pwd", env=env)
        with pytest.raises(ToolError, match="NUL"):
            await stage.call("pwd", env={"A": "\0"})

    on_stage(ctx, body)


def test_leading_cd_changes_the_folder_persistently(ctx: CallContext) -> None:
    (ctx.cwd / "a" / "b").mkdir(parents=True)

    async def body(stage: Stage) -> None:
        assert stage.effects("cd a && ls; pwd") == Effects(
            runs=(f"cd {ctx.cwd}/a && ls; pwd",), run_cwd=ctx.cwd / "a"
        )
        output = await stage.call("cd a && pwd")
        assert (output.details.command, output.details.cwd) == ("pwd", f"{ctx.cwd}/a")
        assert await stage.text("cd b && pwd") == f"{ctx.cwd}/a/b\n"
        assert await stage.text("pwd") == f"{ctx.cwd}/a/b\n"
        assert stage.effects("make") == Effects(
            runs=(f"cd {ctx.cwd}/a/b && make",), run_cwd=ctx.cwd / "a" / "b"
        )
        assert await stage.text("cd b && pwd", cwd="a") == f"{ctx.cwd}/a/b\n"
        missing = await stage.call("cd none && pwd")
        assert "none: No such file or directory" in text_of(missing) and missing.is_error

    on_stage(ctx, body)


def test_fresh_shell_is_isolated(ctx: CallContext) -> None:
    async def body(stage: Stage) -> list[str]:
        await stage.call("x=1")
        return [await stage.text("echo -$x-; x=2", fresh=True), await stage.text("echo -$x-")]

    assert on_stage(ctx, body) == ["--\n", "-1-\n"]


def test_end_of_the_shell_is_reported_before_the_exit_code(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        output = await stage.call("echo out; exit 3")
        note = "[The shell ended with this command; the next one has the state from before it]"
        assert text_of(output) == f"out\n{note}\n[Exit code 3]"
        assert output.details.notes == [note[1:-1] + "."]
        for limit_s in growing(1):
            late = await stage.text("echo begun; sleep 600", timeout=limit_s)
            if late.startswith("begun"):
                break
        assert late == f"begun\n{note}\n[Stopped: exceeded its time limit of {limit_s:g} s]"

    on_stage(ctx, body)


def test_trailing_tail_is_applied_by_tau_and_the_full_output_saved(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        output = await stage.call("sh -c 'seq 1 100; exit 5' 2>&1 | tail -n 3")
        assert text_of(output) == (
            "98\n99\n100\n[Showing lines 98-100 of 100; full output: artifact://0;"
            " `tail -n 3` chose what is shown]\n[Exit code 5]"
        )
        assert (output.details.stripped, output.details.exit_code) == ("tail -n 3", 5)
        assert ctx.artifacts.open("0").read_text() == "".join(f"{n}\n" for n in range(1, 101))
        assert stage.effects("make 2>&1 | tail -5") == Effects(runs=("make",))

    on_stage(ctx, body)


def test_stripped_limit_on_long_output_shows_the_requested_lines(ctx: CallContext) -> None:
    (ctx.cwd / "pytest").write_text("#!/bin/sh\nseq 1 50000\n")
    (ctx.cwd / "pytest").chmod(0o755)

    async def body(stage: Stage) -> None:
        last = text_of(await stage.call("seq 1 50000 2>&1 | tail -n 2"))
        assert last.startswith(
            "49999\n50000\n[Showing lines 49999-50000 of 50000; full output: artifact://0;"
        )
        first = text_of(await stage.call("PATH=.:$PATH pytest 2>&1 | head -2"))
        assert first.startswith("1\n2\n[Showing lines 1-2 of 50000; full output: artifact://1;")

    on_stage(ctx, body)


def test_unreached_limit_changes_nothing_and_stripping_is_optional(ctx: CallContext) -> None:
    async def body(stage: Stage) -> ToolOutput:
        return await stage.call("seq 1 5 2>&1 | tail -n 9")

    output = on_stage(ctx, body)
    assert text_of(output) == "1\n2\n3\n4\n5\n"
    assert output.details.command == "seq 1 5"
    kept = on_stage(ctx, body, strip_trailing_head_tail=False)
    assert kept.details.command == "seq 1 5 2>&1 | tail -n 9"


def test_endless_command_is_still_bounded_by_head(ctx: CallContext) -> None:
    async def body(stage: Stage) -> str:
        return await stage.text("yes 2>&1 | head -n 2")

    assert on_stage(ctx, body) == "y\ny\n"


def test_interceptor_refuses_commands_with_a_better_tool(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        with pytest.raises(ToolError, match="Use the tool read"):
            await stage.call("cat x")
        assert (await stage.call("grep x /dev/null")).details.exit_code == 1

    on_stage(ctx, body, interceptor=True, tools=("read", "bash"))


def test_internal_urls_become_files(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        await stage.call("seq 1 20000")
        assert await stage.text("wc -l < artifact://0") == "20000\n"
        assert await stage.text("echo \"$(tail -1 'artifact://0')\"") == "20000\n"
        await ctx.urls.write("local://plan.md", b"step\n", ctx)
        assert await stage.text('cat "local://plan.md"') == "step\n"
        with pytest.raises(ToolError, match="no artifact"):
            await stage.call("cat artifact://77")
        with pytest.raises(ToolError, match="conflict"):
            await stage.call("cat conflict://1")

    on_stage(ctx, body)


def test_background_command_is_a_job_and_leaves_the_shell_free(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        await stage.call("x=1")
        command = "while [ ! -e go ]; do sleep 0.01; done; echo went $x; x=2"
        output = await stage.call(command, **{"async": True})
        id = output.details.job_id
        assert text_of(output) == f"[Running in the background as {id}; its result will follow, or use job]"
        assert await stage.text("touch go; echo $x") == "1\n"
        await stage.jobs.wait([id], 20)
        job = stage.jobs.get(id)
        assert job is not None
        assert (job.kind, job.status, job.result_text) == ("bash", "completed", "went 1\n")
        assert await stage.text("echo $x") == "1\n"

    on_stage(ctx, body)


def test_failed_job_says_how_and_a_cancelled_one_kills_its_processes(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        failed = (await stage.call("echo no; exit 4", **{"async": True})).details.job_id
        await stage.jobs.wait([failed], 20)
        job = stage.jobs.get(failed)
        assert job is not None
        assert (job.status, job.error_text) == ("failed", "no\n[Exit code 4]")
        running = (await stage.call("echo $$ >pid; echo here; sleep 999", **{"async": True})).details.job_id
        pid = ctx.cwd / "pid"
        await until(lambda: pid.exists() and pid.read_text().endswith("\n"))
        stage.jobs.cancel(running)
        await until(lambda: not is_alive(int(pid.read_text())))

    on_stage(ctx, body)


def test_slow_command_moves_to_the_background_when_enabled(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        await stage.call("x=1")
        assert await stage.text("echo quick") == "quick\n"
        command = "echo begun $x; while [ ! -e go ]; do sleep 0.01; done; echo ended; x=2"
        output = await stage.call(command)
        id = output.details.job_id
        assert text_of(output).startswith("begun 1\n[Running in the background as ")
        assert await stage.text("echo $x; touch go") == "1\n"
        await stage.jobs.wait([id], 20)
        job = stage.jobs.get(id)
        assert job is not None
        assert (job.status, job.result_text) == ("completed", "begun 1\nended\n")
        assert await stage.text("echo $x") == "1\n"

    on_stage(ctx, body, auto_background=AutoBackgroundSettings(enabled=True, threshold_ms=300))


def test_user_moves_a_command_to_the_background(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        assert not stage.jobs.foreground.move_to_background()
        command = "echo begun; touch there; while [ ! -e go ]; do sleep 0.01; done; echo ended"
        async with asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(stage.call(command))
            await until((ctx.cwd / "there").exists)
            assert stage.jobs.foreground.move_to_background()
            output = await calling
        id = output.details.job_id
        assert text_of(output).startswith("begun\n[The user moved this to the background; it runs as ")
        assert not stage.jobs.foreground.move_to_background()
        await until(lambda: (running := stage.jobs.get(id)) is not None and running.progress == "begun\n")
        (ctx.cwd / "go").touch()
        await stage.jobs.wait([id], 20)
        job = stage.jobs.get(id)
        assert job is not None
        assert (job.status, job.result_text) == ("completed", "begun\nended\n")

    on_stage(ctx, body)


def test_moved_command_is_awaited_when_no_job_can_start(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        def full(*_: Any) -> str:
            raise ToolError("100 background jobs are running already.")

        stage.jobs.start = full  # type: ignore[method-assign]
        async with asyncio.TaskGroup() as tasks:
            command = "touch there; while [ ! -e go ]; do sleep 0.01; done; echo done"
            calling = tasks.create_task(stage.call(command))
            await until((ctx.cwd / "there").exists)
            assert stage.jobs.foreground.move_to_background()
            (ctx.cwd / "go").touch()
            assert text_of(await calling) == "done\n"

    on_stage(ctx, body)


def test_slow_command_is_awaited_when_no_job_can_start(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        def full(*_: Any) -> str:
            raise ToolError("100 background jobs are running already.")

        stage.jobs.start = full  # type: ignore[method-assign]
        assert await stage.text("sleep 0.2; echo done") == "done\n"

    on_stage(ctx, body, auto_background=AutoBackgroundSettings(enabled=True, threshold_ms=50))


def test_pty_without_a_ui_returns_the_output(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        command = "test -t 1 && printf '\\033[31mred\\033[0m\\n'; stty size; read answer; echo end"
        assert await stage.text(command, pty=True) == "red\n40 120\nend\n"
        failed = await stage.call("exit 3", pty=True)
        assert (text_of(failed), failed.is_error) == ("[Exit code 3]", True)
        with pytest.raises(ToolError, match="`pty` cannot run in the background"):
            await stage.call("x", pty=True, **{"async": True})

    on_stage(ctx, body)


class Face:
    """The screen part of a UI, lent to a program; it types when prompted."""

    size = (60, 20)

    def __init__(self) -> None:
        self.shown = b""
        self._asked = asyncio.Event()

    def show(self, data: bytes) -> None:
        self.shown += data
        if b"Name? " in self.shown:
            self._asked.set()

    async def keys(self) -> AsyncIterator[bytes]:
        await self._asked.wait()
        yield b"Ada\n"


class Screen(FakeDialogs):
    def __init__(self) -> None:
        self.terminal = self.face = Face()


def test_user_can_answer_a_program_in_the_terminal(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        screen = Screen()
        ctx.dialogs = screen
        assert await stage.text("read -p 'Name? ' n; echo hello $n; stty size", pty=True) == (
            "Name? Ada\nhello Ada\n20 60\n"
        )
        assert b"hello Ada\r\n" in screen.face.shown

    on_stage(ctx, body)


def test_abort_keeps_the_output_and_the_shell_survives(ctx: CallContext) -> None:
    async def body(stage: Stage) -> None:
        await stage.call("x=1")
        task = asyncio.ensure_future(stage.call("echo here; touch ready; sleep 999; touch never"))
        await until((ctx.cwd / "ready").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert text_of(ctx.updates[-1]) == "here\n"
        assert await stage.text("echo $x") == "1\n"
        assert not (ctx.cwd / "never").exists()

    on_stage(ctx, body)


def test_characters_split_across_chunks_are_joined(ctx: CallContext) -> None:
    halves = "for b in 'h\\303' '\\244lf \\360\\237' '\\230\\200\\n'; do printf \"$b\"; sleep 0.15; done"

    async def body(stage: Stage) -> str:
        return await stage.text(halves)

    assert on_stage(ctx, body) == "hälf 😀\n"


def flood(ctx: CallContext, size: int) -> ToolOutput:
    async def body(stage: Stage) -> ToolOutput:
        return await stage.call(f"echo begin; yes | head -c {size}; echo end")

    output: ToolOutput = on_stage(ctx, body)
    text = text_of(output)
    assert text.startswith("begin\ny\n") and "\ny\nend\n[Showing lines " in text
    assert output.details.meta.truncation.total_bytes == size + 10
    return output


def test_saved_output_is_capped_and_both_ends_are_shown(
    ctx: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap = 1024 * 1024
    monkeypatch.setattr("tau.coding.tools.bash.OutputSink", partial(OutputSink, artifact_cap_bytes=cap))
    assert "first 1 MiB of the output: artifact://0" in text_of(flood(ctx, 20_000_000))
    assert ctx.artifacts.open("0").stat().st_size == cap


@pytest.mark.soak
def test_gigabyte_of_output_respects_the_disk_cap_with_flat_memory(ctx: CallContext) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = flood(ctx, 1_000_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10 * 1024
    assert "first 64 MiB of the output" in text_of(output)
    assert ctx.artifacts.open("0").stat().st_size == ARTIFACT_CAP_BYTES


@pytest.mark.parametrize("wanted", [0, -5, 99_999])
def test_time_limits_are_clamped(ctx: CallContext, wanted: int) -> None:
    async def body(stage: Stage) -> str:
        return await stage.text("echo in time", timeout=wanted)

    assert on_stage(ctx, body) == "in time\n"
