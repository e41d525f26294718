"""Reads web addresses strictly, and says which hosts and IP addresses may be fetched."""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from tau.ai.proxy import split_host
from tau.base.addresses import is_public
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import clean_line, shortened

parse = late("urllib.parse")
unicodedata = late("unicodedata")

MAX_URL_CHARS = 8_000
DEFAULT_PORTS = {"http": 80, "https": 443}
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NUMBER = r"\d+|0x[0-9a-f]*"  # as the last label, it makes the whole name an IP address for some programs


class WebError(ToolError):
    """A page cannot be fetched; `str(error)` says why."""


class WebUrl(Struct, frozen=True):
    """`host` is an ASCII name in lower case, or a canonical IP address; `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str
    fragment: str = ""

    @property
    def authority(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_web_url(text: str, base: WebUrl | None = None) -> WebUrl:
    """Raises WebError for what two programs could read differently."""
    text = text.strip().removeprefix("@")
    if len(text) > MAX_URL_CHARS:
        raise WebError(f"The address is longer than {MAX_URL_CHARS:,} characters.")
    if base is not None:
        try:
            text = parse.urljoin(f"{base}", text)
        except ValueError:
            raise _invalid(text, "it is malformed") from None
    elif text[:4].lower() == "www.":
        text = f"https://{text}"
    scheme, mark, rest = text.partition("://")
    scheme = scheme.lower()
    if not mark or scheme not in DEFAULT_PORTS:
        raise _invalid(text, "only http and https can be fetched")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    authority, (target, _, fragment) = rest[:end], rest[end:].partition("#")
    if "@" in authority:
        raise _invalid(text, "remove the user name")
    if authority.startswith("[") and authority.partition("]")[2][:1] not in ("", ":"):
        raise _invalid(text, "the host is not valid")
    name, port_text = split_host(authority)
    if authority.count(":") > 1 and not authority.startswith("["):
        raise _invalid(text, "write an IPv6 address in brackets")
    host = _parse_host(name, text, bracketed=authority.startswith("["))
    if port_text and not (port_text.isascii() and port_text.isdigit() and 0 < int(port_text[:6]) < 65_536):
        raise _invalid(text, "the port is not a number from 1 to 65535")
    target = parse.quote(target, safe="/?%:@!$&'()*+,;=-._~[]|")
    target = target if target.startswith("/") else f"/{target}"
    return WebUrl(scheme, host, int(port_text or DEFAULT_PORTS[scheme]), target, fragment)


def _parse_host(name: str, text: str, *, bracketed: bool) -> str:
    if bracketed:
        return _canonical(name, 6, text)
    if not name.isascii():
        try:
            name = unicodedata.normalize("NFKC", name).encode("idna").decode()
        except UnicodeError:
            raise _invalid(text, "the host is not a valid name") from None
    host = name.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(re.fullmatch(_LABEL, label) for label in labels):
        raise _invalid(text, "the host is not a valid name")
    return _canonical(host, 4, text) if re.fullmatch(_NUMBER, labels[-1]) else host


def _canonical(host: str, version: int, text: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is None or address.version != version or "%" in host:
        raise _invalid(text, "the IP address is not in its usual form")
    return str(address)


def _invalid(text: str, why: str) -> WebError:
    return WebError(f"Invalid web address {shortened(clean_line(text), 200)}: {why}.")


class AllowedHosts:
    """The private hosts that the user allows: names with wildcards, addresses or networks, with a port."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._entries = [entry.strip().lower() for entry in entries]
        self._granted: set[tuple[str, int]] = set()

    def grant(self, host: str, port: int) -> None:
        """Allow one for the rest of the session."""
        self._granted.add((host, port))

    def allows(self, host: str, port: int, addresses: Sequence[str] = ()) -> bool:
        """Whether a private host may be reached at these addresses."""
        if (host, port) in self._granted:
            return True
        return any(self._matches(entry, host, port, addresses) for entry in self._entries)

    def _matches(self, entry: str, host: str, port: int, addresses: Sequence[str]) -> bool:
        network, slash, bits = entry.partition("/")
        if slash and ":" in bits:
            bits, _, number = bits.partition(":")
        else:
            network, number = split_host(network)
        if number and number != str(port):
            return False
        if not network:
            return bool(number)
        try:
            block = ipaddress.ip_network(f"{network}/{bits}" if slash else network, strict=False)
        except ValueError:
            return not slash and fnmatchcase(host, network)
        found = [ipaddress.ip_address(one) for one in addresses if "%" not in one]
        return bool(found) and all(one.version == block.version and one in block for one in found)


def check_addresses(host: str, port: int, found: Sequence[str], allowed: AllowedHosts) -> None:
    """One private address spoils them all. Raises WebError."""
    if not all(map(is_public, found)) and not allowed.allows(host, port, found):
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise WebError(
            f"{where} leads to a private address, which is not fetched; the user can allow it: add"
            f' "{where}" to the setting fetch.allowPrivate.'
        )
