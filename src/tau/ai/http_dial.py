"""Finds the addresses of a server and connects to the first that answers."""

import asyncio
import socket
import threading
from asyncio.staggered import staggered_race
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Any, TypeAlias

NEXT_ADDRESS_S = 0.25  # how long one address may keep the next one waiting

Address: TypeAlias = tuple[int, int, int, str, Any]  # as getaddrinfo gives it


async def dial(host: str, port: int) -> socket.socket:
    """A connected socket. Raises OSError where no address answers."""
    addresses = await _addresses(host, port)
    if len(addresses) == 1:
        return await _connect(addresses[0])
    sock, _, errors = await staggered_race([partial(_connect, one) for one in addresses], NEXT_ADDRESS_S)
    if sock is None:
        raise next((error for error in errors if error is not None), OSError("no address answers"))
    connected: socket.socket = sock
    return connected


async def _addresses(host: str, port: int) -> Sequence[Address]:
    """Looked up in a thread for which nobody waits: a resolver that hangs must not hold the program's end."""
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    with suppress(socket.gaierror, UnicodeError):
        return look_up(flags=socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Sequence[Address]] = loop.create_future()

    def settle(addresses: Sequence[Address] | None, error: OSError | None) -> None:
        if found.done():  # nobody wants it any more
            return
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(addresses or [])

    def ask() -> None:
        addresses: Sequence[Address] | None = None
        error: OSError | None = None
        try:
            addresses = look_up()
        except OSError as caught:
            error = caught
        except UnicodeError:
            error = socket.gaierror(socket.EAI_NONAME, "no such name can exist")
        with suppress(RuntimeError):  # the loop is closed: the program has gone on without us
            loop.call_soon_threadsafe(settle, addresses, error)

    threading.Thread(target=ask, name="look-up", daemon=True).start()
    return _alternating(await found)


def _alternating(addresses: Sequence[Address]) -> Sequence[Address]:
    """One of each family in turn, so that a family that leads nowhere costs one wait only."""
    families: dict[int, list[Address]] = {}
    for address in addresses:
        families.setdefault(address[0], []).append(address)
    return [address for turn in zip_longest(*families.values()) for address in turn if address is not None]


async def _connect(address: Address) -> socket.socket:
    family, kind, protocol, _, place = address
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, place)
    except BaseException:
        sock.close()
        raise
    return sock
