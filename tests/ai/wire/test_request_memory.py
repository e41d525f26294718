"""How long a request stays in memory."""

import asyncio
import tracemalloc
from contextlib import aclosing
from pathlib import Path

import msgspec

import tau
from tau.ai import dialect as d
from tau.ai.apis import dialect
from tau.ai.http import HttpTransport
from tau.ai.wire import UserMessage
from tests.ai.dialect_client import HELLO, model
from tests.ai.wire.test_every_byte import EVERY
from tests.support.fake_answers import Answer, Text
from tests.support.fake_dialects import Dialect
from tests.support.fake_server import FakeServer

OURS = tracemalloc.Filter(True, f"{Path(tau.__file__).parent}/*")
HISTORY = [UserMessage(f"Message {number}. " + "word " * 20, 1) for number in range(1_000)]


@EVERY
def test_long_conversation_is_not_held_while_its_answer_arrives(spoken: Dialect) -> None:
    speaker = model(spoken.name)

    async def held_bytes(url: str, request: d.Request) -> int:
        http, endpoint = HttpTransport({}), d.Endpoint(base_url=url, key="key-1")
        async with aclosing(dialect(speaker.api)(speaker, request, endpoint, http)) as deltas:
            await anext(delta async for delta in deltas if isinstance(delta, d.TextPiece))
            snapshot = await asyncio.to_thread(tracemalloc.take_snapshot)
        await http.close()
        return sum(trace.size for trace in snapshot.filter_traces([OURS]).traces)

    with FakeServer() as server:
        server.script(Answer((Text("Well, well.", deltas=2),)))
        tracemalloc.start()
        try:
            short = asyncio.run(held_bytes(server.url, HELLO))
            long = asyncio.run(held_bytes(server.url, msgspec.structs.replace(HELLO, messages=HISTORY)))
        finally:
            tracemalloc.stop()
        assert len(server.requests[1].raw) > 100_000
    assert long - short < 25_000
