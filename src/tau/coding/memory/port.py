"""The port of long-term memory: a file on this machine, or a server."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from tau.backends.memory.store import MemoryItem
    from tau.coding.memory.hindsight import HindsightMemory
    from tau.coding.project_memory import ProjectMemory


class MemoryRow(Struct, frozen=True):
    """One memory as the model sees it; `item` is what it is made of, if that can be edited."""

    text: str
    item: "MemoryItem | None" = None


class Memory(Protocol):
    """The memories of a project. `local` and `remote` have what only one of the two can do."""

    recalled: list[MemoryRow]  # what the model got unasked
    retain_now: Callable[[], Awaitable[int]] | None

    @property
    def local(self) -> "ProjectMemory | None": ...

    @property
    def remote(self) -> "HindsightMemory | None": ...

    @property
    def stored(self) -> str:
        """What happened to retained memories."""
        ...

    @property
    def retains(self) -> bool:
        """Whether it learns from conversations unasked."""
        ...

    @property
    def hosts(self) -> tuple[str, ...]:
        """The servers that a search asks."""
        ...

    async def find_rows(self, query: str, *, scored: bool = False) -> list[MemoryRow]:
        """The memories that match, the best first. Raises TauError."""
        ...

    async def retain(self, items: Sequence[tuple[str, str]]) -> int:
        """Store texts with their contexts; they are on the disk when this returns. Raises TauError."""
        ...

    async def block(self, query: str, max_chars: int) -> tuple[str, list[MemoryRow]]:
        """What rides with a user's message, and the memories in it. Raises TauError."""
        ...


def fitting(rows: Sequence[MemoryRow], max_chars: int) -> list[MemoryRow]:
    """The first rows, as many as fit."""
    used: list[MemoryRow] = []
    for row in rows:
        max_chars -= len(row.text)
        if max_chars < 0:
            break
        used.append(row)
    return used


def indented(text: str) -> str:
    """A line of a memory cannot pose as another memory."""
    return "\n  ".join(text.splitlines())
