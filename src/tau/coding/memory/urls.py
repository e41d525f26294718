"""The internal URLs `memory://root`, which lists the memories of the project, and `memory://ID`."""

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened
from tau.coding.internal_urls.schemes import ReadOnlyUrls
from tau.coding.memory.model import fence_memories
from tau.coding.memory.port import Memory
from tau.coding.ports import Resource
from tau.coding.project_memory import memory_facts, memory_row

MAX_LISTED = 500


class MemoryUrls(ReadOnlyUrls):
    scheme = "memory"

    def __init__(self, memory: Memory) -> None:
        self._local = memory.local

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        id = rest.strip("/")
        if self._local is None:
            raise ToolError(
                "Hindsight keeps the memories, and memory:// cannot read them; use recall or reflect."
            )
        if id in ("", "root"):
            items = await self._local.change(self._local.store.items, self._local.scopes, limit=MAX_LISTED)
            text = fence_memories("\n".join(map(memory_row, items))) if items else "No memories."
            return Resource(url="memory://root", data=f"{text}\n".encode("utf-8", "replace"))
        item = await self._local.find(id)
        if item is None:
            name = shortened(clean_line(id), 60)
            raise ToolError(f"Memory {name} was not found; memory://root lists them.")
        facts = [f"{name}: {value}" for name, value in memory_facts(item).items() if value]
        text = fence_memories("\n".join([item.text, "", *facts]))
        return Resource(url=f"memory://{item.id}", data=f"{text}\n".encode("utf-8", "replace"))
