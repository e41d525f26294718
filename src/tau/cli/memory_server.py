"""`tau memory` with the memories on a Hindsight server."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.base.run import LocalRunner
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.parse import ParsedArgs
from tau.coding.doctor import DoctorCheck, DoctorInput
from tau.coding.memory.hindsight import HindsightMemory
from tau.config.layers import load_settings
from tau.config.paths import Paths
from tau.config.settings import HindsightSettings
from tau.modes.interactive.commands import server_memory
from tau.modes.output_stream import tell

ACTIONS = {"search": "view", "add": "", "stats": "stats", "doctor": "stats"}  # and what /memory calls them


def run(paths: Paths, cwd: Path, settings: HindsightSettings, parsed: ParsedArgs) -> int:
    """Raises TauError."""

    async def main() -> int:
        with closing(LocalRunner()) as runner:
            async with HindsightMemory(paths, cwd, settings, os.environ, runner) as memory:
                memory.queue.warn = tell
                return await _run(memory, parsed)

    return asyncio.run(main())


async def _run(memory: HindsightMemory, parsed: ParsedArgs) -> int:
    verb, words = (*parsed.words, "")[0], " ".join(parsed.words[1:])
    if verb not in ACTIONS or bool(words) != (verb in ("search", "add")):
        raise UsageError(
            f"Hindsight keeps the memories (memory.backend); tau memory has {', '.join(ACTIONS)} for them."
        )
    if verb == "add":
        await memory.retain([(words, "")])
        return write_stdout("1 memory queued.\n")
    if verb == "doctor":
        await memory.queue.flush()
    text = await server_memory.run_verb(memory, ACTIONS[verb], words)
    code = write_json(text.splitlines()) if parsed.has("json") else write_stdout(f"{text}\n")
    return code or int(text == server_memory.NOTHING)


async def check_memory(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    """A `CheckSource`: whether the Hindsight server answers, if memories are there."""
    settings = load_settings(given.paths, given.cwd).settings
    if settings.memory.backend != "hindsight":
        return
    around = (given.paths, given.cwd, settings.hindsight, given.environ, given.runner)
    async with HindsightMemory(*around) as memory:
        try:
            yield DoctorCheck(name="memory", status="ok", text="; ".join(await memory.describe()))
        except TauError as error:
            advice = "start the server, or fix hindsight.* in the settings"
            yield DoctorCheck(name="memory", status="fail", text=str(error), advice=advice)
