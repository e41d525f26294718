"""Makes a tool call in a folder, prints ids of processes that it left running, and waits to be killed.

Arguments: the folder, the tool, its arguments as JSON.
"""

import asyncio
import json
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
    call = Use(sys.argv[2], **json.loads(sys.argv[3]))
    faux = Faux([[call], [Say("ok")]])
    options = tau.SessionOptions(cwd=Path(sys.argv[1]), stream=faux.stream, save=False)
    async with tau.create_session(options) as session:
        await session.prompt("go")
        print(*children(), flush=True)
        await asyncio.sleep(3600)


asyncio.run(main())
