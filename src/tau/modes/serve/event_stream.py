"""Sends a session's events to one connection as server-sent events."""

import asyncio

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tau.base.tasks import spawn
from tau.modes.serve.event_ring import EventRing, StreamReader

PING_S = 10
PING = b": ping\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class EventStream(Response):
    """A response without an end. It starts after the event `after`, or with a reset if that is gone."""

    def __init__(self, ring: EventRing, after: str | None) -> None:
        super().__init__()
        self._ring = ring
        position = ring.next if after is None else ring.position_after(after)
        self._missed = position is None
        self._reader = StreamReader(ring.next if position is None else position)
        ring.readers.add(self._reader)  # now, so that the session is not closed before the first byte

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reader = self._reader
        task = asyncio.current_task()
        assert task is not None

        def cut() -> None:
            reader.ended = True
            task.cancel()

        try:
            async with asyncio.TaskGroup() as tasks:
                watch = spawn(tasks, _watch(receive, reader))
                reader.on_cut = cut
                await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                first = [b": connected\n\n"]
                if self._missed:
                    first.append(self._reset("Some events are gone; load the session again."))
                await _write(send, b"".join(first))
                await self._follow(send)
                watch.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except asyncio.CancelledError:
            if not reader.ended:
                raise
            task.uncancel()  # cut off: the connection is closed without an end of the response
        finally:
            self._ring.readers.discard(reader)

    async def _follow(self, send: Send) -> None:
        reader = self._reader
        while True:
            reader.wake.clear()
            data = self._ring.take(reader)
            if data is None:
                reader.position = self._ring.next
                data = self._reset("This connection was too slow; load the session again.")
            if not data and reader.ended:
                return
            if not data and reader.ping:
                data = PING
            if data:
                reader.ping = False
                await _write(send, data)
            else:
                await reader.wake.wait()

    def _reset(self, reason: str) -> bytes:
        return b'id: %b\ndata: {"type":"reset","reason":"%b"}\n\n' % (
            self._ring.last_id.encode(),
            reason.encode(),
        )


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _watch(receive: Receive, reader: StreamReader) -> None:
    """End the stream when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    reader.end()
