"""The cost of 20 extensions: opening a session with and without, and events that handlers ignore.

.venv/bin/python bench/extensions.py
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tau.agent.events import MessageUpdate
from tau.ai.faux import Faux, Say
from tau.ai.stream_events import TextDelta
from tau.sdk import SessionOptions, create_session

CODE = '''
def extension(tau):
    @tau.tool(effects="none")
    def tool_{number}(text: str) -> str:
        """Return the text."""
        return text

    tau.command("command{number}", lambda args, ctx: None)
    tau.on("agent_end", lambda event, ctx: None)
'''
COUNT, ROUNDS, EVENTS = 20, 9, 20_000


async def opened_s(folder: Path, *names: str) -> float:
    began = time.process_time()
    options = SessionOptions(cwd=folder, save=False, stream=Faux([[Say("ok")]]).stream, extensions=names)
    async with create_session(options, {"TAU_HOME": str(folder / "home"), "HOME": str(folder)}):
        return time.process_time() - began


async def event_us(folder: Path, code: str) -> float:
    (folder / "idle.py").write_text(code)
    options = SessionOptions(cwd=folder, save=False, stream=Faux([[]]).stream, extensions=("idle.py",))
    async with create_session(options, {"TAU_HOME": str(folder / "home"), "HOME": str(folder)}) as session:
        event = MessageUpdate(TextDelta(0, "a"))
        began = time.process_time()
        for number in range(EVENTS):
            session.emit(event)
            if number % 100 == 0:
                await asyncio.sleep(0)
        assert session.extensions is not None
        await session.extensions.settle()
        return (time.process_time() - began) / EVENTS * 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = []
        for number in range(COUNT):
            (folder / f"e{number}.py").write_text(CODE.format(number=number))
            names.append(f"e{number}.py")
        asyncio.run(opened_s(folder, *names))  # imports
        bare = [asyncio.run(opened_s(folder)) * 1000 for _ in range(ROUNDS)]
        full = [asyncio.run(opened_s(folder, *names)) * 1000 for _ in range(ROUNDS)]
        none = asyncio.run(event_us(folder, "def extension(tau): pass\n"))
        idle = "def extension(tau):\n    tau.on('message_update', lambda event, ctx: None)\n"
        print(f"open a session: {statistics.median(bare):.1f} ms CPU")
        print(f"... with {COUNT} extensions: {statistics.median(full):.1f} ms CPU")
        print(
            f"an event without handlers: {none:.2f} us, with one that does nothing: "
            f"{asyncio.run(event_us(folder, idle)):.2f} us"
        )


if __name__ == "__main__":
    main()
