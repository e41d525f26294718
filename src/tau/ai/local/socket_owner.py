"""Finds out which user listens on a port of this machine, from the kernel's tables."""

import socket
import sys
from pathlib import Path

_TABLES = ((Path("/proc/net/tcp"), socket.AF_INET), (Path("/proc/net/tcp6"), socket.AF_INET6))
_LISTENING = "0A"


def socket_owner(host: str, port: int) -> int | None:
    """The user id of the listener at an address of this machine; None if it cannot be known.

    Several listeners of different users (one on the address, one on all addresses) give None, too.
    """
    wanted = _addresses(host)
    owners: set[int] = set()
    for table, family in _TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            fields = line.split()
            if len(fields) < 8 or fields[3] != _LISTENING:
                continue
            address, _, number = fields[1].partition(":")
            if int(number, 16) == port and _decode(address, family) in wanted:
                owners.add(int(fields[7]))
    return owners.pop() if len(owners) == 1 else None


def _addresses(host: str) -> set[bytes]:
    """The local addresses that can answer for a host, all of them as IPv6."""
    found = {_mapped(b"\0" * 4), b"\0" * 16}  # any address
    for text in ("127.0.0.1", "::1") if host == "localhost" else (host,):
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                packed = socket.inet_pton(family, text)
            except OSError:
                continue
            found.add(packed if len(packed) == 16 else _mapped(packed))
    return found


def _decode(address: str, family: socket.AddressFamily) -> bytes:
    """The kernel prints addresses as 32-bit words in the machine's byte order."""
    data = bytes.fromhex(address)
    if sys.byteorder == "little":
        data = b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))
    return data if family == socket.AF_INET6 else _mapped(data)


def _mapped(packed: bytes) -> bytes:
    return b"\0" * 10 + b"\xff\xff" + packed
