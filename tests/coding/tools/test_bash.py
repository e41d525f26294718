"""bash: real commands, their output, their end."""

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.backends.shell.session import ShellSession
from tau.base.errors import ToolError
from tau.base.run import LocalRunner
from tau.coding.resources import open_resources
from tau.coding.tools.bash import Bash, BashParams
from tau.config.paths import user_paths
from tau.config.settings import Settings
from tau.config.tool_settings import BashSettings
from tests.coding.context import CallContext, call, text_of
from tests.support.limits import growing

ENDED = "[The shell ended with this command; the next one has the state from before it]"


@asynccontextmanager
async def session_bash(ctx: CallContext, settings: Settings | None = None) -> AsyncIterator[Bash]:
    """The tool with the shell that a session opens."""
    settings = settings or Settings()
    async with AsyncExitStack() as services:
        paths = user_paths(os.environ)
        resources = await open_resources(ctx.cwd, ctx.run, paths, settings, os.environ, services)
        yield Bash(settings, shell=resources.shell)


def bash(ctx: CallContext, command: str, settings: Settings | None = None, **more: Any) -> ToolOutput:
    async def main() -> ToolOutput:
        async with session_bash(ctx, settings) as tool:
            return await call(tool, ctx, command=command, **more)

    return asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a file says it, and files do not notify
        await asyncio.sleep(0.01)


def test_stdout_and_stderr_are_interleaved_in_order(ctx: CallContext) -> None:
    output = bash(ctx, "echo one; echo two >&2; echo three")
    assert text_of(output) == "one\ntwo\nthree\n"
    assert not output.is_error
    details = output.details
    assert (details.command, details.cwd) == ("echo one; echo two >&2; echo three", str(ctx.cwd))
    assert (details.exit_code, details.timed_out) == (0, False)
    assert details.duration_ms >= 0


def test_empty_output_is_reported(ctx: CallContext) -> None:
    assert text_of(bash(ctx, "true")) == "[No output]"


@pytest.mark.parametrize(
    ("command", "text", "code", "signal"),
    [
        ("echo no; (exit 3)", "no\n[Exit code 3]", 3, None),
        ("echo no; exit 3", f"no\n{ENDED}\n[Exit code 3]", 3, None),
        ("exit 1", "[Exit code 1]", 1, None),
        ("kill -KILL $$", "[Ended by signal SIGKILL]", None, "SIGKILL"),
        ("sh -c 'kill -TERM $$'; exit $?", "[Exit code 143 (SIGTERM)]", 143, None),
        ("exit 200", "[Exit code 200]", 200, None),
    ],
)
def test_exit_codes_and_signals_are_distinguished(
    ctx: CallContext, command: str, text: str, code: int | None, signal: str | None
) -> None:
    output = bash(ctx, command)
    assert text_of(output).endswith(text)
    assert output.is_error
    assert output.details.exit_code == code
    assert (output.details.signal or None) == signal
    assert not output.details.timed_out


def test_time_limit_stops_the_command_and_keeps_its_output(ctx: CallContext) -> None:
    for limit_s in growing(1):
        output = bash(ctx, "echo begun; sleep 600", timeout=limit_s)
        if text_of(output).startswith("begun"):
            break
    assert text_of(output) == f"begun\n{ENDED}\n[Stopped: exceeded its time limit of {limit_s:g} s]"
    assert output.is_error and output.details.timed_out


def test_default_time_limit_is_a_setting_shown_in_the_prompt(ctx: CallContext) -> None:
    settings = Settings(bash=BashSettings(timeout_seconds=1))
    assert "Time limit 1 s" in Bash(settings).description
    assert "time limit of 1 s" in text_of(bash(ctx, "sleep 600", settings))


def test_the_working_directory_can_be_chosen(ctx: CallContext) -> None:
    (ctx.cwd / "sub").mkdir()
    assert text_of(bash(ctx, "pwd", cwd="sub")) == f"{ctx.cwd / 'sub'}\n"
    with pytest.raises(ToolError, match="`cwd` is not a directory: nowhere"):
        bash(ctx, "pwd", cwd="nowhere")
    with pytest.raises(ToolError, match=r"Cannot run a command in .*: File name too long"):
        bash(ctx, "pwd", cwd="x" * 300)
    assert "x: File name too long" in text_of(bash(ctx, f"cd {'x' * 300} && pwd"))


def test_no_pagers_prompts_or_colors(ctx: CallContext) -> None:
    output = text_of(bash(ctx, 'echo "$PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $TERM $NO_COLOR"; cat; tty'))
    assert output.startswith("cat cat 0 dumb 1\nnot a tty\n")


def test_colors_that_a_command_insists_on_are_shown_to_people_only(ctx: CallContext) -> None:
    output = bash(ctx, "printf '\\033[31mred\\033[0m\\033]0;title\\007\\n'")
    assert text_of(output) == "red\n"
    assert output.details.colored == "\x1b[31mred\x1b[0m\n"
    assert bash(ctx, "echo plain").details.colored is UNSET


@pytest.mark.parametrize(
    ("command", "message"),
    [("", "empty"), ("  \n", "empty"), ("a\0b", "NUL"), ("rm a\ud800*", "lone surrogate")],
)
def test_unrunnable_command_is_refused(ctx: CallContext, command: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        bash(ctx, command)


def test_vanished_folder_gives_a_clear_error(ctx: CallContext) -> None:
    ctx.cwd.rmdir()
    with pytest.raises(ToolError, match="Cannot run the command in"):
        bash(ctx, "pwd")


def test_long_output_shows_both_ends_and_is_saved_completely(ctx: CallContext) -> None:
    output = bash(ctx, "seq 1 20000")
    text = text_of(output)
    assert text.startswith("1\n2\n3\n")
    assert "\n20000\n[Showing lines 1-" in text
    assert text.endswith(" of 20000; full output: artifact://0]")
    assert ctx.artifacts.open("0").read_text() == "".join(f"{n}\n" for n in range(1, 20001))
    truncation = output.details.meta.truncation
    assert (truncation.kept, truncation.total_lines, truncation.artifact_id) == ("ends", 20000, "0")


def test_exit_code_comes_last_even_after_long_output(ctx: CallContext) -> None:
    assert text_of(bash(ctx, "seq 1 20000; (exit 4)")).endswith("artifact://0]\n[Exit code 4]")


def test_twenty_megabytes_stay_out_of_memory(ctx: CallContext) -> None:
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    output = bash(ctx, "yes | head -c 20000000")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before
    assert grown < 10_000_000
    assert len(text_of(output)) < 60_000
    assert output.details.meta.truncation.total_bytes == 20_000_000
    assert ctx.artifacts.open("0").stat().st_size == 20_000_000


def test_progress_shows_the_newest_output_and_is_throttled(ctx: CallContext) -> None:
    output = bash(ctx, "seq 1 2500; for i in $(seq 2501 2560); do echo $i; sleep 0.01; done")
    assert not output.is_error
    assert 1 <= len(ctx.updates) <= output.details.duration_ms / 100 + 1
    whole = text_of(output)
    ends = [whole.index(text_of(update)) + len(text_of(update)) for update in ctx.updates]
    assert ends == sorted(set(ends))
    for update in ctx.updates:
        assert len(text_of(update)) <= 8 * 1024
        assert update.details.exit_code is None


def test_single_line_before_a_long_silence_is_shown(ctx: CallContext) -> None:
    async def main() -> None:
        async with session_bash(ctx) as tool:
            running = asyncio.ensure_future(call(tool, ctx, command="echo waiting; sleep 600"))
            await until(lambda: bool(ctx.updates))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
    assert text_of(ctx.updates[0]) == "waiting\n"


def test_quick_command_makes_no_updates(ctx: CallContext) -> None:
    bash(ctx, "echo hi")
    assert ctx.updates == []


def test_abort_kills_the_process_group_and_shows_the_output_so_far(ctx: CallContext) -> None:
    pids = ctx.cwd / "pids"

    async def main() -> None:
        command = f"echo here; sleep 600 & echo $! >{pids}; echo $$ >>{pids}; wait"
        async with session_bash(ctx) as tool:
            running = asyncio.ensure_future(call(tool, ctx, command=command))
            await until(lambda: pids.exists() and pids.read_text().count("\n") == 2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(main())
    assert text_of(ctx.updates[-1]) == "here\n"
    for pid in pids.read_text().split():
        assert not alive(int(pid))


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie waiting for init does not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_background_child_does_not_block_the_call(ctx: CallContext) -> None:
    output = bash(ctx, "sleep 600 & echo $!")
    pid = int(text_of(output))
    try:
        assert not output.is_error
    finally:
        os.kill(pid, 9)


def test_parallel_commands_run_side_by_side(ctx: CallContext) -> None:
    """Each waits for the other's file: run in sequence they would never end."""

    async def main() -> list[ToolOutput]:
        wait = "touch {0}; while [ ! -e {1} ]; do sleep 0.01; done; echo {0}"
        commands = [wait.format("a", "b"), wait.format("b", "a")]
        async with session_bash(ctx) as tool:
            return await asyncio.gather(*(call(tool, ctx, command=command) for command in commands))

    assert [text_of(output) for output in asyncio.run(main())] == ["a\n", "b\n"]


def test_effects_are_the_command(ctx: CallContext) -> None:
    assert Bash().effects(BashParams("make"), ctx.cwd) == Effects(runs=("make",))


@pytest.mark.parametrize(
    ("program", "text"), [("/bin/zsh", "It is zsh, not bash."), ("/bin/sh", "It is sh, not bash.")]
)
def test_model_learns_that_its_shell_is_not_bash(tmp_path: Path, program: str, text: str) -> None:
    assert text in Bash(Settings(shell_path=program)).description
    session = ShellSession(LocalRunner(shell=program), cwd=tmp_path)
    assert text in Bash(shell=session).description


def test_description_does_not_name_bash_where_it_is_bash(tmp_path: Path) -> None:
    assert "not bash" not in Bash(Settings(shell_path="/bin/bash")).description
