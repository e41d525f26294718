"""What a persistent shell leaves behind: no files, tasks, processes or secrets."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tau.backends.shell.session import ShellSession
from tests.backends.shell.shell_rig import done, in_session, is_alive, session_in, until


def leftovers(temporary: Path) -> tuple[int, int, int]:
    """How many open files, temporary files and tasks there are."""
    folder = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    return len(list(folder.iterdir())), len(list(temporary.rglob("*"))), len(asyncio.all_tasks())


async def steady_leftovers(temporary: Path) -> tuple[int, int, int]:
    """The same, once cleanup has finished."""
    found = leftovers(temporary)
    while True:
        await asyncio.sleep(0.03)
        before, found = found, leftovers(temporary)
        if found == before:
            return found


async def many(session: ShellSession, count: int, temporary: Path) -> None:
    options: list[dict[str, Any]] = [{}, {}, {}, {"fresh": True}, {"beside": True}]
    commands = [
        "echo x",
        "x=$((x+1))",
        "exit 3",
        "sleep 0.01 & echo bg",
        "yes | head -c 200000",
        "echo 'open",
    ]
    await done(session, "true")
    await done(session, "true", fresh=True)
    before = await steady_leftovers(temporary)
    for n in range(count):
        await done(session, commands[n % len(commands)], **options[n % len(options)])
    await done(session, "true")
    await until(lambda: leftovers(temporary) == before)
    assert await steady_leftovers(temporary) == before


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.soak)])
def test_many_commands_leave_no_file_task_or_process_behind(tmp_path: Path, count: int) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    os.environ["TMPDIR"] = str(temporary)

    async def main() -> None:
        before = leftovers(temporary)
        async with session_in(tmp_path) as session:
            await many(session, count, temporary)
        assert leftovers(temporary) == before

    asyncio.run(main())
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_secret_in_the_environment_reaches_no_file_and_no_command_line(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    os.environ |= {"TMPDIR": str(temporary), "SERVICE_KEY": "hush-hush-1"}

    async def body(session: ShellSession) -> None:
        secret = {"CALL_KEY": "hush-hush-2"}
        await done(session, "export OWN_KEY=hush-$((1))-hush-3; f() { :; }", env=secret)
        running = await session.start("echo ready; sleep 999", env=secret, beside=True)
        async with running.process as process:
            assert await anext(process.output()) == b"ready\n"
            for file in temporary.rglob("*"):
                assert not file.is_file() or "hush" not in file.read_text()
            lines = []
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):  # processes of others end meanwhile
                    lines += [file.read_bytes()] if is_alive(int(file.parent.name)) else []
            assert lines and not any(b"hush" in line for line in lines)
            await process.kill()
        found = await done(session, "echo $SERVICE_KEY $OWN_KEY -$CALL_KEY-", beside=True)
        assert found.text == "hush-1-hush-3 --\n"  # nor is it inherited

    in_session(tmp_path, body)
