"""Running real commands: their output, their exit, and that no forbidden leftovers remain."""

import asyncio
import errno
import os
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tau.base.run import CapturedOutput, Exit, Limits, LocalRunner, Process, capture
from tests.support.idle import until
from tests.support.limits import HANG_S

T = TypeVar("T")
HERE = Path(__file__).parent
runner = LocalRunner(shell="/bin/bash" if Path("/bin/bash").exists() else "/bin/sh")


@pytest.fixture(params=["descriptor", "thread"], autouse=True)
def exit_notice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with both ways of learning that a child has exited."""
    if request.param == "thread":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("this system has no process descriptors")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def captured(
    command: str | Sequence[str], *, max_bytes: int = 1 << 30, cwd: Path = HERE, **options: Any
) -> CapturedOutput:
    async with await runner.start(command, cwd=cwd, **options) as process:
        return await capture(process, max_bytes=max_bytes)


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not someone else's zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def state_of(pid: int) -> str:
    """The state as shown by ps: S for sleeping, Z for a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone within two seconds."""
    deadline = time.monotonic() + HANG_S
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not is_alive(pid)


async def first_number(process: Process) -> int:
    """The pid that a command prints first."""
    text = b""
    async for chunk in process.output():
        text += chunk
        if b"\n" in text:
            break
    return int(text.split(b"\n")[0])


def test_output_and_exit_code_of_shell_text() -> None:
    done = run(captured("echo out; echo err >&2; echo more; exit 3"))
    assert done.output == b"out\nerr\nmore\n"
    assert done.exit == Exit(code=3)


def test_argument_list_is_not_read_by_a_shell() -> None:
    done = run(captured([sys.executable, "-c", "import sys; print(sys.argv[1:])", "$HOME; *", ""]))
    assert done.output == b"['$HOME; *', '']\n"
    assert done.exit == Exit(code=0)


def test_terminating_signal_is_reported() -> None:
    assert run(captured("kill -KILL $$")).exit == Exit(code=None, signal=signal.SIGKILL)


def test_stdin_is_closed() -> None:
    assert run(captured("cat; echo $?")).output == b"0\n"


def test_given_stdin_arrives_whole() -> None:
    data = bytes(range(256)) * 20_000
    assert run(captured(["cat"], stdin=data)).output == data
    assert run(captured("cat; echo end", stdin=b"")).output == b"end\n"


def test_unread_stdin_is_harmless() -> None:
    assert run(captured(["head", "-c", "3"], stdin=b"x" * 3_000_000)).output == b"xxx"


def test_stdin_without_memory_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run(captured(["cat"], stdin=b"hello")).output == b"hello"
    assert list(tmp_path.iterdir()) == []


def test_ten_megabytes_come_in_order_and_in_small_chunks() -> None:
    code = "import sys; sys.stdout.write(''.join(f'{n:09d}\\n' for n in range(1_000_000)))"

    async def main() -> tuple[bytes, int]:
        pieces = []
        async with await runner.start([sys.executable, "-c", code], cwd=HERE) as process:
            async for chunk in process.output():
                pieces.append(chunk)
            assert await process.wait() == Exit(code=0)
        return b"".join(pieces), max(map(len, pieces))

    output, longest = run(main())
    assert output == b"".join(b"%09d\n" % n for n in range(1_000_000))
    assert longest <= 64 * 1024


def test_slow_reader_blocks_the_child(tmp_path: Path) -> None:
    progress = tmp_path / "progress"
    code = (
        "import os, sys\n"
        f"for n in range(64):\n os.write(1, b'x' * 65536)\n open({str(progress)!r}, 'w').write(str(n))"
    )

    async def main() -> int:
        async with await runner.start([sys.executable, "-c", code], cwd=HERE) as process:
            output = process.output()
            total = len(await anext(output))
            await until(progress.exists, HANG_S, lambda: "the child wrote nothing")
            await until(lambda: state_of(process.pid) in "SZ", HANG_S, lambda: "the child never waited")
            assert int(progress.read_text() or "0") < 8
            async for chunk in output:
                total += len(chunk)
            return total

    assert run(main()) == 64 * 65536


def test_endless_output_does_not_starve_the_loop() -> None:
    async def main() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            for _ in range(20):
                await asyncio.sleep(0)
                turns += 1
            await process.kill()

        async with await runner.start(["yes"], cwd=HERE) as process:
            async with asyncio.TaskGroup() as group:
                group.create_task(count())
                async for _ in process.output():
                    pass
            assert (await process.wait()).signal == signal.SIGTERM
        return turns

    assert run(main()) == 20


def test_output_left_in_the_pipe_at_exit_is_still_read() -> None:
    async def main() -> bytes:
        async with await runner.start("printf '%060000d' 7", cwd=HERE) as process:
            assert await process.wait() == Exit(code=0)
            return b"".join([chunk async for chunk in process.output()])

    assert run(main()) == b"%060000d" % 7


def test_process_that_closed_its_output_is_still_waited_for() -> None:
    done = run(captured("echo x; exec >&- 2>&-; sleep 0.05; exit 4"))
    assert (done.output, done.exit) == (b"x\n", Exit(code=4))


def test_reading_output_can_be_paused_and_resumed() -> None:
    async def main() -> list[bytes]:
        async with await runner.start("echo a; sleep 0.05; echo b", cwd=HERE) as process:
            return [await anext(process.output()), *[chunk async for chunk in process.output()]]

    assert run(main()) == [b"a\n", b"b\n"]


def test_background_child_holding_the_pipe_does_not_block_us_and_lives_on() -> None:
    async def main() -> tuple[bytes, int]:
        async with await runner.start("sleep 999 & echo $!", cwd=HERE) as process:
            done = await capture(process)
            assert done.exit == Exit(code=0)
            return done.output, process.pid

    output, group = run(main())
    sleeper = int(output)
    assert is_alive(sleeper)
    os.killpg(group, signal.SIGKILL)
    assert ends(sleeper)


@pytest.mark.parametrize("pause", ["", "sleep 0.01;"])
def test_background_child_that_keeps_writing_does_not_block_us(pause: str) -> None:
    async def main() -> bytes:
        async with await runner.start(
            f"echo $$; (while :; do {pause} echo again; done) & exit 0", cwd=HERE
        ) as p:
            output = b"".join([chunk async for chunk in p.output()])
            assert await p.wait() == Exit(code=0)
            await p.kill()
            return output

    output = run(main())
    assert output.split(b"\n")[0].isdigit()
    assert len(output) < 2_000_000


def test_background_process_outlives_the_runner() -> None:
    async def main() -> int:
        short = LocalRunner()
        async with await short.start("sleep 999 & echo $!", cwd=HERE) as process:
            sleeper = int((await capture(process)).output)
        short.close()
        await asyncio.sleep(0.05)  # the guard, if it knew of it, would have killed it
        return sleeper

    sleeper = run(main())
    assert is_alive(sleeper)
    os.kill(sleeper, signal.SIGKILL)
    assert ends(sleeper)


@pytest.mark.skipif(not Path("/usr/bin/setsid").exists(), reason="needs the program setsid")
def test_child_in_its_own_session_does_not_block_us() -> None:
    done = run(captured("setsid sleep 999 & echo $!"))
    assert done.exit == Exit(code=0)
    sleeper = int(done.output)
    os.kill(sleeper, signal.SIGKILL)
    assert ends(sleeper)


def test_killing_after_the_exit_ends_background_processes() -> None:
    async def main() -> int:
        async with await runner.start("sleep 999 & echo $!", cwd=HERE) as process:
            sleeper = int((await capture(process)).output)
            assert is_alive(sleeper)
            await process.kill()
            await process.kill()
            return sleeper

    assert ends(run(main()))


def test_leaving_the_block_early_kills_the_whole_group() -> None:
    async def main() -> tuple[int, int]:
        async with await runner.start("(sleep 999; true) & echo $!; wait", cwd=HERE) as process:
            return process.pid, await first_number(process)

    for pid in run(main()):
        assert ends(pid)


def test_leaving_the_block_lets_the_group_clean_up(tmp_path: Path) -> None:
    """Only an interrupted caller is impatient with a command."""
    on_end = f"sleep 0.09; echo saved > {tmp_path}/state; exit"
    command = f"trap '{on_end}' TERM; echo $$; while :; do sleep 0.01; done"

    async def main() -> None:
        async with await runner.start(command, cwd=HERE, limits=Limits(grace=30)) as process:
            await first_number(process)

    run(main())
    assert (tmp_path / "state").read_text() == "saved\n"


def test_error_in_the_block_kills_a_running_command_but_not_background_processes() -> None:
    pids = []

    async def main(command: str) -> None:
        async with await runner.start(command, cwd=HERE) as process:
            pids.append(await first_number(process))
            if "wait" not in command:
                await process.wait()
            raise KeyError

    for command in ("sleep 999 & echo $!; wait", "sleep 999 & echo $!"):
        with pytest.raises(KeyError):
            run(main(command))
    running, left = pids
    assert ends(running)
    assert is_alive(left)
    os.kill(left, signal.SIGKILL)
    assert ends(left)


def test_process_that_ignores_sigterm_is_killed() -> None:
    async def main() -> Exit:
        command = "trap '' TERM; echo $$; while :; do sleep 1; done"
        async with await runner.start(command, cwd=HERE, limits=Limits(grace=0.05)) as process:
            await first_number(process)
            await process.kill()
            async with asyncio.timeout(0):  # it is gone by now
                return await process.wait()

    assert run(main()) == Exit(code=None, signal=signal.SIGKILL)


@pytest.mark.parametrize("ending", ["wait", "exit"], ids=["running", "left in the background"])
def test_unmarked_process_that_ignores_sigterm_is_killed_with_its_group(ending: str, tmp_path: Path) -> None:
    """Without its environment a process is found by its group alone."""
    said = tmp_path / "said"

    async def main() -> int:
        deaf = f"(trap '' TERM; exec env -i /bin/sh -c 'echo $$; echo >{said}; exec sleep 999')"
        command = f"{deaf} & until [ -e {said} ]; do sleep 0.01; done; {ending}"
        async with await runner.start(command, cwd=HERE, limits=Limits(grace=0.05)) as process:
            pid = await first_number(process)
            await process.kill()
            return pid

    assert ends(run(main()))


def test_sigterm_lets_a_process_clean_up() -> None:
    async def main() -> CapturedOutput:
        command = "trap 'echo clean; exit 5' TERM; echo ready; while :; do sleep 0.01; done"
        async with await runner.start(command, cwd=HERE, limits=Limits(grace=30)) as process:
            assert await anext(process.output()) == b"ready\n"
            await process.kill()
            return await capture(process)

    done = run(main())
    assert done.output.endswith(b"clean\n")
    assert done.exit == Exit(code=5)


def test_grandchild_gets_the_grace_period_after_its_parent_is_gone(tmp_path: Path) -> None:
    child = (
        f"trap 'sleep 0.1; echo saved > {tmp_path}/state; exit' TERM; echo $$; while :; do sleep 0.01; done"
    )

    async def main() -> int:
        parent = f'bash -c "{child}" & wait'
        async with await runner.start(["bash", "-c", parent], cwd=HERE, limits=Limits(grace=30)) as process:
            pid = await first_number(process)
            await process.kill()
            return pid

    child = child.replace("$$", "\\$\\$")
    assert ends(run(main()))
    assert (tmp_path / "state").read_text() == "saved\n"


def test_stubborn_grandchildren_do_not_survive_an_abort() -> None:
    tree = (
        "trap '' TERM; (trap '' TERM; (trap '' TERM; echo $BASHPID; while :; do sleep 1; done) & wait) & wait"
    )

    async def main() -> int:
        found: list[int] = []
        started = asyncio.Event()

        async def work() -> None:
            limits = Limits(grace=0.1)
            async with await runner.start(["bash", "-c", tree], cwd=HERE, limits=limits) as process:
                found.append(await first_number(process))
                started.set()
                await process.wait()

        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return found[0]

    assert ends(run(main()))


def test_second_cancellation_does_not_leave_the_process_behind() -> None:
    async def main() -> int:
        found: list[int] = []
        started = asyncio.Event()

        async def work() -> None:
            limits = Limits(grace=0.2)
            command = "trap '' TERM; echo $$; while :; do sleep 0.05; done"
            async with await runner.start(command, cwd=HERE, limits=limits) as process:
                found.append(await first_number(process))
                started.set()
                await process.wait()

        task = asyncio.create_task(work())
        await started.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.02)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        return found[0]

    assert ends(run(main()))


def test_suspended_process_is_killed_too() -> None:
    async def main() -> Exit:
        async with await runner.start("echo $$; kill -STOP $$; sleep 999", cwd=HERE) as process:
            await first_number(process)
            await process.kill()
            return await process.wait()

    assert run(main()) == Exit(code=None, signal=signal.SIGTERM)


def test_time_limit_kills_the_group_and_is_reported() -> None:
    done = run(captured("echo begun; sleep 999 & sleep 999", limits=Limits(timeout=0.2)))
    assert b"begun\n".startswith(done.output)  # a busy machine may not have got that far
    assert done.exit == Exit(code=None, signal=signal.SIGTERM, timed_out=True)


def test_time_limit_kills_a_process_that_ignores_it() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # children inherit it
    try:
        done = run(captured("sleep 999 & sleep 999", limits=Limits(timeout=0.05, grace=0.1)))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert done.exit == Exit(code=None, signal=signal.SIGKILL, timed_out=True)


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGQUIT), ids=str)
def test_command_is_interruptible_even_if_tau_was_started_in_the_background(
    number: signal.Signals,
) -> None:
    before = signal.signal(number, signal.SIG_IGN)  # as a shell does for `tau &`
    try:
        done = run(captured(["sh", "-c", f"ulimit -c 0; kill -{number:d} $$; echo deaf"]))
        assert (done.output, done.exit) == (b"", Exit(code=None, signal=number))
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_hangup_ignored_by_nohup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(captured(["sh", "-c", "kill -HUP $$; echo on"])).output == b"on\n"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_time_limit_applies_without_a_reader() -> None:
    async def main() -> Exit:
        async with await runner.start(["yes"], cwd=HERE, limits=Limits(timeout=0.05)) as process:
            return await process.wait()

    assert run(main()) == Exit(code=None, signal=signal.SIGTERM, timed_out=True)


def test_unreached_time_limit_leaves_no_trace() -> None:
    assert run(captured("true", limits=Limits(timeout=30))).exit == Exit(code=0)


def test_missing_program_is_named() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        run(captured(["no-such-program-anywhere", "x"]))
    assert caught.value.filename == "no-such-program-anywhere"


def test_inaccessible_folder_in_path_does_not_hide_a_missing_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(argv: list[str], **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", argv[0])

    (tmp_path / "present").touch()
    monkeypatch.setenv("PATH", f"/closed:{tmp_path}")
    monkeypatch.setattr("subprocess.Popen", refused)
    with pytest.raises(FileNotFoundError):
        run(captured(["absent"]))
    with pytest.raises(PermissionError):
        run(captured(["present"]))


def test_missing_or_wrong_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        run(captured("true", cwd=tmp_path / "none"))
    assert str(missing.value.filename) == str(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as wrong:
        run(captured("true", cwd=tmp_path / "file"))
    assert str(wrong.value.filename) == str(tmp_path / "file")


def test_empty_command_is_refused() -> None:
    with pytest.raises(ValueError, match="No command"):
        run(captured([]))


def test_command_runs_in_its_folder_with_our_environment_and_extras(tmp_path: Path) -> None:
    os.environ["INHERITED"] = "from us"
    done = run(captured('pwd; echo "$INHERITED, $GIVEN, $TAU"', cwd=tmp_path, env={"GIVEN": "more"}))
    assert done.output.decode() == f"{tmp_path.resolve()}\nfrom us, more, 1\n"


def test_every_child_carries_a_unique_mark() -> None:
    first, second = (run(captured("echo $TAU_RUN")).output.strip() for _ in range(2))
    assert len(first) == 16
    assert first != second


def test_child_leads_a_session_without_a_terminal() -> None:
    async def main() -> tuple[int, int, int]:
        async with await runner.start(["sleep", "5"], cwd=HERE) as process:
            return process.pid, os.getpgid(process.pid), os.getsid(process.pid)

    pid, group, session = run(main())
    assert pid == group == session


def test_captured_output_is_bounded_and_says_how_much_was_dropped() -> None:
    done = run(captured("printf '%0200000d' 7", max_bytes=1000))
    assert done.output == b"0" * 1000
    assert done.dropped_bytes == 199_000
    assert done.exit == Exit(code=0)


def test_two_readers_at_once_are_refused() -> None:
    async def main() -> None:
        async with await runner.start(["sleep", "5"], cwd=HERE) as process, asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(first_number(process))

    with pytest.raises(ExceptionGroup) as caught:
        run(main())
    assert [str(error) for error in caught.value.exceptions] == [
        "Only one reader at a time can read the output of a process"
    ]


def open_files() -> set[str]:
    folder = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    return {entry.name for entry in folder.iterdir()}


def test_hundred_runs_leave_no_descriptor_or_zombie() -> None:
    async def main() -> None:
        before = open_files()
        for n in range(100):
            if n % 10 == 0:
                with pytest.raises(FileNotFoundError):
                    await captured(["no-such-program-anywhere"], stdin=b"x")
            elif n % 10 == 1:
                async with await runner.start(["sleep", "999"], cwd=HERE) as process:
                    await process.kill()
            else:
                assert (await captured(["echo", "x"], stdin=b"y" if n % 2 else None)).output == b"x\n"
        assert open_files() == before

    run(main())
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_many_runs_at_once() -> None:
    async def main() -> list[bytes]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(captured(f"sleep 0.01; echo {n}")) for n in range(30)]
        return [task.result().output for task in tasks]

    assert run(main()) == [b"%d\n" % n for n in range(30)]
