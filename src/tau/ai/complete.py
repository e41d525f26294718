"""One request and its whole answer, for side requests that are not displayed."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from tau.ai.assembler import Assembler
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage
from tau.base.clock import now_ms
from tau.base.errors import ProviderError


async def complete(
    stream: Callable[[Model, Request], AsyncGenerator[Delta, None]], model: Model, request: Request
) -> AssistantMessage:
    """Raises ProviderError if the request fails."""
    assembler = Assembler(model, now_ms())
    async with aclosing(stream(model, request)) as deltas:
        async for delta in deltas:
            assembler.feed(delta)
    if assembler.done is None:
        raise ProviderError("The answer is incomplete.", retryable=True)
    return assembler.message(assembler.done.reason)
