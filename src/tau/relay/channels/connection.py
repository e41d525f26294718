"""What channels over a network share: their inbox, secrets, waits, and checked downloads."""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urljoin, urlsplit

from tau.ai.auth import resolve_value
from tau.ai.http import HttpTransport
from tau.ai.http_connect import CA_VARIABLES, dial, dial_addresses, look_up
from tau.ai.transport import Timeouts
from tau.base import secrets
from tau.base.addresses import is_public
from tau.base.errors import ConfigError, ProviderError
from tau.base.files import write_atomic
from tau.base.run import LocalRunner
from tau.base.sizes import MIB
from tau.relay.channels.channel import ChannelRejected
from tau.relay.media import CAPS_MB, DOCUMENT_MB, EXTENSIONS, media_type
from tau.relay.message import ChatFile
from tau.relay.settings import ReconnectSettings

T = TypeVar("T")
MAX_INBOX = 10_000
DOWNLOAD_S = 60
MAX_REDIRECTS = 4
TIMEOUTS = Timeouts(connect=15, first_byte=30, idle=30)


class Inbox(Generic[T]):
    """Items that a library pushes and one reader takes. `close` ends the reader."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[T | None] = asyncio.Queue(MAX_INBOX)

    def put(self, item: T) -> bool:
        """Whether there was room."""
        if self._queue.full():
            return False
        self._queue.put_nowait(item)
        return True

    def close(self) -> None:
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    @property
    def size(self) -> int:
        return self._queue.qsize()

    async def items(self) -> AsyncIterator[T]:
        while (item := await self._queue.get()) is not None:
            yield item


class Backoff:
    """Waits between attempts to connect, as `web.reconnect` says; a long connection starts over."""

    def __init__(self, settings: ReconnectSettings, good_s: float) -> None:
        self._settings = settings
        self._good_s = good_s
        self._attempts = 0

    def next_s(self, uptime_s: float) -> float | None:
        """The wait before the next attempt; None after the last one."""
        one = self._settings
        self._attempts = 1 if uptime_s > self._good_s else self._attempts + 1
        if one.max_attempts and self._attempts > one.max_attempts:
            return None
        grown = max(250, one.initial_ms) * one.factor ** (self._attempts - 1)
        return min(one.max_ms, grown * (1 + one.jitter * random.random())) / 1000


async def secret(value: str, key: str, runner: LocalRunner, *, optional: bool = False) -> str:
    """A configured secret, which logs mask from now on. Raises ConfigError if there is none."""
    found = await resolve_value(value, os.environ, runner) or ""
    if not found and not optional:
        raise ConfigError(f"{key} is not set: {value} has no value." if value else f"{key} is not set.")
    secrets.learn(found)
    return found


def origin(url: str) -> tuple[str, int]:
    place = urlsplit(url)
    return place.hostname or "", place.port or (443 if place.scheme == "https" else 80)


def http_client(may_dial: Callable[[str, int], bool], ca_file: str = "") -> HttpTransport:
    """A client for addresses that strangers send: it connects to public ones and those of `may_dial`."""

    async def dial_checked(host: str, port: int) -> socket.socket:
        if may_dial(host, port):
            return await dial(host, port)
        addresses = await look_up(host, port)
        if not addresses or not all(is_public(str(one[4][0])) for one in addresses):
            raise OSError("the address is in a private network")
        return await dial_addresses(addresses)

    environ = {name: value for name, value in os.environ.items() if name in CA_VARIABLES}
    if ca_file:
        environ["TAU_CA_FILE"] = ca_file
    return HttpTransport(environ, TIMEOUTS, dial=dial_checked)


class Downloads:
    """Fetches files of messages into a folder, within the limits for their type."""

    def __init__(self, folder: Path, http: HttpTransport) -> None:
        self._folder = folder
        self._http = http

    async def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> ChatFile:
        """Raises ChannelRejected with the reason. `headers` go to the first address only."""
        try:
            async with asyncio.timeout(DOWNLOAD_S):
                for _ in range(MAX_REDIRECTS):
                    if not url.startswith(("https://", "http://")):
                        raise ChannelRejected("it is not an HTTP address")
                    async with self._http.open("GET", url, headers=headers) as response:
                        if response.status in (301, 302, 303, 307, 308):
                            url, headers = urljoin(url, response.headers.get("location", "")), None
                            continue
                        if response.status != 200:
                            raise ChannelRejected(f"the server answered {response.status}")
                        data = await response.read(DOCUMENT_MB * MIB + 1)
                    return self.keep(data, url.partition("?")[0].rpartition("/")[2])
        except (OSError, ProviderError, ValueError) as error:  # TimeoutError is an OSError
            raise ChannelRejected(str(error) or "it took too long") from None
        raise ChannelRejected("it redirects too often")

    def keep(self, data: bytes, name: str = "") -> ChatFile:
        """Store what a channel has fetched itself. Raises ChannelRejected."""
        type = media_type(data[:512], name)
        cap_mb = CAPS_MB.get(type.partition("/")[0], DOCUMENT_MB)
        if len(data) > cap_mb * MIB:
            raise ChannelRejected(f"it is larger than {cap_mb} MB")
        path = self._folder / f"{os.urandom(12).hex()}{EXTENSIONS.get(type, '.bin')}"
        try:
            write_atomic(path, data, mode=0o600)
        except OSError as error:
            raise ChannelRejected(f"it cannot be stored: {error.strerror}") from None
        return ChatFile(str(path), type)
