"""Files that the user's rules deny to every tool, whichever name or folder a call uses to reach them."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from tau.base.hard_links import entries_below, shared_identity
from tau.coding.approval.rules import Rule


class DeniedFiles:
    """For one call or one sandbox: what exists under a rule is looked up once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = [rule for rule in rules if rule.kind == "read"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeniedFiles) and self.rules == other.rules

    __hash__ = None  # type: ignore[assignment]

    def denies(self, path: str) -> bool:
        """Whether a real path is denied, or is another name of a file that is."""
        if not self.rules:
            return False
        if any(rule.path(Path(path)) for rule in self.rules):
            return True
        identity = shared_identity(path)
        return identity is not None and identity in self._identities

    def existing(self) -> Iterator[str]:
        """Files and folders that the rules name."""
        for rule in self.rules:
            if not rule.has_star:
                yield from [rule.base] if os.path.lexists(rule.base) else []
                continue
            yield from (entry.path for entry in entries_below(rule.base) if rule.path(Path(entry.path)))

    @cached_property
    def _identities(self) -> frozenset[tuple[int, int]]:
        """Of the denied files that have other names."""
        found = (shared_identity(path) for path in self.existing())
        return frozenset(identity for identity in found if identity is not None)
