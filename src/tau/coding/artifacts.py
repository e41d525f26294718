"""Full tool output, one file per call, in the session's artifact folder or a temporary one."""

import errno
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import BinaryIO

from tau.agent.ports import Sink
from tau.base.errors import ToolError
from tau.base.files import make_private, write_all
from tau.base.late import late
from tau.base.secrets import StreamMask
from tau.base.sizes import MIB

fcntl = late("fcntl")
shutil = late("shutil")
tempfile = late("tempfile")

FOLDER_CAP_BYTES = 1024 * MIB
PREFIX = "tau-artifacts-"  # of temporary folders
_NUMBERED = (
    r"(?P<id>[0-9]{1,9})\.[\w-]+\.\w{1,8}"  # patterns as strings: compiled when the first artifact is created
)


class FolderArtifacts:
    """Files such as `<n>.<tool>.log` in a folder that is created on first use and has a size limit.

    Numbering continues from earlier runs of the session. Only the user can read the files.
    """

    def __init__(self, folder: Path, *, cap_bytes: int = FOLDER_CAP_BYTES) -> None:
        self._folder: Path | None = folder
        self._cap_bytes = cap_bytes
        self._used_bytes = 0
        self._next_id: int | None = None

    def create(self, tool: str, suffix: str = "log") -> Sink:
        folder = self._make_folder()
        if self._next_id is None:
            self._survey(folder)
        number = self._next_id or 0
        name = re.sub(r"[^a-z0-9_-]+", "_", tool.lower()) or "tool"
        while True:
            path = folder / f"{number}.{name}.{suffix}"
            try:
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:  # another process shares the folder
                number += 1
                continue
            self._next_id = number + 1
            return _FileSink(str(number), path, open(fd, "wb", 0), self)  # noqa: PTH123 - a file descriptor, not a path

    def open(self, id: str) -> Path:
        if self._folder is not None and re.fullmatch(r"[0-9]{1,9}", id):
            for path in self._folder.glob(f"{int(id)}.*"):
                return path
        raise ToolError(f'There is no artifact "{id}" in this session.')

    def scratch(self, *, make: bool) -> Path | None:
        """The session's folder for `local://` files; None if it does not exist yet."""
        folder = self._make_folder() if make else self._folder
        return None if folder is None else folder / "local"

    def folder(self) -> Path:
        """The folder, created if needed."""
        return self._make_folder()

    def close(self) -> None:
        """Does nothing: a session's artifacts stay."""

    def take(self, size: int) -> None:
        """Count bytes about to be written. Raises OSError when the folder is full."""
        if self._used_bytes + size > self._cap_bytes:
            raise OSError(errno.ENOSPC, "the session's artifacts have reached their limit")
        self._used_bytes += size

    def _make_folder(self) -> Path:
        assert self._folder is not None
        make_private(self._folder)
        return self._folder

    def _survey(self, folder: Path) -> None:
        self._next_id = 0
        for entry in os.scandir(folder):
            match = re.fullmatch(_NUMBERED, entry.name)
            if match:
                self._next_id = max(self._next_id, int(match["id"]) + 1)
                self._used_bytes += entry.stat(follow_symlinks=False).st_size


class TemporaryArtifacts(FolderArtifacts):
    """For runs without a session: a private temporary folder, created on demand and removed by `close`."""

    def __init__(self, *, cap_bytes: int = FOLDER_CAP_BYTES) -> None:
        super().__init__(Path(), cap_bytes=cap_bytes)
        self._folder = None
        self._lock: int | None = None

    def _make_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._lock = os.open(self._folder, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            Thread(target=remove_abandoned, args=(self._folder.parent,), daemon=True).start()
        return self._folder

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            if self._lock is not None:
                os.close(self._lock)
            self._folder = self._lock = None
            self._next_id = None
            self._used_bytes = 0


def remove_abandoned(place: Path) -> None:
    """Remove the folders of killed runs: those that nobody locks, a minute after their last change."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                info = os.fstat(lock)
                # A new one is locked after a minute.
                if info.st_uid == os.getuid() and time.time() - info.st_mtime > 60:
                    shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


class _FileSink:
    """Masks secrets in what it stores."""

    def __init__(self, id: str, path: Path, file: BinaryIO, owner: FolderArtifacts) -> None:
        self.id = id
        self._mask = StreamMask()
        self.path: Path | None = path
        self._file = file
        self._owner = owner

    def write(self, data: bytes) -> None:
        self._write(self._mask.feed(data))

    def _write(self, data: bytes) -> None:
        self._owner.take(len(data))
        try:
            write_all(self._file.fileno(), data)
        except OSError:
            # The disk is full: free half of our space so that the session can still be saved.
            self._file.truncate(os.fstat(self._file.fileno()).st_size // 2)
            raise

    def close(self) -> None:
        if self._file.closed:
            return
        try:
            self._write(self._mask.end())
        finally:
            self._file.close()
