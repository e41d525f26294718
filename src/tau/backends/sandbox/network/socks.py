"""The SOCKS5 handshake: no authentication, CONNECT only, names or addresses."""

import asyncio
import ipaddress

from tau.backends.sandbox.network.targets import RefusedTargetError, Target, parse_address, parse_host

VERSION = 5
SUCCEEDED, NOT_ALLOWED, UNREACHABLE, NO_SUCH_COMMAND = 0, 2, 4, 7
_NO_AUTHENTICATION, _NO_METHOD = 0, 0xFF
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4


def socks_reply(code: int) -> bytes:
    """An answer that names no address of ours."""
    return bytes((VERSION, code, 0, _IPV4)) + bytes(6)


async def read_socks_target(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Target:
    """Read what the client wants, after its version byte. Raises RefusedTargetError, EOFError, OSError."""
    methods = await reader.readexactly((await reader.readexactly(1))[0])
    if _NO_AUTHENTICATION not in methods:
        writer.write(bytes((VERSION, _NO_METHOD)))
        raise ConnectionError("the client wants to log in")
    writer.write(bytes((VERSION, _NO_AUTHENTICATION)))
    await writer.drain()
    version, command, _, kind = await reader.readexactly(4)
    if version != VERSION or command != _CONNECT:
        writer.write(socks_reply(NO_SUCH_COMMAND))
        raise ConnectionError("the client wants something other than to connect")
    host = await _read_host(reader, kind)
    port = int.from_bytes(await reader.readexactly(2))
    if not port:
        raise RefusedTargetError("there is no such port")
    return Target(host, port)


async def _read_host(reader: asyncio.StreamReader, kind: int) -> str:
    if kind == _NAME:
        name = await reader.readexactly((await reader.readexactly(1))[0])
        text = name.decode("latin-1")
        return parse_address(text, 6) if ":" in text else parse_host(text)
    if kind in (_IPV4, _IPV6):
        data = await reader.readexactly(4 if kind == _IPV4 else 16)
        return str(ipaddress.ip_address(data))
    raise RefusedTargetError("the kind of address is unknown")
