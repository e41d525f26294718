"""Checkpoints as tools see them: mark where the conversation stands, and go back there with a report."""

from typing import Protocol

from msgspec import Struct

MAX_REPORT_CHARS = 50_000


class Checkpoint(Struct, frozen=True, rename="camel"):
    """An investigation that has begun; `started_at` is a time as sessions write it."""

    goal: str
    started_at: str


class Checkpoints(Protocol):
    """One is active at most. The conversation goes back when the turn in which that is asked for is over."""

    @property
    def active(self) -> Checkpoint | None: ...
    def mark(self, checkpoint: Checkpoint) -> None: ...
    def rewind(self, report: str) -> str | None:
        """Go back at the end of this turn. A sentence says why that cannot be done."""
        ...
