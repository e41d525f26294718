"""Looks up a host once and connects to the very address found, if it is a public one."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tau.backends.sandbox.network.targets import RefusedTargetError
from tau.base.sizes import KIB

BUFFER_BYTES = 64 * KIB
LOOKUP_S = 15.0
CONNECT_S = 15.0
MAX_ADDRESSES = 4  # that are tried in turn

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Lookup: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
Connect: TypeAlias = Callable[[str, int], Awaitable[Streams]]

# Not public although the `ipaddress` of some Python versions says so, or only meant for one's own cloud.
_MORE_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24"),
        *("198.18.0.0/15", "224.0.0.0/3", "::/8", "100::/64", "2001::/23", "2002::/16", "3fff::/20"),
        *("5f00::/16", "fc00::/7", "fe80::/9", "fec0::/10", "ff00::/8"),
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether this is an address on the internet: not private, local or multicast, nor one in disguise."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if address in _NAT64:
            address = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if any(address in network for network in _MORE_PRIVATE if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


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
