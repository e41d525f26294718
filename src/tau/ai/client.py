"""Sends requests to model servers: finds the key and the dialect, and detects stalled answers."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec

from tau.ai.apis import dialect
from tau.ai.auth import Credentials
from tau.ai.dialect import Delta, Endpoint, Request, Tokens
from tau.ai.model import Model
from tau.ai.proxy import is_loopback, parse_url
from tau.ai.stall_watch import watched
from tau.ai.transport import Timeouts, Transport
from tau.base.errors import ProviderError
from tau.base.late import late

context_check = late("tau.ai.local.context_check")


MAX_KEYS = 16  # to try for one request


class Client:
    """The agent loop calls `stream`. A failed key is replaced by another one if there is one.

    `warn` reports that, and a local server that reads less than it was sent: such servers silently drop the
    start of a prompt that is too long.
    """

    def __init__(self, http: Transport, credentials: Credentials, timeouts: Timeouts | None = None) -> None:
        self._http = http
        self._credentials = credentials
        self._timeouts = timeouts or Timeouts()
        self._compared = 0
        self.warn: Callable[[str], None] = lambda warning: None

    async def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        key = await self._credentials.get(model.provider)
        tried: list[str] = []
        renewed = False
        while True:
            begun = False
            try:
                async with aclosing(self._attempt(model, request, key)) as deltas:
                    async for delta in deltas:
                        begun = True
                        yield delta
                return
            except ProviderError as error:
                if key is None or not error.blames_key or len(tried) >= MAX_KEYS:
                    raise
                renew = error.status == 401 and not renewed
                renewed = renewed or renew
                other = await self._other_key(model.provider, key, error, renew=renew)
                if other is None or other in tried:
                    raise
                if begun:  # streamed output cannot be undone here; the next attempt has the other key
                    raise ProviderError(str(error), status=error.status, retryable=True) from error
                tried.append(key)
                key = other

    async def _other_key(self, provider: str, key: str, error: ProviderError, *, renew: bool) -> str | None:
        """A key to continue with now. If all are blocked, the error says when the first is free.

        With `renew`, the key is looked up again first: it may have been replaced.
        """
        if renew:
            renewed = await self._credentials.refresh(provider, key)
            if renewed not in (None, key):
                return renewed
        wait_s = error.retry_after
        turn = await self._credentials.rotate(provider, key, refused=error.key_refused, wait_s=wait_s)
        if turn.key is not None:
            why = "rejects the current key" if error.key_refused else "rate-limits the current key"
            self.warn(f"{provider} {why}; switching to another one from auth.json.")
        elif turn.wait_s is not None:
            raise ProviderError(
                str(error), status=error.status, retryable=True, retry_after=turn.wait_s
            ) from error
        return turn.key

    async def _attempt(self, model: Model, request: Request, key: str | None) -> AsyncGenerator[Delta, None]:
        endpoint = Endpoint(base_url=model.base_url, key=key, headers=model.headers)
        # Comparing costs as much as sending, so do it only when the conversation has doubled.
        compare = len(request.messages) >= 2 * self._compared and is_loopback(parse_url(model.base_url))
        read_tokens: int | None = None
        limits = self._timeouts
        deltas = dialect(model.api)(model, request, endpoint, self._http)
        moving = watched(deltas, first_s=limits.first_byte, idle_s=limits.idle, what=model.key)
        async with aclosing(moving):
            async for delta in moving:
                if compare and isinstance(delta, Tokens) and delta.input is not None:
                    read_tokens = delta.input + (delta.cache_read or 0)
                yield delta
        if compare:
            self._compared = len(request.messages)
            self._compare(model, request, read_tokens)

    def _compare(self, model: Model, request: Request, read_tokens: int | None) -> None:
        sent = msgspec.json.encode((request.system, request.messages, request.tools), enc_hook=str)
        if b'"type":"image"' in sent:
            return  # an image's bytes say nothing about its tokens
        warning = context_check.context_warning(model.context_window, len(sent) // 4, read_tokens)
        if warning is not None:
            self.warn(warning)
