"""Parses URLs and picks the proxy from the environment."""

import socket
from base64 import b64encode
from collections.abc import Mapping

from msgspec import Struct

from tau.base import secrets
from tau.base.errors import ProviderError

LOOPBACK = "localhost 127.0.0.0/8 ::1"


class Url(Struct, frozen=True):
    """`target` is path and query; `credentials` come from before the @, encoded for a Basic header."""

    scheme: str
    host: str
    port: int
    target: str
    credentials: str

    @property
    def peer(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        return self.peer.removesuffix(":443" if self.scheme == "https" else ":80")


def parse_url(url: str) -> Url:
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    user, _, place = rest[:end].rpartition("@")
    target = rest[end:].partition("#")[0]
    host, port = split_host(place.lower())
    try:
        number = int(port or (443 if scheme == "https" else 80))
        login = _unquote(user)
        credentials = b64encode(login).decode()
    except ValueError:
        number, credentials = 0, ""
    if credentials:
        secrets.learn(login.partition(b":")[2].decode("utf-8", "replace"), credentials)
    text = host + target
    clean = text.isascii() and text.isprintable() and " " not in text
    named = all(0 < len(label) < 64 for label in host.removesuffix(".").split("."))
    if scheme not in ("http", "https") or not named or not 0 < number < 65_536 or not clean:
        path = target.partition("?")[0]
        shown = f"{scheme}://{place}{path}" if user or path != target else url  # never a password or a key
        raise ProviderError(f'Invalid URL "{shown}": use https://host:port/path.')
    return Url(scheme, host, number, target if target.startswith("/") else f"/{target}", credentials)


def _unquote(text: str) -> bytes:
    first, *others = text.split("%")
    return first.encode() + b"".join(bytes.fromhex(part[:2]) + part[2:].encode() for part in others)


def split_host(place: str) -> tuple[str, str]:
    """Host and port, each empty if missing; an IPv6 address with a port is in brackets."""
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = place.partition(":")
    return (place, "") if ":" in port else (host, port)


def is_loopback(url: Url) -> bool:
    """Whether a URL points to this machine, by address or as localhost."""
    return _is_exempt(url, LOOPBACK)


def proxy_for(url: Url, environ: Mapping[str, str]) -> Url | None:
    """Loopback never uses a proxy; lowercase variables win over uppercase ones."""

    def variable(name: str) -> str:
        return environ.get(name) or environ.get(name.upper()) or ""

    value = variable(f"{url.scheme}_proxy") or variable("all_proxy")
    if not value or is_loopback(url) or _is_exempt(url, variable("no_proxy")):
        return None
    scheme, mark, _ = value.partition("://")
    if mark and scheme.lower() not in ("http", "https"):
        raise ProviderError(
            f"{scheme}:// proxies are not supported: use http:// or https://, or exempt hosts."
        )
    return parse_url(value if mark else f"http://{value}")


def _is_exempt(url: Url, entries: str) -> bool:
    own = _packed(url.host)
    for entry in entries.lower().replace(",", " ").split():
        network, _, bits = entry.partition("/")
        host, port = split_host(network)
        packed = _packed(host)
        if own and packed and len(own) == len(packed):
            host_bits = len(own) * 8 - int(bits) if bits.isdigit() else 0
            same = int.from_bytes(own) >> max(host_bits, 0) == int.from_bytes(packed) >> max(host_bits, 0)
        else:
            suffix = host.removeprefix("*").removeprefix(".")
            same = entry == "*" or (suffix != "" and f".{url.host}".endswith(f".{suffix}"))
        if same and port in ("", str(url.port)):
            return True
    return False


def _packed(host: str) -> bytes:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_pton(family, host)
        except OSError:
            continue
    return b""
