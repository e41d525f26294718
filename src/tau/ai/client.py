"""Sends a request to the model's server: finds the key and the dialect, and watches that the answer moves."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from tau.ai.apis import dialect
from tau.ai.auth import Credentials
from tau.ai.dialect import Delta, Endpoint, Request
from tau.ai.model import Model
from tau.ai.transport import Timeouts, Transport
from tau.ai.watch import watched
from tau.base.errors import ProviderError


class Client:
    """`stream` is what the loop calls. A refused key is looked up once more: it may have been replaced meanwhile."""

    def __init__(self, http: Transport, credentials: Credentials, timeouts: Timeouts | None = None) -> None:
        self._http = http
        self._credentials = credentials
        self._timeouts = timeouts or Timeouts()

    async def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        key = await self._credentials.get(model.provider)
        try:
            async with aclosing(self._attempt(model, request, key)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        except ProviderError as error:
            if error.status != 401 or key is None:
                raise
            other = await self._credentials.refresh(model.provider, key)
            if other is None or other == key:
                raise
        async with aclosing(self._attempt(model, request, other)) as deltas:
            async for delta in deltas:
                yield delta

    async def _attempt(self, model: Model, request: Request, key: str | None) -> AsyncGenerator[Delta, None]:
        endpoint = Endpoint(base_url=model.base_url, key=key, headers=model.headers)
        deltas = dialect(model.api)(model, request, endpoint, self._http)
        async with aclosing(deltas):
            async for delta in watched(
                deltas,
                first_s=self._timeouts.first_byte,
                idle_s=self._timeouts.idle,
                what=model.key,
            ):
                yield delta
