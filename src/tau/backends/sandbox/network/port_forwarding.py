"""Ports that servers in a sandbox listen on, and forwarding them to this machine."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from tau.backends.sandbox.network.addresses import BUFFER_BYTES
from tau.backends.sandbox.network.streams import splice
from tau.base.errors import UsageError
from tau.base.tasks import spawn
from tau.base.text import clean_line

MAX_FORWARDS = 20
MAX_CONNECTIONS = 200
IDLE_S = 24 * 3600.0
CONNECT_S = 10.0
LOOPBACK = "127.0.0.1"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = "0A"
_ROW = re.compile(r"\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) .*")

ReadTables: TypeAlias = Callable[[], Awaitable[str]]
MakeSocket: TypeAlias = Callable[[str], Awaitable[socket.socket]]


class ListeningPort(Struct, frozen=True):
    """`address` is where a client inside connects to; `program` is empty if it is not known."""

    port: int
    address: str
    program: str = ""


def parse_tables(text: str) -> list[tuple[int, str, str]]:
    """The port, address and inode of each listening socket, from the kernel's tables, by port."""
    found: dict[int, tuple[int, str, str]] = {}
    for line in text.splitlines():
        match = _ROW.fullmatch(line)
        if match is None or match[3] != _LISTENING:
            continue
        port = int(match[2], 16)
        address = _reachable(match[1])
        if port not in found or ":" in found[port][1]:
            found[port] = (port, address, line.split()[9])
    return [found[port] for port in sorted(found)]


def _reachable(text: str) -> str:
    """The kernel prints words of four bytes in the machine's order."""
    data = b"".join(bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    if len(data) == 4:
        ipv4 = IPv4Address(data)
        return LOOPBACK if ipv4.is_unspecified else str(ipv4)
    ipv6 = IPv6Address(data)
    if ipv6.ipv4_mapped is not None:
        return str(ipv6.ipv4_mapped)
    return "::1" if ipv6.is_unspecified else str(ipv6)


def find_programs(inodes: Iterable[str]) -> dict[str, str]:
    """The names of our programs that hold these sockets; their numbers are unique on a machine."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    names: dict[str, str] = {}
    for process in Path("/proc").iterdir() if wanted else ():
        if not process.name.isdigit():
            continue
        with suppress(OSError):
            for entry in (process / "fd").iterdir():
                with suppress(OSError):
                    inode = wanted.get(str(entry.readlink()))
                    if inode is not None:
                        names[inode] = clean_line((process / "comm").read_text(errors="replace"))
        if len(names) == len(wanted):
            break
    return names


class SandboxPorts:
    """Its tasks belong to `group`; `close` ends all forwards. `hidden` are ports of tau's own."""

    def __init__(
        self,
        group: asyncio.TaskGroup,
        read_tables: ReadTables,
        make_socket: MakeSocket,
        hidden: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        self._group = group
        self._read_tables = read_tables
        self._make_socket = make_socket
        self._hidden = hidden
        self._forwards: dict[int, _Forward] = {}

    def close(self) -> None:
        for port in tuple(self._forwards):
            self.stop(port)

    async def list(self) -> list[ListeningPort]:
        rows = parse_tables(await self._read_tables())
        hidden = set(self._hidden())
        programs = await asyncio.to_thread(find_programs, [inode for _, _, inode in rows])
        return [
            ListeningPort(port, address, programs.get(inode, ""))
            for port, address, inode in rows
            if port not in hidden
        ]

    def forwarded(self, port: int) -> int | None:
        """The port of this machine that leads there."""
        forward = self._forwards.get(port)
        return None if forward is None else forward.port

    async def forward(self, port: int) -> int:
        """Forward a port until the session ends, to the same port here if it is free. Raises UsageError."""
        if (there := self.forwarded(port)) is not None:
            return there
        if len(self._forwards) >= MAX_FORWARDS:
            raise UsageError(f"{MAX_FORWARDS} ports are forwarded already; stop one first.")
        found = next((each for each in await self.list() if each.port == port), None)
        if found is None:
            raise UsageError(f"Nothing in the sandbox listens on port {port}.")
        forward = _Forward(self._group, found, self._make_socket)
        await forward.open()
        self._forwards[port] = forward
        return forward.port

    def stop(self, port: int) -> bool:
        """False if it was not forwarded."""
        forward = self._forwards.pop(port, None)
        if forward is not None:
            forward.close()
        return forward is not None


class _Forward:
    def __init__(self, group: asyncio.TaskGroup, target: ListeningPort, make_socket: MakeSocket) -> None:
        self._group = group
        self._target = target
        self._make_socket = make_socket
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> None:
        try:
            self._server = await asyncio.start_server(self._accept, LOOPBACK, self._target.port)
        except OSError:
            self._server = await asyncio.start_server(self._accept, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= MAX_CONNECTIONS:
            writer.close()
            return
        task = spawn(self._group, self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inside = await self._make_socket(self._target.address)
            try:
                async with asyncio.timeout(CONNECT_S):
                    loop = asyncio.get_running_loop()
                    await loop.sock_connect(inside, (self._target.address, self._target.port))
                there = await asyncio.open_connection(sock=inside, limit=BUFFER_BYTES)
            except BaseException:
                inside.close()
                raise
            try:
                await splice((reader, writer), there, IDLE_S)
            finally:
                there[1].close()
        except OSError:
            pass  # the server inside is gone
        finally:
            writer.close()
