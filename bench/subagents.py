"""What many subagents cost: memory, descriptors, delays of the event loop, CPU against plain sessions.

.venv/bin/python bench/subagents.py [COUNT]
"""

import asyncio
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tau.ai.faux import Say, Use
from tau.coding.task.ports import TaskOrder
from tests.coding.task.play import Answer, Play, session_of, yielded

AT_ONCE = 32


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


async def watch_loop(worst: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        worst[0] = max(worst[0], time.perf_counter() - began - 0.005)


async def agents(folder: Path, count: int) -> dict[str, float]:
    play = Play([[Say("ok")]], lambda assignment, turn: yielded("done"))
    settings = {"task.maxAgents": 0, "task.maxConcurrency": AT_ONCE}
    worst = [0.0]
    async with session_of(play, folder, settings=settings) as session:
        assert session.team is not None
        team = session.team()
        watcher = asyncio.ensure_future(watch_loop(worst))
        await asyncio.gather(*(team.run(TaskOrder(agent="task", text="work"), "") for _ in range(100)))
        play.requests.clear()
        play.agent_requests.clear()
        gc.collect()
        after_100, open_100 = resident_mib(), descriptors()
        began = time.process_time()
        await asyncio.sleep(0.1)  # the watcher notices the collection above
        worst[0] = 0.0
        for _ in range(0, count - 100, 100):
            await asyncio.gather(*(team.run(TaskOrder(agent="task", text="work"), "") for _ in range(100)))
        cpu = (time.process_time() - began) / max(count - 100, 1)
        play.requests.clear()  # the script's own record
        play.agent_requests.clear()
        gc.collect()
        watcher.cancel()
        return {
            "MiB more after the first 100": resident_mib() - after_100,
            "descriptors more": descriptors() - open_100,
            "longest delay of the loop, ms": worst[0] * 1000,
            "CPU ms per agent": cpu * 1000,
        }


async def plain(folder: Path, count: int, *answers: Answer) -> float:
    """The same prompts as plain sessions."""
    began = time.process_time()
    for _ in range(count):
        play = Play(answers, lambda assignment, turn: yielded("done"))
        async with session_of(play, folder) as session:
            await session.prompt("work")
    return (time.process_time() - began) / count * 1000


def main() -> None:
    gc.freeze()  # as tau does once it has started
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = os.environ["TAU_HOME"] = home
        folder = Path(home) / "work"
        folder.mkdir()
        for name, value in asyncio.run(agents(folder, count)).items():
            print(f"{name}: {value:.1f}")
        answer, call = [Say("done")], [Use("find", paths=["nothing"])]
        print(f"CPU ms per plain session: {asyncio.run(plain(folder, 100, answer)):.1f}")
        print(f"CPU ms per plain session with a call: {asyncio.run(plain(folder, 100, call, answer)):.1f}")


if __name__ == "__main__":
    main()
