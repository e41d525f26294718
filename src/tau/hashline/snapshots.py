"""Stores the text shown under each tag, so that a tag can be checked against the file.

A tag is four hexadecimal digits that identify a text, ignoring trailing white space in its lines.
"""

import re
import sys
import zlib
from collections.abc import Iterable
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from tau.hashline.lines import separator_of
from tau.hashline.records import LineShift

MAX_PATHS = 30
MAX_VERSIONS = 8
MAX_BYTES = 32 * 1024 * 1024
MAX_ISSUED = 8192
BLOCK_CHARS = 256 * 1024
_NO_BLANK = re.compile(r"[^ \t\r]")


class TextSums(Struct, frozen=True):
    """The checksum that tags go by, and that of the exact text."""

    trimmed: int
    exact: int


class SnapshotOrigin(Struct, frozen=True):
    """The edit of this session that produced a text: the tag it started from, and how it moved lines."""

    tag: str
    shifts: tuple[LineShift, ...]


class IssuedTag(Struct, frozen=True):
    """What identifies a shown text after the text itself is gone.

    `checksum` and `chars` are those of the exact text, `trimmed` is the checksum that tags go by.
    """

    path: str
    tag: str
    checksum: int
    chars: int
    trimmed: int
    origin: SnapshotOrigin | None = None


class Snapshot(Struct, frozen=True):
    """One version of a file as it was shown. `own`: this session wrote it."""

    path: str
    tag: str
    text: str
    own: bool
    size_bytes: int


class SnapshotStore:
    """Versions by path, paths and versions least recently used first.

    Every issued tag outlives its text, with the text's checksum: no tag is ever reused for a second text, and
    an unchanged file can be edited however long ago it was shown.
    """

    def __init__(
        self, *, max_paths: int = MAX_PATHS, max_versions: int = MAX_VERSIONS, max_bytes: int = MAX_BYTES
    ) -> None:
        self._max_paths = max_paths
        self._max_versions = max_versions
        self._max_bytes = max_bytes
        self._bytes = 0
        self._versions: dict[str, dict[str, Snapshot]] = {}
        self._issued: dict[tuple[str, str], IssuedTag] = {}
        self._new: list[IssuedTag] = []

    def record(
        self,
        path: str,
        text: str,
        *,
        own: bool = False,
        origin: SnapshotOrigin | None = None,
        sums: TextSums | None = None,
    ) -> str | None:
        """Store a shown text and return its tag; None if it is too large to store.

        `sums` are those of a long text, computed elsewhere.
        """
        size = sys.getsizeof(text)
        if size > self._max_bytes:
            return None
        known = self.with_text(path, text)
        if known is not None:
            self._store(replace(known, own=own or known.own))
            tag = known.tag
        else:
            sums = sums or checksums(text)
            tag = self._issue_tag(path, sums.trimmed, sums.exact, len(text))
            self._store(Snapshot(path, tag, text, own or origin is not None, size))
        if origin is not None and (issued := self._issued.get((path, tag))) is not None:
            self._issued[path, tag] = replace(issued, origin=origin)
        return tag

    def find(self, path: str, tag: str) -> Snapshot | None:
        """The version shown under a tag, if it is still stored."""
        versions = self._versions.get(path, {})
        snapshot = versions.pop(tag, None)
        if snapshot is not None:
            versions[tag] = snapshot
            self._versions[path] = self._versions.pop(path)
        return snapshot

    def fits(self, path: str, tag: str, text: str) -> bool:
        """Whether this is the text of a tag whose own text is gone, or that another process issued."""
        issued = self._issued.get((path, tag))
        crc = checksums(text).trimmed
        return tag_from(crc) == tag if issued is None else issued.trimmed == crc

    def is_unseen(self, path: str, text: str) -> bool:
        """Whether tags were issued for other texts of this path, but none for this one."""
        known = {tag.trimmed for tag in self._issued.values() if tag.path == path}
        return bool(known) and checksums(text).trimmed not in known

    def origin(self, path: str, tag: str) -> SnapshotOrigin | None:
        """The edit of this session that led to the text of a tag."""
        issued = self._issued.get((path, tag))
        return None if issued is None else issued.origin

    def restore(self, issued: Iterable[IssuedTag]) -> None:
        """Add tags that an earlier process issued."""
        for one in issued:
            self._add(one)

    def take_new(self) -> list[IssuedTag]:
        """The tags issued since the last call."""
        taken, self._new = self._new, []
        return taken

    def latest(self, path: str) -> Snapshot | None:
        """The newest version."""
        return next(reversed(self._versions.get(path, {}).values()), None)

    def with_text(self, path: str, text: str) -> Snapshot | None:
        """The newest version with exactly this text."""
        versions = reversed(self._versions.get(path, {}).values())
        return next((version for version in versions if version.text == text), None)

    def versions(self, path: str) -> tuple[Snapshot, ...]:
        """All versions of a path, least recently used first."""
        return tuple(self._versions.get(path, {}).values())

    def was_issued(self, path: str, tag: str) -> bool:
        """Whether a tag was issued for a path, even if its text has been evicted since."""
        return (path, tag) in self._issued

    def forget(self, path: str) -> None:
        """Drop all versions of a path, for a deleted file."""
        for version in self._versions.pop(path, {}).values():
            self._bytes -= version.size_bytes

    @property
    def size_bytes(self) -> int:
        return self._bytes

    @property
    def paths(self) -> tuple[str, ...]:
        """The stored paths, least recently used first."""
        return tuple(self._versions)

    def _issue_tag(self, path: str, trimmed: int, exact: int, chars: int) -> str:
        """Return a tag that no other text of this path has or had."""
        taken = self._versions.get(path, {})
        for salt in count():
            tag = tag_from(trimmed if salt == 0 else zlib.crc32(salt.to_bytes(2, "big"), trimmed))
            owner = self._issued.get((path, tag))
            if tag not in taken and (owner is None or (owner.checksum, owner.chars) == (exact, chars)):
                break
        if owner is None or tag in taken:
            owner = IssuedTag(path, tag, exact, chars, trimmed)
            self._new = [*self._new, owner][-MAX_ISSUED:]
        self._add(owner)
        return tag

    def _add(self, issued: IssuedTag) -> None:
        self._issued.pop((issued.path, issued.tag), None)
        self._issued[issued.path, issued.tag] = issued
        if len(self._issued) > MAX_ISSUED:
            del self._issued[next(iter(self._issued))]

    def _store(self, snapshot: Snapshot) -> None:
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
        """Drop the oldest version of a path. Never reaches the version just stored, which fits alone."""
        versions = self._versions[path]
        self._bytes -= versions.pop(next(iter(versions))).size_bytes
        if not versions:
            del self._versions[path]


def trim_lines(text: str) -> str:
    """The text without white space before its line ends, which tags ignore."""
    return _trim(text, separator_of(text))


def _trim(text: str, separator: str) -> str:
    if separator == "\r":
        return "\r".join([line.rstrip(" \t") for line in text.split("\r")])
    # Most texts have little or nothing to trim: searching for it is cheaper than splitting all lines.
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            return "\n".join([line.rstrip(" \t\r") for line in text.split("\n")])
    text = _trim_before(text, " \n")
    if "\t" in text:
        text = _trim_before(text, "\t\n")
    return text.rstrip(" \t")


def _trim_before(text: str, ending: str) -> str:
    """Trim the lines that end with this blank or tab."""
    pieces = []
    position = 0
    while (at := text.find(ending, position)) >= 0:
        pieces.append(text[position:at].rstrip(" \t"))
        position = at + 1
    return "".join([*pieces, text[position:]]) if pieces else text


def checksum(text: str, start: int = 0) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), start)


def checksums(text: str) -> TextSums:
    """Block by block: in a thread, a long text does not stop the others."""
    separator = separator_of(text)
    trimmed = exact = position = 0
    is_same = True
    while position < len(text):
        cut = _NO_BLANK.search(text, position + BLOCK_CHARS)  # so that what is to be trimmed is in one block
        end = len(text) if cut is None else cut.end()
        block = text[position:end]
        kept = _trim(block, separator)
        if is_same and kept != block:
            is_same, exact = False, trimmed
        trimmed = checksum(kept, trimmed)
        if not is_same:
            exact = checksum(block, exact)
        position = end
    return TextSums(trimmed, trimmed if is_same else exact)


def tag_from(checksum: int) -> str:
    return f"{(checksum ^ checksum >> 16) & 0xFFFF:04X}"


def tag_of(text: str) -> str:
    """The tag of a text, unless another text of the same file already has it."""
    return tag_from(checksums(text).trimmed)
