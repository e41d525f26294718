"""recall: searches the project's long-term memory."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.memory.model import fence_memories
from tau.coding.ports import CodingContext
from tau.coding.project_memory import ProjectMemory, shown

NONE = "No relevant memories found."
NO_BACKEND = "Long-term memory is off in this session (memory.backend)."


class RecallParams(Struct, frozen=True):
    query: Annotated[str, Meta(description="What to look for, in natural language", min_length=1)]


class Recall(Tool[RecallParams]):
    name, label = "recall", "Recall"

    def __init__(self, memory: ProjectMemory | None) -> None:
        self._memory = memory

    async def run(self, params: RecallParams, ctx: CodingContext) -> ToolOutput:
        found = await opened(self._memory).recall(params.query)
        if not found:
            return ToolOutput.text(NONE)
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
        lines = [
            f"- {_indented(shown(one.item.text))} (id: {one.item.id}) [{one.item.source}]"
            f" ({datetime.fromtimestamp(one.item.created, UTC):%Y-%m-%d}) c:{one.score:.2f}"
            for one in found
        ]
        noun = "memory" if len(lines) == 1 else "memories"
        head = f"Found {len(lines)} relevant {noun} (as of {now} UTC):"
        return ToolOutput.text(f"{head}\n\n{fence_memories(chr(10).join(lines))}")


def _indented(text: str) -> str:
    """A line of a memory cannot pose as another memory."""
    return "\n  ".join(text.splitlines())


def opened(memory: ProjectMemory | None) -> ProjectMemory:
    if memory is None:
        raise ToolError(NO_BACKEND)
    return memory
