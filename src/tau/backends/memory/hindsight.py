"""The client of a Hindsight server, which keeps memories in banks."""

import time
from asyncio import Lock, timeout
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from tau.ai.proxy import is_loopback, parse_url
from tau.ai.transport import Transport
from tau.base import log, secrets
from tau.base.errors import ProviderError, TauError
from tau.base.sizes import MIB
from tau.base.text import clean_line, shortened

ANSWER_S = 30.0
MAX_ANSWER_BYTES = MIB
MAX_DETAIL_CHARS = 300
NOT_FOUND = 404
_REASONS = {401: "it rejects the key", 403: "it rejects the key", 429: "too many requests; try again later"}
_GARBLED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


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

    id: str = ""
    name: str = ""
    previous_content: str | None = None  # in the history
    content: str | None = None
    tags: list[str] | None = None


class HindsightAnswer(Struct, frozen=True):
    """What the routes answer that tau uses."""

    success: bool = False
    bank_id: str = ""
    results: list[HindsightFact] = []
    items: list[MentalModel] = []
    history: list[MentalModel] = []
    text: str = ""
    content: str | None = None
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
        debug: bool,
    ) -> None:
        """Raises ProviderError for an address that is none."""
        self.url = url.rstrip("/")
        self.place = parse_url(self.url)
        self.server = f"The Hindsight server {self.place.authority}"
        self.transport, self._find_key, self._profile, self._debug = transport, find_key, profile, debug
        self._banks: set[str] = set()
        self._creating = Lock()

    async def ask(
        self, method: str, bank: str, path: str, body: object = None, limit_s: float = ANSWER_S
    ) -> HindsightAnswer:
        """Send a request about a bank. Raises TauError."""
        async with self._creating:
            if bank not in self._banks:
                created = await self._request("PUT", bank, "", self._profile, limit_s)
                if not created.bank_id:
                    raise HindsightError(f"{self.server} sent an answer that is not Hindsight's.")
                self._banks.add(bank)
        try:
            return await self._request(method, bank, path, body, limit_s)
        except HindsightError as error:
            if error.status == NOT_FOUND:
                self._banks.discard(bank)  # deleted on the server: the next request creates it again
            raise

    async def _request(
        self, method: str, bank: str, path: str, body: object, limit_s: float
    ) -> HindsightAnswer:
        headers = {"content-type": "application/json", **await self._authorization()}
        data = None if body is None else msgspec.json.encode(body)
        url = f"{self.url}/v1/default/banks/{quote(bank, safe='')}{path}"
        status, began = 0, time.monotonic()
        try:
            async with (
                timeout(limit_s),
                self.transport.open(method, url, headers=headers, body=data) as response,
            ):
                status = response.status
                said = await response.read(MAX_ANSWER_BYTES + 1)
        except TimeoutError:
            raise HindsightError(f"{self.server} did not answer within {limit_s:g} s.") from None
        except ProviderError as error:
            raise HindsightError(f"The Hindsight server cannot be asked: {error}") from error
        finally:
            if self._debug:
                log.info(f"Hindsight: {method} {path} {status}, {time.monotonic() - began:.3f} s.")
        return self._decode(status, said)

    async def _authorization(self) -> dict[str, str]:
        key, place = await self._find_key(), self.place
        if (key or place.credentials) and place.scheme != "https" and not is_loopback(place):
            raise HindsightError(
                f"Your key for Hindsight was not sent to {place.host}, because http:// is not encrypted:"
                " use https:// in hindsight.apiUrl."
            )
        secrets.learn(key or "")
        return {"authorization": f"Bearer {key}"} if key else {}

    def _decode(self, status: int, said: bytes) -> HindsightAnswer:
        if not 200 <= status < 300:
            details = _details(said)
            why = (
                _REASONS.get(status) or shortened(details, MAX_DETAIL_CHARS).rstrip(".") or "no reason given"
            )
            raise HindsightError(f"{self.server} answered with status {status}: {why}.", status, details)
        if len(said) > MAX_ANSWER_BYTES:
            raise HindsightError(f"{self.server} sent more than {MAX_ANSWER_BYTES // MIB} MiB.", status)
        if said.startswith(b"["):  # only the history of a mental model is a list
            said = b'{"history":%b}' % said
        try:
            return msgspec.json.decode(said, type=HindsightAnswer)
        except _GARBLED as error:
            text = f"{self.server} sent an answer that is not Hindsight's."
            raise HindsightError(text, status, clean_line(str(error))) from error


def _details(said: bytes) -> str:
    """What the server says is wrong, as one line: its text, or JSON that lists the fields."""
    found: Any = said.decode("utf-8", "replace")
    with suppress(*_GARBLED):
        found = msgspec.json.decode(said, type=dict[str, Any]).get("detail", found)
    text = found if isinstance(found, str) else msgspec.json.encode(found).decode()
    return secrets.mask(clean_line(text[: MAX_DETAIL_CHARS * 4]))
