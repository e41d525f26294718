"""Remembers answered requests by their Idempotency-Key, so that a repeated one changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from tau.modes.serve.errors import HttpError, invalid

MAX_ANSWERS = 1_000
MAX_KEY_CHARS = 200


class _Answered(Struct, frozen=True):
    request: Any
    result: asyncio.Future[Any]


class AnsweredRequests:
    """The latest answers. A request that failed may be repeated under its key."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], _Answered] = {}

    async def once(self, session: str, key: str, request: Any, run: Callable[[], Awaitable[Any]]) -> Any:
        """Run it, unless the same request under the same key has run or is running."""
        if not key:
            return await run()
        if len(key) > MAX_KEY_CHARS:
            raise invalid(f"The Idempotency-Key is longer than {MAX_KEY_CHARS} characters.")
        place = (session, key)
        if (earlier := self._answers.get(place)) is not None:
            if earlier.request != request:
                raise HttpError(
                    409,
                    "idempotency_mismatch",
                    "The Idempotency-Key was used for another request; use a new one.",
                )
            return await asyncio.shield(earlier.result)
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[place] = _Answered(request, result)
        if len(self._answers) > MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]
        try:
            value = await run()
        except BaseException as error:
            self._answers.pop(place, None)
            result.set_exception(error)
            result.exception()  # nobody may be waiting for it
            raise
        result.set_result(value)
        return value
