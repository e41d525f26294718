"""Reads the head of an HTTP/1 request strictly: what servers could read differently is refused."""

import re

from msgspec import Struct

from tau.backends.sandbox.network.targets import RefusedTargetError, Target, parse_authority
from tau.base.sizes import KIB

MAX_HEAD_BYTES = 64 * KIB
END_OF_HEAD = b"\r\n\r\n"
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = rb"(?P<method>" + _TOKEN + rb") (?P<target>[\x21-\x7e]+) HTTP/1\.(?P<minor>[01])"
_FIELD = rb"(?P<name>" + _TOKEN + rb"):[ \t]*(?P<value>[\t\x20-\x7e\x80-\xff]*)"
_URL = r"(?i:http)://(?P<authority>[^/?#]*)(?P<path>[/?][^#]*)?"
_HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "upgrade", "http2-settings", "host", "transfer-encoding", "content-length"),
    )
)


class BadRequestError(Exception):
    """The request cannot be read; says why."""


class RequestHead(Struct, frozen=True):
    method: str
    target: str
    fields: tuple[tuple[str, bytes], ...]

    def values(self, name: str) -> list[str]:
        return [value.decode("latin-1") for own, value in self.fields if own.lower() == name]


class WebRequest(Struct, frozen=True):
    """A request to be sent on: `head` in the form for a server. `body_bytes` is None for a chunked body."""

    target: Target
    head: bytes
    body_bytes: int | None


def parse_head(data: bytes) -> RequestHead:
    """Parse everything up to and including the empty line."""
    first, *lines = data.removesuffix(END_OF_HEAD).split(b"\r\n")
    request = re.fullmatch(_REQUEST_LINE, first)
    if request is None:
        raise BadRequestError("the request line is not HTTP/1")
    fields = []
    for line in lines:
        field = re.fullmatch(_FIELD, line)
        if field is None:
            raise BadRequestError("a header line is malformed")
        fields.append((field["name"].decode(), field["value"].rstrip(b" \t")))
    return RequestHead(request["method"].decode(), request["target"].decode(), tuple(fields))


def read_proxy_request(head: RequestHead, *, local: bool = False) -> WebRequest:
    """A request for a proxy, with the whole URL."""
    match = re.fullmatch(_URL, head.target)
    if match is None:
        if "://" in head.target:
            raise RefusedTargetError("only http URLs and CONNECT are proxied")
        raise BadRequestError("this is a proxy: requests need a whole URL")
    target = parse_authority(match["authority"], 80, local=local)
    return _web_request(head, target, match["path"] or "/")


def read_tunneled_request(head: RequestHead, target: Target) -> WebRequest:
    """A request for a server, within a tunnel to it."""
    if head.method == "CONNECT" or not head.target.startswith("/"):
        raise RefusedTargetError("the request in the tunnel asks for another proxy")
    return _web_request(head, target, head.target)


def _web_request(head: RequestHead, target: Target, path: str) -> WebRequest:
    """The Host header must name the target; exactly one request goes on."""
    hosts = head.values("host")
    if len(hosts) > 1:
        raise BadRequestError("there is more than one Host header")
    if hosts and parse_authority(hosts[0], 80, local=True) != target:
        raise RefusedTargetError("the Host header names another host")
    body_bytes = _body_bytes(head)
    path = path if path.startswith("/") else f"/{path}"
    authority = str(target).removesuffix(":80")
    lines = [f"{head.method} {path} HTTP/1.1".encode(), f"Host: {authority}".encode()]
    named = {name.strip().lower() for value in head.values("connection") for name in value.split(",")}
    lines += [
        f"{name}: ".encode() + value
        for name, value in head.fields
        if name.lower() not in _HOP_BY_HOP and name.lower() not in named
    ]
    if body_bytes is None:
        lines.append(b"Transfer-Encoding: chunked")
    elif body_bytes or head.values("content-length"):
        lines.append(f"Content-Length: {body_bytes}".encode())
    lines.append(b"Connection: close")
    return WebRequest(target, b"\r\n".join(lines) + END_OF_HEAD, body_bytes)


def _body_bytes(head: RequestHead) -> int | None:
    lengths, codings = head.values("content-length"), head.values("transfer-encoding")
    if codings:
        if lengths or len(codings) > 1 or codings[0].lower() != "chunked":
            raise BadRequestError("the length of the body is ambiguous")
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or re.fullmatch(r"[0-9]{1,18}", lengths[0]) is None:
        raise BadRequestError("the length of the body is ambiguous")
    return int(lengths[0])
