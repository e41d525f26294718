"""retain: stores facts in the project's long-term memory."""

from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.coding.memory.port import Memory
from tau.coding.ports import CodingContext
from tau.coding.tools.recall import opened

MAX_ITEMS = 50


class RetainedItem(Struct, frozen=True):
    content: Annotated[str, Meta(description="One fact, clear without the conversation", min_length=1)]
    context: Annotated[str, Meta(description="Where it comes from, or why it matters")] = ""


class RetainParams(Struct, frozen=True):
    items: Annotated[
        list[RetainedItem], Meta(description="Facts to store", min_length=1, max_length=MAX_ITEMS)
    ]


class Retain(Tool[RetainParams]):
    name, label = "retain", "Retain"

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory

    async def run(self, params: RetainParams, ctx: CodingContext) -> ToolOutput:
        memory = opened(self._memory)
        count = await memory.retain([(item.content, item.context) for item in params.items])
        return ToolOutput.text(f"{count} {'memory' if count == 1 else 'memories'} {memory.stored}.")
