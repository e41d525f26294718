"""Matches the replies of the program to our requests."""

import asyncio
from typing import Generic, TypeVar

R = TypeVar("R")


class PendingReplies(Generic[R]):
    """Requests that wait for a reply, by id. A reply that nobody waits for is ignored."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._waiting: dict[str, asyncio.Future[R]] = {}

    def new_id(self) -> str:
        self._count += 1
        return f"{self._prefix}_{self._count}"

    async def wait(self, id: str) -> R:
        """The reply to the request that was just sent."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting[id] = future
        try:
            return await future
        finally:
            del self._waiting[id]

    def resolve(self, id: str, reply: R) -> None:
        future = self._waiting.get(id)
        if future is not None and not future.done():
            future.set_result(reply)
