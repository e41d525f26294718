"""Reads the server name from the first message of a TLS connection."""

from msgspec import Struct

from tau.backends.sandbox.network.targets import RefusedTargetError
from tau.base.sizes import KIB

MAX_HELLO_BYTES = 32 * KIB
RECORD_HEADER_BYTES = 5
HANDSHAKE_RECORD = 22
_MAX_RECORD_BYTES = 16 * KIB + 256
_CLIENT_HELLO = 1
_SERVER_NAME, _ENCRYPTED_HELLO, _ENCRYPTED_NAME = 0, 0xFE0D, 0xFFCE
_NOT_TLS = "it is not a TLS connection"


class ClientHello(Struct, frozen=True):
    """`encrypted`: a second name is hidden in it (ECH, ESNI)."""

    server_name: str | None
    encrypted: bool


class _Bytes:
    """Takes parts off the front; a part that is missing refuses the connection."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise RefusedTargetError(_NOT_TLS)
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def block(self, size: int) -> "_Bytes":
        """A part that is preceded by its length."""
        return _Bytes(self.take(self.number(size)))


def read_client_hello(data: bytes) -> ClientHello | None:
    """None: more bytes are needed. Raises RefusedTargetError if this is no client's first message."""
    records = _Bytes(data)
    message = b""
    while records.left >= RECORD_HEADER_BYTES:
        kind, major, _ = records.take(3)
        size = records.number(2)
        if kind != HANDSHAKE_RECORD or major != 3 or not 0 < size <= _MAX_RECORD_BYTES:
            raise RefusedTargetError(_NOT_TLS)
        if size > records.left:
            break
        message += records.take(size)
        if message[0] != _CLIENT_HELLO:
            raise RefusedTargetError(_NOT_TLS)
        if len(message) >= 4 and len(message) - 4 >= int.from_bytes(message[1:4]):
            return _parse(_Bytes(message[4:]))
    if data and data[0] != HANDSHAKE_RECORD:
        raise RefusedTargetError(_NOT_TLS)
    if len(data) > MAX_HELLO_BYTES:
        raise RefusedTargetError("the first TLS message is too long")
    return None


def _parse(hello: _Bytes) -> ClientHello:
    hello.take(2 + 32)  # version, random
    hello.block(1)  # session id
    hello.block(2)  # cipher suites
    hello.block(1)  # compression
    names: list[str] = []
    encrypted = False
    extensions = hello.block(2) if hello.left else _Bytes(b"")
    while extensions.left:
        kind, body = extensions.number(2), extensions.block(2)
        if kind == _SERVER_NAME:
            names += _server_names(body)
        elif kind in (_ENCRYPTED_HELLO, _ENCRYPTED_NAME):
            encrypted = True
    if len(names) > 1:
        raise RefusedTargetError("the TLS connection names more than one server")
    return ClientHello(names[0] if names else None, encrypted)


def _server_names(body: _Bytes) -> list[str]:
    names = []
    listed = body.block(2)
    while listed.left:
        listed.take(1)  # the kind of name; there is only one
        names.append(listed.block(2).data.decode("ascii", "replace"))
    return names
