"""A program for child processes: a rule interrupts an answer, and tau is killed at each point of that.

`rule_kill_points.py FOLDER COUNT MODE` works like `kill_points.py`; MODE is the `ttsr.contextMode`.
"""

import asyncio
import signal
import sys
from pathlib import Path

import msgspec

from tau.ai.faux import FauxStep, Say, Use
from tau.coding.rules.rule import make_rule
from tau.coding.session.storage.log import SessionLog
from tests.coding.session.rig import QUICK_RETRIES, scripted
from tests.faults.kill_points import Victim, in_child

RULE = make_rule("no-print", "Use the logger.", {"condition": r"print\(", "scope": "tool:write(*.py)"})


def wrong(path: str) -> list[list[FauxStep]]:
    """The model breaks the rule, obeys it, and ends."""
    return [
        [Use("write", path=path, content="x\nprint(1)\n")],
        [Use("write", path=path, content="log(1)\n")],
        [Say("done")],
    ]


def live(folder: Path, last: int, mode: str) -> int:
    folder.mkdir()
    victim = Victim(folder, last)
    victim.watch(SessionLog, "append")
    victim.watch(SessionLog, "append_message")

    async def play() -> None:
        settings = {**QUICK_RETRIES, "ttsr.contextMode": mode}
        opening, _ = scripted(wrong("a.py"), folder, rules=(RULE,), settings=settings)
        async with opening as session:
            session.subscribe(victim.on_event)
            await session.prompt("go")

    asyncio.run(play())
    return victim.count


def main() -> None:
    folder, wanted, mode = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    total = in_child(lambda: live(folder / "0", 0, mode))
    assert total > 0
    points = range(1, total + 1, 1 if wanted == "all" else max(total // int(wanted), 1))
    for point in points:
        assert in_child(lambda point=point: live(folder / str(point), point, mode)) in (
            -signal.SIGKILL,
            total,
        )
    print(msgspec.json.encode([0, *points]).decode())


if __name__ == "__main__":
    main()
