"""Debugs a program in the folder of its argument, prints ids of processes, and waits to be killed."""

import asyncio
import os
import sys
from pathlib import Path

import tau
from tau.ai.faux import Faux, Say, Use


def children() -> set[int]:
    """All processes below this one."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


async def main() -> None:
    call = Use("debug", action="launch", program="main.py", args=["loop"], file="main.py", line=14)
    faux = Faux([[call], [Say("ok")]])
    options = tau.SessionOptions(cwd=Path(sys.argv[1]), stream=faux.stream, save=False)
    async with tau.create_session(options) as session:
        await session.prompt("go")
        print(*children(), flush=True)
        await asyncio.sleep(3600)


asyncio.run(main())
