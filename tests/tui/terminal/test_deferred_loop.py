"""A loop that comes later: earlier requests run once it is there, unless cancelled."""

import asyncio
import os

from tau.tui.terminal.deferred_loop import DeferredLoop


def test_calls_wait_for_the_loop_and_keep_their_order() -> None:
    late = DeferredLoop()
    called: list[str] = []
    late.call_soon(called.append, "first")
    late.call_soon(called.append, "second")
    late.call_soon(called.append, "never").cancel()
    later = late.call_later(60.0, called.append, "much later")

    async def main() -> None:
        late.attach(asyncio.get_running_loop())
        assert called == []
        late.call_soon(called.append, "third")
        await asyncio.sleep(0.01)
        later.cancel()

    asyncio.run(main())
    assert called == ["first", "second", "third"]


def test_reader_registered_early_reads_and_can_be_removed() -> None:
    late = DeferredLoop()
    ours, theirs = os.pipe()
    other, unread = os.pipe()
    received: list[bytes] = []
    late.add_reader(ours, lambda: received.append(os.read(ours, 100)))
    late.add_reader(other, lambda: received.append(b"unwanted"))
    assert late.remove_reader(other)
    os.write(theirs, b"typed before")
    os.write(unread, b"x")

    async def main() -> None:
        late.attach(asyncio.get_running_loop())
        for _ in range(20):
            await asyncio.sleep(0)
        assert received == [b"typed before"]
        assert late.remove_reader(ours) and not late.remove_reader(ours)

    asyncio.run(main())
    for fd in (ours, theirs, other, unread):
        os.close(fd)
