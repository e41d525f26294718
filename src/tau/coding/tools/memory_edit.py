"""memory_edit: updates, forgets or invalidates one memory."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.memory.port import Memory
from tau.coding.ports import CodingContext
from tau.coding.tools.recall import opened

_DONE = {"update": "updated", "forget": "forgotten", "invalidate": "invalidated"}


class MemoryEditParams(Struct, frozen=True):
    op: Annotated[
        Literal["update", "forget", "invalidate"],
        Meta(description="invalidate hides a memory that is no longer true, but keeps it"),
    ]
    id: Annotated[str, Meta(description="Id of the memory, as recall shows it", min_length=1)]
    content: Annotated[str | None, Meta(description="New text (update)")] = None
    importance: Annotated[float | None, Meta(description="0 to 1 (update)")] = None
    replacement_id: Annotated[str, Meta(description="Memory that replaces it (invalidate)")] = ""


class MemoryEdit(Tool[MemoryEditParams]):
    name, label = "memory_edit", "Memory edit"

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory

    async def run(self, params: MemoryEditParams, ctx: CodingContext) -> ToolOutput:
        if (memory := opened(self._memory).local) is None:
            raise ToolError("Hindsight keeps the memories; they cannot be edited from here.")
        for id in (params.id, params.replacement_id):
            if id and await memory.find(id) is None:
                raise ToolError(f"Memory {id} was not found.")
        store = memory.store
        match params.op:
            case "update":
                if params.content is None and params.importance is None:
                    raise ToolError("An update needs content or importance.")
                if params.content is not None and memory.was_clipped(params.id):
                    raise ToolError(
                        f"Only the start of memory {params.id} was shown, so an update would lose the rest. "
                        "Retain the new fact and invalidate this one."
                    )
                await memory.change(store.edit, params.id, text=params.content, importance=params.importance)
            case "forget":
                await memory.change(store.forget, params.id)
            case "invalidate":
                await memory.change(store.invalidate, params.id, params.replacement_id)
        return ToolOutput.text(f"Memory {params.id} {_DONE[params.op]}.")
