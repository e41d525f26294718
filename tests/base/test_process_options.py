"""Options for a child: open stdin, descriptors, a terminal, a family, a sandbox."""

import asyncio
import fcntl
import os
import signal
import sys
import termios
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tau.base.pipe import MAX_SINKS, Sinks
from tau.base.run import (
    OUTSIDE,
    RUN_ID,
    Child,
    ChildFiles,
    Command,
    Exit,
    Limits,
    LocalRunner,
    NoSandbox,
    Pty,
    capture,
)
from tests.support.idle import until
from tests.support.limits import HANG_S

T = TypeVar("T")
HERE = Path(__file__).parent
runner = LocalRunner(shell="/bin/bash" if Path("/bin/bash").exists() else "/bin/sh")
on_linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found by /proc")


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(HANG_S):
            return await work

    return asyncio.run(bounded())


def waiting_in(pipe: int) -> int:
    """How many bytes are unread."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def ends(pid: int) -> bool:
    deadline = time.monotonic() + HANG_S
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not is_alive(pid)


def test_open_stdin_is_read_while_it_is_written() -> None:
    async def main() -> None:
        async with await runner.start(["cat"], cwd=HERE, stdin="open") as process:
            output = process.output()
            for line in (b"one\n", b"two\n"):
                await process.write(line)
                assert await anext(output) == line
            await process.end_input()
            assert await process.wait() == Exit(code=0)
            with pytest.raises(BrokenPipeError):
                await process.write(b"late")

    run(main())


def test_writing_more_than_a_pipe_holds_waits_for_the_reader() -> None:
    async def main() -> int:
        async with await runner.start(["wc", "-c"], cwd=HERE, stdin="open") as process:
            await process.write(b"x" * 3_000_000)
            await process.end_input()
            return int((await capture(process)).output)

    assert run(main()) == 3_000_000


def test_stuck_reader_blocks_nobody_else() -> None:
    async def main() -> None:
        async with await runner.start(["sleep", "999"], cwd=HERE, stdin="open") as process:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await process.write(b"x" * 1_000_000)

    run(main())


def test_writing_to_a_dead_process_or_without_stdin_is_an_error() -> None:
    async def main() -> None:
        async with await runner.start(["true"], cwd=HERE, stdin="open") as process:
            await process.wait()
            with pytest.raises(BrokenPipeError):
                await process.write(b"x")
        async with await runner.start(["true"], cwd=HERE) as process:
            with pytest.raises(BrokenPipeError):
                await process.write(b"x")
            await process.end_input()

    run(main())


def test_passed_descriptors_keep_their_numbers_and_stay_open() -> None:
    async def main() -> bytes:
        reading, writing = os.pipe()
        try:
            async with await runner.start(f"echo aside >&{writing}", cwd=HERE, fds=[writing]) as process:
                assert await process.wait() == Exit(code=0)
            os.write(writing, b"ours\n")
            return os.read(reading, 100)
        finally:
            os.close(reading)
            os.close(writing)

    assert run(main()) == b"aside\nours\n"


def test_terminal_belongs_to_the_child_and_takes_input() -> None:
    async def main() -> bytes:
        terminal = Pty(columns=91, rows=17)
        command = "stty size; test -t 0 && test -t 2 && echo terminal; read line; echo got $line; cat"
        async with await runner.start(command, cwd=HERE, terminal=terminal) as process:
            await process.write(b"typed\n")
            await process.end_input()
            return (await capture(process)).output

    assert run(main()) == b"17 91\r\nterminal\r\ngot typed\r\n"


def test_terminal_echoes_only_on_request() -> None:
    async def main(echo: bool) -> bytes:
        async with await runner.start(["cat"], cwd=HERE, terminal=Pty(echo=echo)) as process:
            await process.write(b"x\n")
            await process.end_input()
            return (await capture(process)).output

    assert run(main(True)).replace(b"^D\x08\x08", b"") == b"x\r\nx\r\n"
    assert run(main(False)) == b"x\r\n"


def test_exit_callback_is_called() -> None:
    async def main() -> list[Exit]:
        reported: list[Exit] = []
        async with await runner.start("exit 7", cwd=HERE) as process:
            process.when_gone(reported.append)
            await process.wait()
            process.when_gone(reported.append)
            await asyncio.sleep(0)
        return reported

    assert run(main()) == [Exit(code=7), Exit(code=7)]


@on_linux
def test_kill_spares_older_processes() -> None:
    async def main() -> None:
        command = "sleep 999 & echo $!; read go; sleep 998 & echo $!; setsid sleep 997 & echo $!; wait"
        async with await runner.start(command, cwd=HERE, stdin="open") as process:
            output = process.output()
            older = int(await anext(output))
            await asyncio.sleep(0.05)  # more than a tick of the clock that counts starts
            since = time.monotonic()
            await process.write(b"go\n")
            younger = b""
            while younger.count(b"\n") < 2:
                younger += await anext(output)
            await process.kill(since=since)
            assert await process.wait() == Exit(code=None, signal=signal.SIGTERM)
            assert all(ends(int(pid)) for pid in younger.split())
            assert is_alive(older)
            await process.kill()
            assert ends(older)

    run(main())


@on_linux
def test_detached_process_that_ignores_sigterm_is_killed_too() -> None:
    async def main() -> int:
        command = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait"
        async with await runner.start(command, cwd=HERE) as process:
            deaf = int(await anext(process.output()))
            await process.kill()
            return deaf

    assert ends(run(main()))


@on_linux
def test_detached_process_can_clean_up_while_the_group_ends(tmp_path: Path) -> None:
    clean_up = f"trap 'echo saved > {tmp_path}/state; exit' TERM; echo $$; while :; do sleep 0.01; done"
    (tmp_path / "detached.sh").write_text(clean_up)

    async def main() -> int:
        command = (
            f"trap 'until [ -s {tmp_path}/state ]; do sleep 0.01; done; exit' TERM; "
            f"setsid sh {tmp_path}/detached.sh & while :; do sleep 0.01; done"
        )
        async with await runner.start(command, cwd=HERE, limits=Limits(grace=HANG_S)) as process:
            detached = int(await anext(process.output()))
            await process.kill()
            assert await process.wait() == Exit(code=0)
            return detached

    assert ends(run(main()))
    assert (tmp_path / "state").read_text() == "saved\n"


def test_second_kill_can_shorten_the_grace_period() -> None:
    async def main() -> Exit:
        command = "trap '' TERM; echo $$; while :; do sleep 0.01; done"
        async with await runner.start(command, cwd=HERE, limits=Limits(grace=2 * HANG_S)) as process:
            await anext(process.output())
            async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
                group.create_task(process.kill())
                await asyncio.sleep(0)
                group.create_task(process.kill(grace=0.01))
            return await process.wait()

    assert run(main()) == Exit(code=None, signal=signal.SIGKILL)


@on_linux
def test_family_ends_together_wherever_its_members_went() -> None:
    async def main() -> list[int]:
        family = runner.family()
        pids = []
        for command in (
            "sleep 999 & echo $!",
            "setsid sleep 998 & echo $!",
            "(trap '' TERM; sleep 997) & echo $!",
        ):
            async with await runner.start(command, cwd=HERE, family=family) as process:
                pids.append(int((await capture(process)).output))
        assert all(is_alive(pid) for pid in pids)
        await family.end()
        return pids

    assert all(ends(pid) for pid in run(main()))


@on_linux
def test_suspended_member_gets_time_to_clean_up(tmp_path: Path) -> None:
    script = tmp_path / "member.sh"
    script.write_text(f"""trap 'sleep 0.05; echo clean > {tmp_path}/state; exit' TERM
echo $$
kill -STOP $$
while :; do sleep 0.01; done
""")

    async def main() -> None:
        family = runner.family()
        async with await runner.start(f"setsid sh {script} & wait", cwd=HERE, family=family) as process:
            member = int(await anext(process.output()))
            await until(lambda: state(member) == "T", HANG_S, lambda: "not stopped")
            await family.end()
            assert ends(member)

    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    run(main())
    assert (tmp_path / "state").read_text() == "clean\n"


@on_linux
def test_background_writer_survives_and_its_pipe_closes_with_the_family(
    tmp_path: Path,
) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def main() -> None:
        family = runner.family()
        before = open_files()
        os.mkfifo(tmp_path / "go")
        command = f"(read line; echo loud; touch {tmp_path}/lives) <{tmp_path}/go &"
        async with await runner.start(command, cwd=HERE, family=family) as process:
            await process.wait()
        (tmp_path / "go").write_text("go\n")
        await until((tmp_path / "lives").exists, HANG_S, lambda: "not started")
        await family.end()
        assert open_files() == before

    run(main())


def test_one_family_does_not_kill_another() -> None:
    async def main() -> None:
        first, second = runner.family(), runner.family()
        async with await runner.start(["sleep", "999"], cwd=HERE, family=second) as process:
            await first.end()
            assert is_alive(process.pid)
        await second.end()

    run(main())


def test_given_run_id_is_used() -> None:
    async def main() -> bytes:
        async with await runner.start(f"echo ${RUN_ID}", cwd=HERE, env={RUN_ID: "chosen"}) as process:
            return (await capture(process)).output

    assert run(main()) == b"chosen\n"


def test_background_pipes_are_drained_and_closed_at_eof_or_over_the_limit() -> None:
    async def main() -> None:
        sinks = Sinks()
        pipes = [os.pipe() for _ in range(MAX_SINKS + 1)]
        for reading, _ in pipes:
            os.set_blocking(reading, False)
            sinks.adopt(reading)
        with pytest.raises(BrokenPipeError):  # the oldest made room
            os.write(pipes[0][1], b"x")
        for _ in range(5):
            assert os.write(pipes[1][1], b"x" * 60_000) == 60_000
            await until(lambda: waiting_in(pipes[1][0]) == 0, HANG_S, lambda: "nobody reads the pipe")
        os.close(pipes[1][1])
        await until(lambda: not is_open(pipes[1][0]), HANG_S, lambda: "the pipe was not closed at its end")
        sinks.close()
        for _, writing in (pipes[0], *pipes[2:]):
            os.close(writing)

    run(main())


def test_time_limits_apply_in_a_terminal_too() -> None:
    async def main() -> Exit:
        limits = Limits(timeout=0.2, grace=0.1)
        command = "trap '' TERM HUP; while :; do sleep 1; done"
        async with await runner.start(command, cwd=HERE, terminal=Pty(), limits=limits) as process:
            await capture(process)
            return await process.wait()

    assert run(main()) == Exit(code=None, signal=signal.SIGKILL, timed_out=True)


class Renamed(NoSandbox):
    """A sandbox that changes everything it may."""

    async def spawn(self, command: Command, files: ChildFiles) -> Child:
        changed = Command(
            argv=["env", *command.argv], cwd=command.cwd.parent, env={**command.env, "BOX": "1"}
        )
        return await super().spawn(changed, files)


def test_sandbox_makes_the_child() -> None:
    async def main() -> bytes:
        async with await runner.start("echo $BOX $TAU; pwd", cwd=HERE, sandbox=Renamed()) as process:
            return (await capture(process)).output

    assert run(main()).decode() == f"1 1\n{HERE.parent}\n"


def test_a_runner_without_a_sandbox_contains_nothing() -> None:
    assert not asyncio.run(LocalRunner().prepare())
    assert not LocalRunner().contained


def test_own_program_finds_no_programs_of_the_workspace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (planted := tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path)
    usual = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{planted}:{usual}:node_modules/.bin")

    def path_seen(by: LocalRunner, **options: Any) -> list[str]:
        command = [sys.executable, "-c", "import os; print(os.environ['PATH'], end='')"]

        async def main() -> str:
            async with await by.start(command, cwd=tmp_path, **options) as process:
                return (await capture(process)).output.decode()

        return run(main()).split(":")

    assert not {str(planted), "node_modules/.bin"} & {*path_seen(runner)}
    assert path_seen(runner, env={"PATH": str(planted)}) == [str(planted)]
    commands = runner.inside(None)
    assert path_seen(commands)[0] == str(planted)
    assert str(planted) not in path_seen(commands, sandbox=OUTSIDE)
