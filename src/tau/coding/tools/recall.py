"""recall: searches the project's long-term memory."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.memory.model import fence_memories
from tau.coding.memory.port import Memory
from tau.coding.ports import CodingContext

NONE = "No relevant memories found."
NO_BACKEND = "Long-term memory is off in this session (memory.backend)."


class RecallParams(Struct, frozen=True):
    query: Annotated[str, Meta(description="What to look for, in natural language", min_length=1)]


class Recall(Tool[RecallParams]):
    name, label = "recall", "Recall"

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory

    def effects(self, params: RecallParams, cwd: Path) -> Effects:
        return Effects(network=self._memory.hosts if self._memory else ())

    async def run(self, params: RecallParams, ctx: CodingContext) -> ToolOutput:
        rows = await opened(self._memory).find_rows(params.query, scored=True)
        if not rows:
            return ToolOutput.text(NONE)
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
        noun = "memory" if len(rows) == 1 else "memories"
        head = f"Found {len(rows)} relevant {noun} (as of {now} UTC):"
        text = "\n".join(row.text for row in rows)
        return ToolOutput.text(f"{head}\n\n{text if opened(self._memory).hosts else fence_memories(text)}")


def opened(memory: Memory | None) -> Memory:
    if memory is None:
        raise ToolError(NO_BACKEND)
    return memory
