"""Holds a previewed change until it is applied or discarded."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.agent.output import ToolOutput


class PendingChange(Struct, frozen=True, kw_only=True):
    """`apply` makes the change in the context of the applying call; `paths` are the files it writes."""

    title: str
    paths: tuple[Path, ...]
    apply: Callable[[Any], Awaitable[ToolOutput]]


class PendingChanges:
    """At most one change is pending: a newer proposal replaces it. Without one, `default` is asked."""

    def __init__(self) -> None:
        self._proposed: PendingChange | None = None
        self.number = 0  # of the newest proposal
        self.default: Callable[[], PendingChange | None] = lambda: None

    @property
    def pending(self) -> PendingChange | None:
        return self._proposed or self.default()

    def propose(self, preview: PendingChange) -> PendingChange | None:
        """Make this the pending change; returns the one it replaces."""
        self.number += 1
        replaced, self._proposed = self._proposed, preview
        return replaced

    def take(self) -> PendingChange | None:
        """Return the pending change and drop a proposed one."""
        pending, self._proposed = self.pending, None
        return pending
