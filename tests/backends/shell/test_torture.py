"""Commands that flood, fork and make noise: each returns, and nothing is left."""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tau.backends.shell.session import ShellSession
from tau.base.run import Limits
from tests.backends.shell.shell_rig import done, ends, in_session, is_alive, until
from tests.support.limits import HANG_S

MIB = 1024 * 1024
UNIT = 1 if sys.platform == "darwin" else 1024


async def flooded(
    session: ShellSession, command: str, limits: Limits | None = None
) -> tuple[int, bytes, bool]:
    """How much came, its end, and whether the time was up; the rest is discarded."""
    running = await session.start(command, limits=limits or Limits())
    total, last = 0, b""
    async with running.process as process:
        async for chunk in process.output():
            total += len(chunk)
            last = (last + chunk)[-20:]
        return total, last, (await process.wait()).timed_out


def grown_bytes(body: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * UNIT


@pytest.mark.parametrize("size", [100 * MIB, pytest.param(1024 * MIB, marks=pytest.mark.soak)])
def test_flood_passes_completely_with_flat_memory(tmp_path: Path, size: int) -> None:
    async def body(session: ShellSession) -> None:
        assert await flooded(session, f"head -c {size} /dev/zero; echo end") == (
            size + 4,
            b"\0" * 16 + b"end\n",
            False,
        )
        assert (await done(session, "echo on")).text == "on\n"

    assert grown_bytes(lambda: in_session(tmp_path, body)) < 10 * MIB


@pytest.mark.parametrize(
    "seconds", [0.5, pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(120)])]
)
def test_endless_output_ends_with_the_time_limit_with_flat_memory(tmp_path: Path, seconds: float) -> None:
    async def body(session: ShellSession) -> None:
        total, last, timed_out = await flooded(session, "yes", Limits(timeout=seconds))
        assert timed_out and total > MIB and set(last) <= set(b"y\n")

    assert grown_bytes(lambda: in_session(tmp_path, body)) < 10 * MIB


def test_arbitrary_bytes_pass_unchanged(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    (tmp_path / "data").write_bytes(data)

    async def body(session: ShellSession) -> bytes:
        return (await done(session, "cat data")).output

    assert in_session(tmp_path, body) == data


def test_ten_megabytes_without_a_newline(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> int:
        return len((await done(session, "head -c 10000000 /dev/zero | tr '\\0' x")).output)

    assert in_session(tmp_path, body) == 10_000_000


BACKGROUND = {
    "a silent child": "sleep 999 & echo $! >pids",
    "a session of its own": "setsid sh -c 'echo $$ >pids; exec sleep 999' &",
    "nohup": "nohup sh -c 'echo $$ >pids; exec sleep 999' &",
    "a double fork": "(sh -c 'echo $$ >pids; exec sleep 999' &)",
    "a writer": "(while :; do echo again; sleep 0.01; done) & echo $! >pids",
    "a writer without a pause": "yes & echo $! >pids",
    "deaf to TERM": "sh -c 'trap \"\" TERM; echo $$ >pids; while :; do sleep 1; done' &",
}


@pytest.mark.parametrize("command", BACKGROUND.values(), ids=BACKGROUND.keys())
def test_background_process_blocks_no_command_and_ends_with_the_session(tmp_path: Path, command: str) -> None:
    pids = tmp_path / "pids"

    async def body(session: ShellSession) -> int:
        async with asyncio.timeout(HANG_S):
            assert (await done(session, command)).exit.code == 0
            await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
            assert (await done(session, "echo next")).text == "next\n"
        pid = int(pids.read_text())
        assert is_alive(pid)
        return pid

    assert ends(in_session(tmp_path, body))


@pytest.mark.parametrize("command", BACKGROUND.values(), ids=BACKGROUND.keys())
def test_background_process_of_a_stopped_command_ends_with_it(tmp_path: Path, command: str) -> None:
    pids = tmp_path / "pids"

    async def body(session: ShellSession) -> None:
        task = asyncio.ensure_future(done(session, f"{command}\nsleep 999"))
        await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ends(int(pids.read_text()))

    in_session(tmp_path, body)


# Each process starts two others, down to a depth: 2 ** 7 of them, whatever the user's limits.
BOMB = """
cat >bomb.sh <<'END'
echo $$ >>pids
trap '' TERM
if [ $1 -lt 6 ]; then sh bomb.sh $(($1 + 1)) & sh bomb.sh $(($1 + 1)) & fi
while :; do sleep 1; done
END
ulimit -u 4000
setsid sh bomb.sh 0 &
sleep 999
"""


def test_fork_bomb_is_killed_completely(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async def body(session: ShellSession) -> list[int]:
        task = asyncio.ensure_future(done(session, BOMB))
        await until(lambda: pids.exists() and pids.read_text().count("\n") >= 40)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = [int(pid) for pid in pids.read_text().split()]
        assert not [pid for pid in found if not ends(pid)]
        assert (await done(session, "echo on")).text == "on\n"
        return found

    assert len(in_session(tmp_path, body)) >= 40


def test_suspended_process_is_killed_too(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        late = await done(session, "sh -c 'kill -STOP $$'; kill -STOP $$", limits=Limits(timeout=0.3))
        assert late.exit.timed_out
        assert (await done(session, "echo on")).text == "on\n"

    in_session(tmp_path, body)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from tau.backends.shell.session import ShellSession
from tau.base.run import LocalRunner

async def main():
    async with ShellSession(LocalRunner(shell="/bin/bash"), cwd=Path.cwd()) as session:
        for command in ("setsid sleep 997 & echo $! >pids; echo $$ >>pids", "touch ready; sleep 998"):
            running = await session.start(command)
            async with running.process as process:
                await process.wait()

asyncio.run(main())
"""


@pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="processes are found by their environment on Linux only"
)
def test_nothing_is_left_when_tau_is_killed(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    async def main() -> None:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)}
        )
        await until((tmp_path / "ready").exists)
        os.kill(child.pid, signal.SIGKILL)
        await child.wait()
        await until(lambda: not any(temporary.iterdir()))

    asyncio.run(main())
    assert all(ends(int(pid), 5) for pid in (tmp_path / "pids").read_text().split())
