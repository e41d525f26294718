"""Looks up a host once and connects to the very address found, if it is a public one."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tau.backends.sandbox.network.targets import RefusedTargetError
from tau.base.addresses import is_public
from tau.base.sizes import KIB

BUFFER_BYTES = 64 * KIB
LOOKUP_S = 15.0
CONNECT_S = 15.0
MAX_ADDRESSES = 4  # that are tried in turn

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Lookup: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
Connect: TypeAlias = Callable[[str, int], Awaitable[Streams]]


async def look_up(host: str) -> Sequence[str]:
    """The addresses of a name, from the system's resolver."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(LOOKUP_S):
            found = await loop.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        raise RefusedTargetError("the host was not found") from None
    return list(dict.fromkeys(str(row[4][0]) for row in found))


async def connect_to(address: str, port: int) -> Streams:
    """Connect to an address, unless it turns out to be one of this machine's own. Raises OSError."""
    reader, writer = await asyncio.open_connection(address, port, limit=BUFFER_BYTES)
    own, peer = writer.get_extra_info("sockname"), writer.get_extra_info("peername")
    if own[0] == peer[0]:
        writer.transport.abort()
        raise RefusedTargetError("the host is this machine")
    return reader, writer


async def reach(host: str, port: int, look_up: Lookup, connect: Connect) -> Streams:
    """Look `host` up, check what was found and connect to it. One private address spoils them all."""
    found = [host] if ":" in host or host.replace(".", "").isdigit() else list(await look_up(host))
    if not found:
        raise RefusedTargetError("the host was not found")
    if not all(map(is_public, found)):
        raise RefusedTargetError("the host leads to an address that is not public")
    for address in found[:MAX_ADDRESSES]:
        try:
            async with asyncio.timeout(CONNECT_S):
                return await connect(address, port)
        except (OSError, TimeoutError):
            continue
    raise ConnectionError(f"{host} did not accept the connection")
