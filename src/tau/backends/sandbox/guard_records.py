"""Records what a session's guards know before its commands run, for the next session if this one is killed.

A session that ends removes its record. One that is killed leaves it: its commands may have created hooks or
startup files that nobody has judged. What such a record does not name is new.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, json

from tau.backends.sandbox.policy import is_within
from tau.base import log
from tau.base.files import make_private, try_lock, write_all

SUFFIX = ".json"
TEMPORARY = ".tmp"


class GuardRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """`files` are guarded files of Git with their digests; `missing` are startup files that did not exist."""

    roots: tuple[str, ...]
    places: tuple[str, ...]
    files: dict[str, str]
    missing: tuple[str, ...]


class GuardRecords:
    """One per sandbox. The lock of a record says that its session is alive."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._name = os.urandom(8).hex()
        self._fd = -1

    def find_left(self, roots: Sequence[Path]) -> list[tuple[Path, GuardRecord]]:
        """Records of killed sessions in these folders, or in folders that contain them."""
        found = []
        for path, record in self._dead():
            theirs = [Path(root) for root in record.roots]
            if not any(root.exists() for root in theirs):
                path.unlink(missing_ok=True)
            elif any(is_within(root, roots) for root in theirs) or any(
                is_within(root, theirs) for root in roots
            ):
                found.append((path, record))
        return found

    def write(self, record: GuardRecord) -> None:
        """Replace our record. Raises OSError."""
        if self._folder is None:
            return
        make_private(self._folder)
        path = self._folder / (self._name + SUFFIX)
        temporary = path.with_suffix(TEMPORARY)
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try_lock(fd)
            write_all(fd, json.encode(record))
            temporary.rename(path)
        except BaseException:
            os.close(fd)
            raise
        self._release()
        self._fd = fd

    def close(self) -> None:
        """The guards have judged what this session's commands left."""
        if self._folder is not None and self._fd >= 0:
            with suppress(OSError):
                (self._folder / (self._name + SUFFIX)).unlink()
        self._release()

    def _release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _dead(self) -> Iterator[tuple[Path, GuardRecord]]:
        paths = [] if self._folder is None or not self._folder.is_dir() else sorted(self._folder.iterdir())
        for path in paths:
            with suppress(OSError), path.open("rb") as file:
                if not try_lock(file.fileno(), without_locks=False):
                    continue
                if path.suffix == TEMPORARY:  # of a session that was killed before its first command
                    path.unlink()
                    continue
                try:
                    yield path, json.decode(file.read(), type=GuardRecord)
                except (DecodeError, ValidationError) as error:
                    log.error(f"{path} is not readable.", error)
