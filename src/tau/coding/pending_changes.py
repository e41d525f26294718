"""A change that was shown but not made yet: it waits here until it is applied or discarded."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.agent.output import ToolOutput


class PendingChange(Struct, frozen=True, kw_only=True):
    """`apply` makes the change, with the context of the call that asks for it; `paths` are what it writes."""

    title: str
    paths: tuple[Path, ...]
    apply: Callable[[Any], Awaitable[ToolOutput]]


class PendingChanges:
    """At most one waits: a newer proposal takes the place of the one before."""

    def __init__(self) -> None:
        self._pending: PendingChange | None = None

    @property
    def pending(self) -> PendingChange | None:
        return self._pending

    def propose(self, preview: PendingChange) -> PendingChange | None:
        """Wait for an answer to this one; gives back the one that it replaces."""
        replaced, self._pending = self._pending, preview
        return replaced

    def take(self) -> PendingChange | None:
        """The waiting preview, which waits no longer."""
        taken, self._pending = self._pending, None
        return taken
