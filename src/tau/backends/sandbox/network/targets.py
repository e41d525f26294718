"""Reads the host and port a client asks for. Whatever two programs could read differently is refused."""

import ipaddress
import re

from msgspec import Struct

from tau.base.late import late

idna = late("encodings.idna")

MAX_HOST_CHARS = 253
MAX_PORT = 65_535
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NUMBER = r"\d+|0x[0-9a-f]*"  # as the last label, it makes the whole name an IP address for some programs
# Names that mean this machine or its own network.
_LOCAL_ENDINGS = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "localdomain")


class RefusedTargetError(Exception):
    """The connection is not made; the reason is a sentence without its period."""


class Target(Struct, frozen=True):
    """`host` is a lower-case name or a canonical IP address."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_address(self) -> bool:
        return ":" in self.host or re.fullmatch(r"[\d.]+", self.host) is not None


def parse_authority(text: str, default_port: int | None = None, *, local: bool = False) -> Target:
    """Read `host:port`, `[address]:port`, or `host` where there is a default port."""
    if "@" in text:
        raise RefusedTargetError("the address contains a user name")
    match = re.fullmatch(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?", text)
    if match is None:
        raise RefusedTargetError("the address is not HOST:PORT")
    port = default_port if match["port"] is None else int(match["port"])
    if port is None:
        raise RefusedTargetError("the address has no port")
    if not 1 <= port <= MAX_PORT:
        raise RefusedTargetError("there is no such port")
    host = match["host"]
    if host.startswith("["):
        return Target(parse_address(host[1:-1], 6), port)
    return Target(parse_host(host, local=local), port)


def parse_host(text: str, *, local: bool = False) -> str:
    """Return the name in lower case, or the canonical IPv4 address. `local` names may be accepted."""
    host = text.lower() if text.isascii() else ""
    if not host:
        raise RefusedTargetError("the host is not a plain ASCII name" if text else "the host is empty")
    labels = host.split(".")
    if len(host) > MAX_HOST_CHARS or not all(re.fullmatch(_LABEL, label) for label in labels):
        raise RefusedTargetError("the host is not a valid name")
    if re.fullmatch(_NUMBER, labels[-1]):
        return parse_address(host, 4)
    if not local and (len(labels) == 1 or labels[-1] in _LOCAL_ENDINGS):
        raise RefusedTargetError("the host is a name of this machine or its own network")
    for label in labels:
        if label.startswith("xn--") and not _is_encoded(label):
            raise RefusedTargetError("the host is not a valid international name")
    return host


def parse_address(text: str, version: int) -> str:
    """Only the canonical spelling: no octal, hexadecimal or short forms, no zones."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise RefusedTargetError("the IP address is not in its usual form") from None
    if address.version != version or str(address) != text.lower():
        raise RefusedTargetError("the IP address is not in its usual form")
    return str(address)


def _is_encoded(label: str) -> bool:
    """Whether it encodes a name that is not ASCII, and is that name's only spelling."""
    try:
        name = label[4:].encode().decode("punycode")
        return not name.isascii() and idna.ToASCII(idna.nameprep(name)).decode().lower() == label
    except UnicodeError:
        return False
