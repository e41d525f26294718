"""Remembers the texts that were shown under each tag, so that a tag is a claim that can be checked."""

import sys
import zlib
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from tau.hashline.hunks import LineChange
from tau.hashline.tags import checksum, tag_from, trimmed

MAX_PATHS = 30
MAX_VERSIONS = 8
MAX_BYTES = 32 * 1024 * 1024
MAX_MINTED = 8192


class SnapshotOrigin(Struct, frozen=True):
    """How a text was made by an edit of this session: from the text of which tag, by which changes."""

    tag: str
    changes: tuple[LineChange, ...]


class Snapshot(Struct, frozen=True):
    """One version of a file as it was shown.

    `text` is None when only some lines were seen; those are in `lines`. `own` says that this session wrote
    it, `origin` how, if that was an edit.
    """

    path: str
    tag: str
    text: str | None
    lines: Mapping[int, str]
    own: bool
    origin: SnapshotOrigin | None
    size_bytes: int


class SnapshotStore:
    """Versions by path, least recently used first. A forgotten version counts as never shown.

    Every issued tag is remembered longer than its text, with the text's checksum, so that no tag is ever
    used for a second text.
    """

    def __init__(
        self, *, max_paths: int = MAX_PATHS, max_versions: int = MAX_VERSIONS, max_bytes: int = MAX_BYTES
    ) -> None:
        self._max_paths = max_paths
        self._max_versions = max_versions
        self._max_bytes = max_bytes
        self._bytes = 0
        self._versions: dict[str, dict[str, Snapshot]] = {}
        self._minted: dict[tuple[str, str], tuple[int, int]] = {}

    def record(
        self, path: str, text: str, *, own: bool = False, origin: SnapshotOrigin | None = None
    ) -> str | None:
        """Remember that `text` was shown and give its tag; None if it is too large to be remembered."""
        size = sys.getsizeof(text)
        if size > self._max_bytes:
            return None
        known = self._known(path, text)
        if known is not None:
            self._keep(replace(known, own=own or known.own, origin=origin or known.origin))
            return known.tag
        tidy = trimmed(text)
        crc = checksum(tidy)
        exact = crc if tidy == text else checksum(text)
        tag = self._mint(path, crc, (exact, len(text)))
        self._keep(Snapshot(path, tag, text, {}, own or origin is not None, origin, size))
        return tag

    def record_sparse(self, path: str, lines: Mapping[int, str]) -> str | None:
        """Remember single lines that were shown, by number, and return the tag of just these."""
        seen = dict(sorted(lines.items()))
        size = sum(sys.getsizeof(row) + 64 for row in seen.values())
        if size > self._max_bytes:
            return None
        body = "\n".join(f"{number}:{row}" for number, row in seen.items())
        crc = checksum(body)
        for version in self._versions.get(path, {}).values():
            if version.text is None and version.lines == seen:
                self._keep(version)
                return version.tag
        # A negative length keeps the sums of sparse and whole versions apart.
        tag = self._mint(path, crc, (crc, -len(body) - 1))
        self._keep(Snapshot(path, tag, None, seen, False, None, size))
        return tag

    def find(self, path: str, tag: str) -> Snapshot | None:
        """What was shown under a tag, if it is still remembered."""
        found = self._versions.get(path, {}).get(tag)
        if found is not None:
            self._versions[path] = self._versions.pop(path)
        return found

    def latest(self, path: str) -> Snapshot | None:
        """The whole text that was recorded last."""
        versions = reversed(self._versions.get(path, {}).values())
        return next((version for version in versions if version.text is not None), None)

    def with_text(self, path: str, text: str) -> Snapshot | None:
        """The version that is this very text."""
        return self._known(path, text)

    def versions(self, path: str) -> tuple[Snapshot, ...]:
        """All that is remembered of a path, oldest first."""
        return tuple(self._versions.get(path, {}).values())

    def was_minted(self, path: str, tag: str) -> bool:
        """Whether a tag was given out for a path, even if its text has been forgotten since."""
        return (path, tag) in self._minted

    def forget(self, path: str) -> None:
        """Drop all versions of a path, for a file that is gone."""
        for version in self._versions.pop(path, {}).values():
            self._bytes -= version.size_bytes

    @property
    def size_bytes(self) -> int:
        return self._bytes

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that are remembered, the least recently used first."""
        return tuple(self._versions)

    def _known(self, path: str, text: str) -> Snapshot | None:
        versions = reversed(self._versions.get(path, {}).values())
        return next((version for version in versions if version.text == text), None)

    def _mint(self, path: str, crc: int, sum_of_text: tuple[int, int]) -> str:
        taken = self._versions.get(path, {})
        for salt in range(0x10000):
            tag = tag_from(crc if salt == 0 else zlib.crc32(salt.to_bytes(2, "big"), crc))
            owner = self._minted.get((path, tag))
            if tag not in taken and (owner is None or owner == sum_of_text):
                break
        self._minted.pop((path, tag), None)
        self._minted[path, tag] = sum_of_text
        if len(self._minted) > MAX_MINTED:
            del self._minted[next(iter(self._minted))]
        return tag

    def _keep(self, snapshot: Snapshot) -> None:
        versions = self._versions.pop(snapshot.path, {})
        self._versions[snapshot.path] = versions
        before = versions.pop(snapshot.tag, None)
        versions[snapshot.tag] = snapshot
        self._bytes += snapshot.size_bytes - (before.size_bytes if before else 0)
        while len(versions) > self._max_versions:
            self._drop(snapshot.path)
        while len(self._versions) > self._max_paths:
            self.forget(next(iter(self._versions)))
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._versions)))

    def _drop(self, path: str) -> None:
        """Forget the oldest version of a path. The newest one of all is never reached: alone it fits."""
        versions = self._versions[path]
        self._bytes -= versions.pop(next(iter(versions))).size_bytes
        if not versions:
            del self._versions[path]
