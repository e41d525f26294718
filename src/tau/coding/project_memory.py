"""The memories of a project: which scope a session reads and writes."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from tau.backends.memory.store import MAX_QUERY_CHARS, SHARED, MemoryItem, MemoryMatch, MemoryStore
from tau.base.git_dir import shared_git_dir
from tau.config.paths import Paths, repo_root
from tau.config.settings import MemorySettings

T = TypeVar("T")

MAX_SHOWN_CHARS = 1_000  # of one memory in an answer to the model
RETAIN_IMPORTANCE = 0.75


class NewMemory(Struct, frozen=True):
    """What a model wants stored; it may replace an older memory."""

    content: str
    importance: float = 0.5
    supersedes: str | None = None


class ProjectMemory:
    """Memories seen from one folder. Worktrees of a repository share them."""

    def __init__(self, store: MemoryStore, cwd: Path, settings: MemorySettings) -> None:
        self.store = store
        self.limit = settings.recall_limit
        project = primary_checkout(cwd)
        self.scope = SHARED if settings.scoping == "global" else str(project)
        self.scopes = (self.scope, SHARED) if settings.scoping == "per-project-tagged" else (self.scope,)
        self.recalled: list[MemoryMatch] = []  # what the model got unasked
        self.retain_now: Callable[[], Awaitable[int]] | None = None
        self._clipped: set[str] = set()

    async def recall(self, query: str) -> list[MemoryMatch]:
        """Raises MemoryStoreError."""
        found = await _in_thread(self.store.search, query[:MAX_QUERY_CHARS], self.scopes, self.limit)
        if found:
            await _in_thread(self.store.mark_used, [match.item.id for match in found])
        for match in found:
            (self._clipped.add if len(match.item.text) > MAX_SHOWN_CHARS else self._clipped.discard)(
                match.item.id
            )
        return found

    async def retain(self, items: Sequence[tuple[str, str]]) -> list[str]:
        """Store texts with their contexts. Raises MemoryStoreError."""

        def add() -> list[str]:
            return [
                self.store.add(
                    text, context=context, scope=self.scope, source="tool", importance=RETAIN_IMPORTANCE
                )
                for text, context in items
            ]

        return await _in_thread(add)

    async def similar(self, text: str, limit: int) -> list[MemoryItem]:
        """Memories with words of a text; looking does not count as use. Raises MemoryStoreError."""
        found = await _in_thread(self.store.search, text[:MAX_QUERY_CHARS], self.scopes, limit)
        return [match.item for match in found]

    async def merge(self, new: Sequence[NewMemory], known: Container[str], session: str) -> int:
        """Store what a model extracted; only memories that it saw are superseded. Returns how many."""

        def add() -> int:
            before = len(self.store.items([self.scope]))
            for one in new:
                id = self.store.add(
                    one.content,
                    scope=self.scope,
                    source="assistant",
                    session=session,
                    importance=one.importance,
                )
                if one.supersedes and one.supersedes in known and one.supersedes != id:
                    self.store.invalidate(one.supersedes, id)
            return len(self.store.items([self.scope])) - before if new else 0

        return await _in_thread(add)

    async def find(self, id: str) -> MemoryItem | None:
        item = await _in_thread(self.store.get, id)
        return item if item is not None and item.scope in self.scopes else None

    def was_clipped(self, id: str) -> bool:
        """Whether the model has seen only the start of this memory."""
        return id in self._clipped

    async def change(self, call: Callable[..., T], *arguments: Any, **more: Any) -> T:
        return await asyncio.to_thread(call, *arguments, **more)


async def _in_thread(call: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.to_thread(call, *arguments)


def open_memory(paths: Paths, cwd: Path, settings: MemorySettings) -> ProjectMemory:
    """Nothing is read before it is needed."""
    return ProjectMemory(MemoryStore(memory_file(paths, settings)), cwd, settings)


def memory_file(paths: Paths, settings: MemorySettings) -> Path:
    return Path(settings.db_path).expanduser() if settings.db_path else paths.home / "memory" / "memory.db"


def primary_checkout(cwd: Path) -> Path:
    """The folder of the repository's first work tree; `cwd` outside a repository."""
    root = repo_root(cwd)
    if root is None:
        return cwd.resolve()
    common = shared_git_dir(root)
    if common is None:
        return root.resolve()
    return common.parent if common.name == ".git" else common


def shown(text: str) -> str:
    """A memory for the model, clipped with its length."""
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}… ({len(text):,} characters)"
