"""Remembers what the model has seen: the state of each file, and the text of each tag."""

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tau.agent.ports import Stat
from tau.base.late import late
from tau.coding.files.paths import real

if TYPE_CHECKING:
    from tau.hashline.snapshots import IssuedTag, SnapshotStore, TextSums

hashline_snapshots = late("tau.hashline.snapshots")

MAX_FILES = 10_000


class SeenFiles:
    """Forgets the oldest when there are too many; a forgotten file counts as never read.

    Several names of one file, through symbolic links, count as one file. `stored_tags` are those that this
    session has issued in earlier processes.
    """

    def __init__(self, stored_tags: "Callable[[], Iterable[IssuedTag]]" = tuple) -> None:
        self._seen: dict[Path, Stat] = {}
        self._stored_tags = stored_tags

    @cached_property
    def texts(self) -> "SnapshotStore":
        store = hashline_snapshots.SnapshotStore()
        store.restore(self._stored_tags())
        return store

    def take_new_tags(self) -> "list[IssuedTag]":
        """The tags issued since the last call."""
        return self.texts.take_new() if "texts" in vars(self) else []

    def remember(self, path: Path, stat: Stat) -> None:
        self._seen.pop(path, None)
        self._seen[path] = stat
        if len(self._seen) > MAX_FILES:
            del self._seen[next(iter(self._seen))]

    def last_seen(self, path: Path) -> Stat | None:
        return self._seen.get(path)

    def is_unseen(self, path: Path, text: str) -> bool:
        """Whether the session knows other texts of this file, perhaps from before a restart, but not this."""
        return self.texts.is_unseen(key_of(path), text)

    def record(
        self, path: Path, text: str, *, own: bool = False, sums: "TextSums | None" = None
    ) -> str | None:
        """The tag for this text; None if it is too large to remember. A long text brings its `sums`."""
        return self.texts.record(key_of(path), text, own=own, sums=sums)


def key_of(path: Path) -> str:
    """The key for a file's texts."""
    return str(real(path))
