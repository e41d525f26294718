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
    """At most one change is pending: a newer proposal replaces it."""

    def __init__(self) -> None:
        self._pending: PendingChange | None = None

    @property
    def pending(self) -> PendingChange | None:
        return self._pending

    def propose(self, preview: PendingChange) -> PendingChange | None:
        """Make this the pending change; returns the one it replaces."""
        replaced, self._pending = self._pending, preview
        return replaced

    def take(self) -> PendingChange | None:
        """Remove and return the pending change."""
        taken, self._pending = self._pending, None
        return taken
