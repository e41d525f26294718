"""Weeks of a relay leave its memory, descriptors and journal as they were."""

import asyncio
import gc
from pathlib import Path

import pytest

from tau.base import clock
from tau.relay.heartbeat import Heartbeats
from tests.relay.chat import Chat
from tests.support.soak import is_soaking

# The journal keeps a week; the number of its pages settles in another one.
DAYS, SETTLED, DAY_MS = 30, 20, 24 * 3600 * 1000
MEMORY_PAGES = 1024  # 4 MiB


def test_weeks_leave_memory_descriptors_and_journal_flat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = 50 if is_soaking() else 1
    chat, passed_ms, real = Chat(tmp_path / "r"), 0, clock.time.time_ns

    def used() -> tuple[int, int, int]:
        gc.collect()
        memory = int(Path("/proc/self/statm").read_text().split()[1])
        return memory, len(list(Path("/proc/self/fd").iterdir())), chat.home.journal.stat().st_size

    async def main() -> None:
        nonlocal passed_ms
        async with chat.running() as relay:
            count = 0
            for day in range(DAYS):
                for number in range(messages):
                    chat.send(f"day {day}", f"chat {number % 5}")
                    count += 1
                    await chat.channel.wait(count)
                if (answer := await Heartbeats(relay).beat("memory:chat 0")) is not None:
                    count += len(answer.texts)
                await relay.journal.prune()
                if day == SETTLED:
                    before = used()
                passed_ms += DAY_MS
            after = used()
        assert after[0] <= before[0] + MEMORY_PAGES
        assert after[1:] == before[1:]

    monkeypatch.setattr("tau.base.clock.time.time_ns", lambda: real() + passed_ms * 1_000_000)
    asyncio.run(main())
