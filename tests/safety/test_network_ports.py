"""Ports of a sandbox: which there are, and how the person reaches them."""

import asyncio
import socket
from pathlib import Path

import pytest

from tau.backends.sandbox.network.port_forwarding import TABLES, SandboxPorts, find_programs, parse_tables
from tau.base.errors import UsageError
from tests.support.limits import HANG_S

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
REST = "00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000 0 {inode} 1 0000 100 0\n"


def row(local: str, inode: int, state: str = "0A") -> str:
    return f"   0: {local} " + REST.format(state=state, inode=inode)


def test_listening_sockets_are_read_from_the_kernels_tables() -> None:
    text = HEAD
    text += row("0100007F:0BB8", 11)  # 127.0.0.1:3000
    text += row("00000000:1F90", 12)  # any:8080
    text += row("0100007F:D431", 13, "01")  # a connection
    text += HEAD
    text += row("00000000000000000000000001000000:1389", 14)  # [::1]:5001
    text += row("00000000000000000000000000000000:1F90", 15)  # any again
    text += row("0000000000000000FFFF00000100007F:1770", 16)  # mapped 127.0.0.1:6000
    assert parse_tables(text + "nonsense\n") == [
        (3000, "127.0.0.1", "11"),
        (5001, "::1", "14"),
        (6000, "127.0.0.1", "16"),
        (8080, "127.0.0.1", "12"),
    ]


async def own_tables() -> str:
    return "".join(Path(table).read_text() for table in TABLES if Path(table).exists())


async def own_socket(address: str) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    made.setblocking(False)
    return made


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read(100))
    writer.close()


async def ask(port: int, text: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    async with asyncio.timeout(HANG_S):
        answer = await reader.read()
    writer.close()
    return answer


def test_a_port_is_forwarded_to_loopback_until_it_is_stopped() -> None:
    async def main() -> None:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            inside = server.sockets[0].getsockname()[1]
            async with asyncio.TaskGroup() as group:
                ports = SandboxPorts(group, own_tables, own_socket)
                assert inside in [each.port for each in await ports.list()]
                assert ports.forwarded(inside) is None
                # The same port is taken here, by the server itself.
                here = await ports.forward(inside)
                assert here != inside
                assert await ports.forward(inside) == here
                assert await ask(here, b"hello") == b"hello"
                assert ports.stop(inside)
                assert not ports.stop(inside)
                with pytest.raises(ConnectionError):
                    await ask(here, b"hello")
                again = await ports.forward(inside)
                assert await ask(again, b"more") == b"more"
                ports.close()
            with pytest.raises(ConnectionError):
                await ask(again, b"hello")

    asyncio.run(main())


def test_a_port_nobody_listens_on_and_a_hidden_one_are_not_forwarded() -> None:
    async def main() -> None:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with asyncio.TaskGroup() as group:
                ports = SandboxPorts(group, own_tables, own_socket, lambda: [port])
                assert port not in [each.port for each in await ports.list()]
                with pytest.raises(UsageError, match=f"Nothing in the sandbox listens on port {port}"):
                    await ports.forward(port)

    asyncio.run(main())


def test_the_program_behind_a_port_is_named() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    tables = "".join(Path(table).read_text() for table in TABLES if Path(table).exists())
    inode = next(number for own, _, number in parse_tables(tables) if own == port)
    assert find_programs([inode]) == {inode: Path("/proc/self/comm").read_text().strip()}
    assert find_programs([]) == {}
    listener.close()
