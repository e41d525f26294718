"""The client of a Hindsight server, which keeps memories in banks."""

import time
from asyncio import Lock, timeout
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from tau.ai.proxy import Url, is_loopback, parse_url
from tau.ai.transport import Timeouts, Transport
from tau.base import log, secrets
from tau.base.errors import ProviderError, TauError
from tau.base.sizes import MIB
from tau.base.text import clean_line, shortened

T = TypeVar("T")

ANSWER_S, CONNECT_S = 30.0, 5.0
MAX_ANSWER_BYTES = MIB
MAX_DETAIL_CHARS = 300
NOT_FOUND = 404
_REASONS = {401: "it rejects the key", 403: "it rejects the key", 429: "too many requests; try again later"}


class HindsightError(TauError):
    """`status` is 0 if there was no answer; `details` is what the server said."""

    def __init__(self, text: str, status: int = 0, details: str = "") -> None:
        super().__init__(text)
        self.status, self.details = status, details


class HindsightFact(Struct, frozen=True):
    """A memory that a search found."""

    text: str
    type: str | None = None
    mentioned_at: str | None = None


class MentalModel(Struct, frozen=True):
    """A summary that the server keeps up to date from its memories."""

    id: str
    name: str = ""
    content: str | None = None
    last_refreshed_at: str | None = None


class FoundFacts(Struct, frozen=True):
    results: list[HindsightFact] = []


class MentalModels(Struct, frozen=True):
    items: list[MentalModel] = []


class Reflection(Struct, frozen=True):
    text: str


class Bank(Struct, frozen=True):
    bank_id: str


class BankStats(Struct, frozen=True):
    total_nodes: int = 0
    pending_operations: int = 0
    failed_operations: int = 0


class HindsightClient:
    """Creates each bank before its first request, with `profile`. `find_key` returns None without a key."""

    def __init__(
        self,
        url: str,
        transport: Transport,
        find_key: Callable[[], Awaitable[str | None]],
        profile: Mapping[str, str],
        *,
        debug: bool = False,
    ) -> None:
        self.url = url.rstrip("/")
        self._transport = transport
        self._find_key = find_key
        self._profile = profile
        self._debug = debug
        self._banks: set[str] = set()
        self._creating = Lock()

    @property
    def place(self) -> Url:
        """Raises HindsightError."""
        try:
            return parse_url(self.url)
        except ProviderError as error:
            raise HindsightError(f"hindsight.apiUrl cannot be used: {error}") from None

    @property
    def host(self) -> str:
        try:
            return self.place.authority
        except HindsightError:
            return "?"

    async def close(self) -> None:
        await self._transport.close()

    async def ask(
        self,
        method: str,
        bank: str,
        path: str,
        answer: type[T],
        body: object = None,
        limit_s: float = ANSWER_S,
    ) -> T:
        """Send a request about a bank. Raises TauError."""
        async with self._creating:
            if bank not in self._banks:
                await self._request("PUT", bank, "", Bank, self._profile, limit_s)
                self._banks.add(bank)
        try:
            return await self._request(method, bank, path, answer, body, limit_s)
        except HindsightError as error:
            if error.status == NOT_FOUND:
                self._banks.discard(bank)  # deleted on the server: the next request creates it again
            raise

    async def _request(
        self, method: str, bank: str, path: str, answer: type[T], body: object, limit_s: float
    ) -> T:
        key = await self._check_key()
        headers = {"accept": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        data = None
        if body is not None:
            data = msgspec.json.encode(body)
            headers["content-type"] = "application/json"
        url = f"{self.url}/v1/default/banks/{quote(bank, safe='')}{path}"
        limits = Timeouts(connect=CONNECT_S, first_byte=limit_s, idle=limit_s)
        began = time.monotonic()
        status = 0
        try:
            async with (
                timeout(limit_s),
                self._transport.open(method, url, headers=headers, body=data, timeouts=limits) as response,
            ):
                status = response.status
                said = await response.read(MAX_ANSWER_BYTES + 1)
        except TimeoutError:
            raise HindsightError(
                f"The Hindsight server {self.host} did not answer within {limit_s:g} s."
            ) from None
        except ProviderError as error:
            raise HindsightError(f"The Hindsight server cannot be asked: {error}") from error
        finally:
            if self._debug:
                log.info(f"Hindsight: {method} {path} {status}, {time.monotonic() - began:.3f} s.")
        return self._decode(status, said, answer)

    async def _check_key(self) -> str | None:
        key = await self._find_key()
        place = self.place
        if (key or place.credentials) and place.scheme != "https" and not is_loopback(place):
            raise HindsightError(
                f"Your key for Hindsight was not sent to {place.host}, because http:// is not encrypted:"
                " use https:// in hindsight.apiUrl."
            )
        if key:
            secrets.learn(key)
        return key

    def _decode(self, status: int, said: bytes, answer: type[T]) -> T:
        if not 200 <= status < 300:
            details = _details(said)
            why = _REASONS.get(status) or shortened(details, MAX_DETAIL_CHARS) or "no reason given"
            text = f"The Hindsight server {self.host} refused the request with status {status}: {why}."
            raise HindsightError(text.replace("..", "."), status, details)
        if len(said) > MAX_ANSWER_BYTES:
            raise HindsightError(
                f"The Hindsight server {self.host} sent more than {MAX_ANSWER_BYTES // MIB} MiB.", status
            )
        try:
            return msgspec.json.decode(said, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            text = f"The Hindsight server {self.host} sent an answer that is not Hindsight's."
            raise HindsightError(text, status, clean_line(str(error))) from error


def _details(said: bytes) -> str:
    """What the server says is wrong, as one line: text, or a list with a message for each field."""
    found: Any = said[:MAX_ANSWER_BYTES].decode("utf-8", "replace")
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = msgspec.json.decode(said, type=dict[str, Any]).get("detail", found)
    if isinstance(found, list):
        rows = [each for each in found if isinstance(each, dict)]
        found = "; ".join(f"{'.'.join(map(str, row.get('loc') or ()))} {row.get('msg', '')}" for row in rows)
    return secrets.mask(clean_line(str(found))[: MAX_DETAIL_CHARS * 4])
