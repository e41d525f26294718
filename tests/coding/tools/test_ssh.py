"""ssh as a model uses it, against a real sshd: output, endings, limits, and host descriptions."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tau.agent.abort import Abort, Aborted
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.backends.ssh.connections import Connections
from tau.backends.ssh.hosts import SshHost
from tau.base.errors import ToolError
from tau.base.tasks import spawn
from tau.coding.output import OutputLimits
from tau.coding.tools.ssh import LOST, Ssh, SshDetails, SshParams
from tests.backends.ssh.loopback import Server, running_sshd
from tests.coding.context import CallContext, call, text_of
from tests.support.limits import HANG_S

T = TypeVar("T")
FAR = SshHost(name="far", address="far.example", user="me", description="Build machine")


@pytest.fixture(scope="module")
def sshd() -> Iterator[Server]:
    with running_sshd() as server:
        yield server


@pytest.fixture
def server(sshd: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("PATH", f"{sshd.bin}:{os.environ['PATH']}")
    return sshd


def with_tool(
    ctx: CallContext,
    hosts: list[SshHost],
    use: Callable[[Ssh], Awaitable[T]],
    limits: OutputLimits | None = None,
) -> T:
    async def main() -> T:
        async with Connections(ctx.run, cache=ctx.cwd / "cache") as connections:
            return await use(Ssh({host.name: host for host in hosts}, connections, limits))

    return asyncio.run(main())


def ssh(ctx: CallContext, server: Server, command: str, **more: Any) -> ToolOutput:
    limits = more.pop("limits", None)
    return with_tool(
        ctx, [server.host()], lambda tool: call(tool, ctx, host="box", command=command, **more), limits
    )


def test_stdout_and_stderr_are_combined(ctx: CallContext, server: Server) -> None:
    output = ssh(ctx, server, "echo one; echo two >&2; pwd", cwd="/usr")
    assert text_of(output) == "one\ntwo\n/usr\n"
    assert not output.is_error
    details = output.details
    assert isinstance(details, SshDetails)
    assert (details.host, details.target, details.cwd) == ("box", server.host().target, "/usr")
    assert (details.exit_code, details.timed_out, details.lost) == (0, False, False)


def test_empty_output_is_reported(ctx: CallContext, server: Server) -> None:
    assert text_of(ssh(ctx, server, "true")) == "[No output]"


def test_failure_shows_the_output_and_the_exit_code(ctx: CallContext, server: Server) -> None:
    output = ssh(ctx, server, "echo looking; exit 255")
    assert (text_of(output), output.is_error) == ("looking\n[Exit code 255]", True)
    assert (output.details.exit_code, output.details.lost) == (255, False)


def test_command_that_takes_too_long_is_stopped(ctx: CallContext, server: Server) -> None:
    output = ssh(ctx, server, "echo begun; sleep 300", timeout=0)
    assert text_of(output).endswith("[Stopped: exceeded its time limit of 1 s]")
    assert output.is_error and output.details.timed_out and output.details.exit_code is None


def test_lost_connection_is_not_mistaken_for_an_exit_code(ctx: CallContext, server: Server) -> None:
    output = ssh(ctx, server, "echo begun; kill -9 $PPID; sleep 5")
    assert text_of(output) == f"begun\n{LOST}"
    assert output.is_error and output.details.lost and output.details.exit_code is None


def test_long_output_shows_both_ends_and_is_saved_completely(ctx: CallContext, server: Server) -> None:
    limits = OutputLimits(lines=100, bytes=1000)
    output = ssh(ctx, server, "seq 100000", limits=limits)
    text = text_of(output)
    assert text.startswith("1\n2\n") and "99999\n100000\n" in text and "artifact://0" in text
    assert output.details.meta.truncation.total_lines == 100_000
    kept = ctx.artifacts.open(output.details.meta.truncation.artifact_id).read_text()
    assert kept == "".join(f"{number}\n" for number in range(1, 100_001))


def test_progress_is_shown_while_running(ctx: CallContext, server: Server) -> None:
    ssh(ctx, server, "echo one; sleep 0.5; echo two")
    assert text_of(ctx.updates[0]) == "one\n"


def test_abort_kills_the_remote_command(ctx: CallContext, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def use(tool: Ssh) -> None:
        abort = Abort()
        async with asyncio.TaskGroup() as group:

            async def stop() -> None:
                while not ctx.updates:  # noqa: ASYNC110 - the tool notifies by filling a list
                    await asyncio.sleep(0.01)
                abort.abort()

            spawn(group, stop())
            with pytest.raises(Aborted):
                async with abort.scope():
                    await call(tool, ctx, host="box", command=f"echo $$ > {file}; echo begun; sleep 300")
        assert text_of(ctx.updates[-1]) == "begun\n"
        async with asyncio.timeout(HANG_S):
            while is_alive(int(file.read_text())):  # noqa: ASYNC110 - a process does not notify
                await asyncio.sleep(0.01)
        assert text_of(await call(tool, ctx, host="box", command="echo next")) == "next\n"

    with_tool(ctx, [server.host()], use)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def test_unrunnable_call_is_one_clear_sentence(ctx: CallContext, server: Server) -> None:
    async def use(tool: Ssh) -> list[str]:
        texts = []
        for arguments in (
            {"host": "127.0.0.1", "command": "ls"},
            {"host": "box", "command": "  "},
            {"host": "box", "command": "a\0b"},
            {"host": "box", "command": "rm a\ud800*"},
            {"host": "box", "command": "ls", "cwd": ""},
            {"host": "box", "command": "ls", "cwd": "/nowhere"},
        ):
            with pytest.raises(ToolError) as caught:
                await call(tool, ctx, **arguments)
            texts.append(str(caught.value))
        return texts

    assert with_tool(ctx, [server.host(), FAR], use) == [
        'There is no host "127.0.0.1"; there are box, far.',
        "`command` is empty; there is nothing to run.",
        "`command` contains a NUL character, which no shell can take.",
        "`command` contains a lone surrogate, which no program can take.",
        "`cwd` is empty; omit it to run in the home directory.",
        '`cwd` is not a directory on "box": /nowhere.',
    ]


def test_without_hosts_the_tool_says_so(ctx: CallContext) -> None:
    assert "No hosts are configured." in Ssh().description
    with pytest.raises(ToolError, match="No ssh hosts are configured"):
        asyncio.run(call(Ssh(), ctx, host="x", command="ls"))


def test_description_lists_the_hosts_and_their_details(ctx: CallContext, server: Server) -> None:
    async def use(tool: Ssh) -> str:
        await call(tool, ctx, host="box", command="true")
        return tool.description

    lines = with_tool(ctx, [server.host(), FAR], use).splitlines()
    assert lines[-1] == "- far (me@far.example; system unknown): Build machine"
    assert lines[-2].startswith(f"- box ({server.host().target}; ") and "not known" not in lines[-2]
    assert not any("{{" in line for line in lines)


def test_effects_name_the_host_and_the_command() -> None:
    tool = Ssh({"far": FAR})
    effects = tool.effects(SshParams(host="far", command="rm x", cwd="/srv"), Path("/w"))
    assert effects == Effects(runs=("on far in /srv: rm x",), network=("far.example",))
    assert tool.effects(SshParams(host="no", command="ls"), Path("/w")) == Effects(runs=("on no: ls",))
    assert tool.exclusive


def test_many_calls_leave_nothing_behind(ctx: CallContext, server: Server) -> None:
    def open_files() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    async def use(tool: Ssh) -> tuple[int, int]:
        await call(tool, ctx, host="box", command="true")
        before = open_files()
        for _ in range(10):
            await call(tool, ctx, host="box", command="true")
        return before, open_files()

    before, after = with_tool(ctx, [server.host()], use)
    assert after == before


def test_terminating_signal_is_named(ctx: CallContext, server: Server) -> None:
    output = ssh(ctx, server, "kill -TERM $$")
    assert text_of(output) == f"[Exit code {128 + signal.SIGTERM} (SIGTERM)]"
