"""reflect: answers a question from the project's long-term memory."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.effects import Effects
from tau.agent.loop_owner import Complete
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.coding.memory.model import MemoryModel, fence_memories
from tau.coding.memory.port import Memory
from tau.coding.ports import CodingContext
from tau.coding.tools.recall import opened

NOTHING = "No relevant information found to reflect on."
ANSWER_S = 60.0


class ReflectParams(Struct, frozen=True):
    query: Annotated[str, Meta(description="The question", min_length=1)]
    context: Annotated[str, Meta(description="Why you ask")] = ""


class Reflect(Tool[ReflectParams]):
    """Without `complete`, it lists the memories."""

    name, label = "reflect", "Reflect"

    def __init__(self, memory: Memory | None, complete: Complete | None) -> None:
        self._memory = memory
        self._complete = complete

    def effects(self, params: ReflectParams, cwd: Path) -> Effects:
        return Effects(network=self._memory.hosts if self._memory else ())

    async def run(self, params: ReflectParams, ctx: CodingContext) -> ToolOutput:
        memory = opened(self._memory)
        if memory.remote is not None:
            return ToolOutput.text(await memory.remote.reflect(params.query, params.context) or NOTHING)
        rows = "\n".join(row.text for row in await memory.find_rows(params.query))
        if not rows:
            return ToolOutput.text(NOTHING)
        if self._complete is None:
            return ToolOutput.text(f"Based on recalled memories:\n\n{fence_memories(rows)}")
        asked = f"<question>\n{params.query}\n</question>"
        asked += f"\n\n<context>\n{params.context}\n</context>" if params.context else ""
        model = MemoryModel(self._complete, ctx.models)
        answer = await model.ask("reflect", f"<memories>\n{rows}\n</memories>\n\n{asked}", ANSWER_S)
        return ToolOutput.text(fence_memories(answer or rows))
