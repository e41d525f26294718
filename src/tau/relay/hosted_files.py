"""Files that a service fetches from us: each has an address that works once, for two minutes."""

import secrets
import time

from msgspec import Struct

from tau.base.sizes import MIB
from tau.relay.http_listener import HttpReply

HOSTED_S = 120
MAX_HOSTED_BYTES = 64 * MIB


class HostedFile(Struct, frozen=True):
    data: bytes
    type: str
    until: float


class HostedFiles:
    def __init__(self) -> None:
        self._by_id: dict[str, HostedFile] = {}

    def add(self, data: bytes, type: str) -> str:
        """Host a file; returns its id. The oldest ones make room."""
        now = time.monotonic()
        self._by_id = {id: one for id, one in self._by_id.items() if one.until > now}
        while self._by_id and sum(len(one.data) for one in self._by_id.values()) > MAX_HOSTED_BYTES - len(
            data
        ):
            del self._by_id[next(iter(self._by_id))]
        id = secrets.token_urlsafe(24)
        self._by_id[id] = HostedFile(data, type, now + HOSTED_S)
        return id

    def take(self, id: str, method: str) -> HttpReply:
        """The answer to a request for a file: GET ends its address."""
        found = self._by_id.get(id) if method == "HEAD" else self._by_id.pop(id, None)
        if method not in ("GET", "HEAD") or found is None:
            return HttpReply(404, b"Not found.")
        if found.until <= time.monotonic():
            return HttpReply(410, b"Expired.")
        return HttpReply(200, found.data, found.type)
