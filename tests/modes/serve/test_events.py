"""Event streams: resumed without loss or repetition, reset if something is gone, cut if too slow."""

import asyncio
from pathlib import Path

import pytest

from tau.ai.faux import Act, Say
from tau.modes.serve import event_ring
from tau.modes.serve.event_ring import EventRing, StreamReader
from tests.modes.serve.rig import Served, drive, read_head

READERS, EVENTS, DROPS = 20, 1_000, 5


def test_every_reader_gets_every_event_once_in_order_although_connections_drop(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        ring = served.pool.live[id].ring
        start = ring.last_id

        async def read() -> list[int]:
            seen: list[int] = []
            last = ""
            for part in range(DROPS + 1):
                async with served.client.events(id, start if not last else "", last) as events:
                    until = EVENTS * (part + 1) // (DROPS + 1)
                    while len(seen) < until:
                        event = await events.next()
                        assert event is not None
                        seen.append(event.data["n"])
                        last = event.id
            return seen

        async def write() -> None:
            for number in range(EVENTS):
                ring.append(b'{"type":"n","n":%d}\n' % number)
                if number % 10 == 0:
                    await asyncio.sleep(0)

        _, *found = await asyncio.gather(write(), *(read() for _ in range(READERS)))
        assert found == [list(range(EVENTS))] * READERS

    drive(tmp_path, [], work)


def test_new_reader_in_mid_answer_gets_its_beginning_and_then_the_rest(tmp_path: Path) -> None:
    shown = asyncio.Event()

    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as events:
            await served.command(id, "prompt", {"message": "count"})
            await events.until("message_update")
            view = (await served.client.get(f"/v1/sessions/{id}?messages=10")).json
            async with served.client.events(id, view["lastEventId"]) as late:
                shown.set()
                rest = await late.until("agent_settled")
        text = "".join(one["text"] for one in view["streaming"]["content"])
        assert text.startswith("0 1 2")
        for event in rest:
            update = event.data.get("assistantMessageEvent", {})
            text += update.get("delta", "") if update.get("type") == "text_delta" else ""
        assert text == " ".join(map(str, range(200)))

    numbers = [" ".join(map(str, range(100))), " " + " ".join(map(str, range(100, 200)))]
    drive(tmp_path, [[Say(numbers[0], 50), Act(shown.wait), Say(numbers[1], 50)]], work)


@pytest.mark.parametrize("last", ["0000-5", "x", "-", "{epoch}-999999", "{epoch}--1", "{epoch}-1e3"])
def test_unknown_event_id_gets_one_reset_and_then_new_events(last: str, tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        ring = served.pool.live[id].ring
        async with served.client.events(id, last=last.format(epoch=ring.epoch)) as events:
            reset = await events.next()
            assert reset is not None and reset.type == "reset"
            await served.command(id, "set_session_name", {"name": "x"})
            assert "reset" not in [one.type for one in await events.until("session_info_changed")]
        async with served.client.events(id, last=reset.id) as events:
            event = await events.next()
            assert event is not None and event.type != "reset"

    drive(tmp_path, [], work)


def test_reader_that_does_not_read_is_cut_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_ring, "MAX_LAG_BYTES", 2**19)
    monkeypatch.setattr(event_ring, "_CHECK_BYTES", 2**16)
    line = b'{"type":"big","text":"' + b"x" * 2**14 + b'"}\n'

    async def work(served: Served) -> None:
        id = await served.session()
        ring = served.pool.live[id].ring
        path = f"/v1/sessions/{id}/events?after={ring.last_id}"
        reader, writer = await served.client.open("GET", path, None)
        await read_head(reader)
        writer.transport.pause_reading()
        written = 0
        while ring.readers:
            ring.append(line)
            written += 1
            assert written < 5_000, "The reader was not cut."
            await asyncio.sleep(0)
        writer.close()
        last = ring.last_id
        ring.append(line)
        async with served.client.events(id, last=last) as events:
            event = await events.next()
            assert event is not None and event.type == "big"

    drive(tmp_path, [], work)


def test_ring_drops_the_oldest_events_and_reports_a_gap() -> None:
    async def main() -> None:
        ring = EventRing()
        reader = StreamReader(ring.next)
        first = ring.last_id
        for number in range(event_ring.MAX_EVENTS + 10):
            ring.append(b'{"n":%d}' % number)
        assert ring.position_after(first) is None
        assert ring.take(reader) is None
        assert ring.position_after(ring.last_id) == ring.next
        big = b'{"text":"' + b"x" * 2**20 + b'"}'
        for _ in range(40):
            ring.append(big)
        assert event_ring.MAX_BYTES // 2 < sum(map(len, ring._frames)) <= event_ring.MAX_BYTES

    asyncio.run(main())


def test_quiet_stream_is_pinged(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        reader, writer = await served.client.open("GET", f"/v1/sessions/{id}/events", None)
        head = await reader.readuntil(b": connected\n\n")
        assert b"x-accel-buffering: no" in head and b"cache-control: no-store, no-transform" in head
        served.pool.live[id].ring.ping()
        await reader.readuntil(b": ping\n\n")
        writer.close()

    drive(tmp_path, [], work)


def test_streams_end_when_the_server_stops(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        id = await served.session()
        async with served.client.events(id) as events:
            served.server.stop()
            assert await events.next() is None

    drive(tmp_path, [[Say("ok")]], work)
