"""Connections to a real sshd: kept, shared, closed; commands that end on the remote side too."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tau.backends.ssh.connections import Connections
from tau.backends.ssh.hosts import SshHost
from tau.base.errors import ToolError
from tau.base.run import Exit, Limits, LocalRunner
from tests.backends.ssh.loopback import Server, running_sshd
from tests.support.limits import HANG_S, growing


@pytest.fixture(scope="module")
def sshd() -> Iterator[Server]:
    with running_sshd() as server:
        yield server


@pytest.fixture
def server(sshd: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("PATH", f"{sshd.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(sshd.tmp))
    return sshd


@asynccontextmanager
async def connected(folder: Path, *, idle_s: float = 60) -> AsyncIterator[Connections]:
    runner = LocalRunner()
    try:
        async with Connections(runner, cache=folder / "cache", idle_s=idle_s) as connections:
            yield connections
    finally:
        runner.close()


async def done(
    connections: Connections,
    host: SshHost,
    command: str,
    *,
    cwd: str | None = None,
    limits: Limits | None = None,
) -> tuple[str, Exit]:
    async with connections.start(host, command, cwd=cwd, limits=limits) as running:
        output = b""
        while chunk := await running.read():
            output += chunk
        return output.decode(), await running.wait()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while not condition():  # noqa: ASYNC110 - processes and files do not notify
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def sockets(server: Server) -> list[Path]:
    return list(server.tmp.glob("tau-ssh-*/*"))


def test_command_runs_in_the_users_shell_with_both_channels_in_order(server: Server, tmp_path: Path) -> None:
    text = "echo one; echo two >&2; echo three; pwd; printf '%s' \"it's a\\\\b\"; cat; exit 3"

    async def main() -> None:
        async with connected(tmp_path) as connections:
            output, exited = await done(connections, server.host(), text, cwd="/usr")
            assert output == "one\ntwo\nthree\n/usr\nit's a\\b"
            assert exited == Exit(code=3)

    asyncio.run(main())


def test_host_is_probed_once_and_the_answer_cached(server: Server, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path) as connections:
            assert connections.known(server.host()) is None
            info = await connections.info(server.host())
            assert info.kind == "posix" and info.shell
        async with connected(tmp_path) as connections:
            assert connections.known(server.host()) == info

    asyncio.run(main())


def test_commands_share_one_connection_that_ends_with_the_session(server: Server, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path) as connections:
            outputs = await asyncio.gather(
                *(done(connections, server.host(), "echo $SSH_CONNECTION") for _ in range(5))
            )
            # The start files of the login shell may complain before it.
            assert len({output.splitlines()[-1] for output, _ in outputs}) == 1
            assert len(sockets(server)) == 1
        assert list(server.tmp.iterdir()) == []

    asyncio.run(main())


def test_idle_connection_closes_and_the_next_command_reconnects(server: Server, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path, idle_s=0.2) as connections:
            first, _ = await done(connections, server.host(), "sleep 0.4; echo $SSH_CONNECTION")
            await until(lambda: not sockets(server))
            second, _ = await done(connections, server.host(), "echo $SSH_CONNECTION")
            assert first and second and first != second

    asyncio.run(main())


def test_broken_connection_is_reopened(server: Server, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path) as connections:
            login, _ = await done(connections, server.host(), "ps -o ppid= -p $PPID")
            async with connections.start(server.host(), "echo $$; sleep 600") as running:
                pid = int(await running.read())
                os.kill(int(login), signal.SIGKILL)  # the sshd that serves this connection
                while await running.read():
                    pass
                await running.wait()
                assert running.lost
            output, exited = await done(connections, server.host(), "echo again")
            assert (output, exited.code) == ("again\n", 0)
            await until(lambda: not alive(pid))

    asyncio.run(main())


def test_leaving_early_kills_the_remote_command_and_its_children(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    text = (
        f"sleep 300 & echo $! > {file}; (trap '' TERM; sleep 301 & wait) & echo $! >> {file}; echo up; wait"
    )

    async def main() -> None:
        async with connected(tmp_path) as connections:
            async with connections.start(server.host(), text) as running:
                assert await running.read() == b"up\n"
            pids = [int(line) for line in file.read_text().split()]
            assert len(pids) == 2
            await until(lambda: not any(alive(pid) for pid in pids))

    asyncio.run(main())


def test_time_limit_kills_the_remote_command(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def main() -> None:
        async with connected(tmp_path) as connections:
            await connections.info(server.host())
            for limit_s in growing(1.5):
                output, exited = await done(
                    connections,
                    server.host(),
                    f"echo $$ > {file}; echo begun; sleep 300",
                    limits=Limits(timeout=limit_s),
                )
                if output:
                    break
            assert output == "begun\n" and exited.timed_out
            pid = int(file.read_text())
            await until(lambda: not alive(pid))

    asyncio.run(main())


def test_remote_command_ends_when_we_vanish(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def main() -> None:
        async with (
            connected(tmp_path) as connections,
            connections.start(server.host(), f"echo $$ > {file}; echo begun; sleep 300") as running,
        ):
            assert await running.read() == b"begun\n"
            for entry in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    words = entry.read_bytes()
                    if b"exec sh" in words and str(server.key).encode() in words:
                        os.kill(int(entry.parent.name), signal.SIGKILL)
            pid = int(file.read_text())
            await until(lambda: not alive(pid))

    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc to find the process in")
    asyncio.run(main())


def test_background_process_does_not_block_the_call_and_lives_on(server: Server, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path) as connections:
            output, exited = await done(connections, server.host(), "sleep 300 & echo $!")
            assert exited == Exit(code=0)
            pid = int(output)
            assert alive(pid)
            assert await done(connections, server.host(), f"kill {pid}") == ("", Exit(code=0))
            await until(lambda: not alive(pid))

    asyncio.run(main())


def test_missing_folder_runs_nothing(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "made"

    async def main() -> None:
        async with connected(tmp_path) as connections:
            command = f"false; touch {file}"
            async with connections.start(server.host(), command, cwd="/nowhere") as running:
                assert await running.read() == b""
                await running.wait()
                assert running.folder_missing and not running.lost
            home, _ = await done(connections, server.host(), "pwd", cwd="~")
            assert home == (await done(connections, server.host(), "pwd"))[0]

    asyncio.run(main())
    assert not file.exists()


def test_without_room_for_a_socket_each_command_connects_separately(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.backends.ssh.connections.MAX_SOCKET_BYTES", 10)

    async def main() -> None:
        async with connected(tmp_path) as connections:
            assert await done(connections, server.host(), "echo hi; exit 2") == ("hi\n", Exit(code=2))
            with pytest.raises(ToolError, match="Permission denied"):
                await done(connections, server.host("other", key=None, user="nobody-here"), "true")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"port": 1}, "Connection refused"),
        ({"user": "nobody-here"}, "Permission denied"),
        ({"key": Path("/nowhere/key")}, "does not exist"),
    ],
)
def test_unreachable_host_is_one_clear_sentence(
    server: Server, tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    async def main() -> None:
        async with connected(tmp_path) as connections:
            with pytest.raises(ToolError) as caught:
                await done(connections, server.host(**fields), "true")
            text = str(caught.value)
            assert message in text and "\n" not in text and '"box"' in text

    asyncio.run(main())


def test_host_with_a_changed_key_is_refused(server: Server, tmp_path: Path) -> None:
    known = server.folder / "known_hosts"
    content = known.read_text()
    other = (server.folder / "user_key.pub").read_text().split()
    known.write_text(f"[127.0.0.1]:{server.port} {other[0]} {other[1]}\n")

    async def main() -> None:
        async with connected(tmp_path) as connections:
            with pytest.raises(ToolError, match=r"(?i)host key") as caught:
                await done(connections, server.host(), "true")
            text = str(caught.value)
            assert "@@" not in text and "\n" not in text
            assert f"{known}:1" in text and "ssh-keygen" in text and "SHA256:" in text

    try:
        asyncio.run(main())
    finally:
        known.write_text(content)


def test_missing_ssh_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    async def main() -> None:
        async with connected(tmp_path) as connections:
            with pytest.raises(ToolError, match="install OpenSSH"):
                await connections.info(SshHost(name="box", address="127.0.0.1"))

    asyncio.run(main())
