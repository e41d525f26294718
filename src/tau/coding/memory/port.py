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
    """The memories of a project. `local` and `remote` have what only one of the two can do.

    `stored` says what happened to retained memories, `retains` whether conversations are learned from,
    `recalled` what the model got unasked; a search asks `hosts`. `block` is what rides with a user's message,
    and the memories in it. Retained texts are on the disk when `retain` returns. Methods raise TauError.
    """

    local: "ProjectMemory | None"
    remote: "HindsightMemory | None"
    stored: str
    retains: bool
    hosts: tuple[str, ...]
    recalled: list[MemoryRow]
    retain_now: Callable[[], Awaitable[int]] | None

    async def find_rows(self, query: str, *, scored: bool = False) -> list[MemoryRow]: ...
    async def retain(self, items: Sequence[tuple[str, str]]) -> int: ...
    async def block(self, query: str, max_chars: int) -> tuple[str, list[MemoryRow]]: ...


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
