"""`tau memory` with the memories on a Hindsight server."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.base.run import LocalRunner
from tau.base.text import clean_line
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.parse import ParsedArgs
from tau.coding.doctor import DoctorCheck, DoctorInput
from tau.coding.memory.hindsight import HindsightMemory, open_hindsight
from tau.config.layers import load_settings
from tau.config.paths import Paths
from tau.config.settings import HindsightSettings
from tau.modes.output_stream import tell

ACTIONS = ("search", "add", "stats", "doctor")


def run(paths: Paths, cwd: Path, settings: HindsightSettings, parsed: ParsedArgs) -> int:
    """Raises TauError."""

    async def main() -> int:
        with closing(LocalRunner()) as runner:
            async with open_hindsight(paths, cwd, settings, os.environ, runner) as memory:
                memory.queue.warn = tell
                return await _run(memory, parsed)

    return asyncio.run(main())


async def _run(memory: HindsightMemory, parsed: ParsedArgs) -> int:
    match parsed.words:
        case ["search", *rest] if rest:
            rows = [row.text for row in await memory.find_rows(" ".join(rest))]
            if parsed.has("json"):
                return write_json(rows) or int(not rows)
            return write_stdout("\n".join(rows or ["No memories."]) + "\n") or int(not rows)
        case ["add", *rest] if rest:
            await memory.retain([(" ".join(rest), "")])
            return write_stdout("1 memory queued.\n")
        case ["stats"]:
            lines = await memory.describe()
            return write_json(lines) if parsed.has("json") else write_stdout("\n".join(lines) + "\n")
        case ["doctor"]:
            await memory.queue.flush()
            return write_stdout("\n".join([*await memory.describe(), "The server answers."]) + "\n")
    raise UsageError(
        f"Hindsight keeps the memories (memory.backend); tau memory has {', '.join(ACTIONS)} for them."
    )


async def check_memory(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    """A `CheckSource`: whether the Hindsight server answers, if memories are there."""
    settings = load_settings(given.paths, given.cwd).settings
    if settings.memory.backend != "hindsight":
        yield DoctorCheck(name="memory", status="ok", text=settings.memory.backend)
        return
    server = open_hindsight(given.paths, given.cwd, settings.hindsight, given.environ, given.runner)
    async with server as memory:
        try:
            yield DoctorCheck(name="memory", status="ok", text=clean_line("; ".join(await memory.describe())))
        except TauError as error:
            waiting = len(memory.queue.waiting())
            advice = f"start the server, or fix hindsight.* in settings; {waiting:,} memories wait for it"
            yield DoctorCheck(name="memory", status="fail", text=str(error), advice=advice)
