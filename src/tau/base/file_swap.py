"""Replaces a file unless others have just changed it."""

import ctypes
import errno
import os
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tau.base.files import FileChangedError, Unchanged, try_lock

_WRITER_WAIT_S = 0.03
_HERE = -100  # AT_FDCWD
_NO_REPLACE, _EXCHANGE = 1, 2
Lease = Literal["held", "refused", "unsupported"]
"""`refused`: someone has the file open, for writing unless the lease is to be `alone`."""
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}

if sys.platform == "linux":
    import fcntl
    import signal

    @cache
    def _renameat2() -> Any:
        """The function of the C library; None if it has none."""
        return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)

    def _rename(one: Path, other: Path, flag: int) -> bool:
        rename = _renameat2()
        if rename is None:
            return False
        if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), flag) == 0:
            return True
        number = ctypes.get_errno()
        if number in _UNSUPPORTED:
            return False
        raise OSError(number, os.strerror(number), str(other))

    def take_lease(fd: int, *, alone: bool = False) -> Lease:
        """Keep others from opening a file for writing, until `fd`, which is open for reading, is closed.

        `alone` also keeps readers out; then `fd` must be open for writing too, and be the only one.
        """
        try:
            # The default signal, for someone who opens the file now and has to wait, would end this process.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK if alone else fcntl.F_RDLCK)
        except OSError as error:
            return "refused" if error.errno == errno.EAGAIN else "unsupported"
        return "held"

    def is_wanted(fd: int) -> bool:
        """Whether someone waits to open a leased file for writing."""
        return fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK

else:

    def _rename(one: Path, other: Path, flag: int) -> bool:
        """Other systems have no such call."""
        return False

    def take_lease(fd: int, *, alone: bool = False) -> Lease:
        """Other systems have no leases."""
        return "unsupported"

    def is_wanted(fd: int) -> bool:
        """Other systems cannot say."""
        return False


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step. False if the system or the file system cannot; raises OSError."""
    return _rename(one, other, _EXCHANGE)


def rename_new(path: Path, name: Path) -> None:
    """Rename a file to a name that nothing has. Raises FileExistsError."""
    if _rename(path, name, _NO_REPLACE):
        return
    try:
        name.hardlink_to(path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS):
            raise
        path.replace(name)  # a file system without hard links
        return
    path.unlink()


def swap(temp: Path, fd: int, target: Path, unchanged: Unchanged) -> None:
    """Replace a file with a temporary one, and take it back if the replaced file is not `unchanged`.

    Only the file that was really replaced can tell, and only if nobody has it open for writing.
    """
    old_fd = open_to_replace(target)
    try:
        leased = lease(target, old_fd)
        written = os.fstat(fd)
        if not unchanged(stat_or_none(target)):
            raise changed(target)
        if not exchange(temp, target):
            temp.replace(target)
            return
        if is_intact(temp, old_fd, leased, unchanged):
            drop(temp)
            return
        exchange(temp, target)
        now = temp.lstat()
        if os.path.samestat(now, written) and now.st_mtime_ns == written.st_mtime_ns:
            raise changed(target)
        raise conflict(temp, target)  # someone has changed the new file too, in between
    finally:
        os.close(old_fd)


def open_to_replace(path: Path) -> int:
    """Open and lock a file that gets a temporary name, so that no other writer takes it for a leftover."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with suppress(OSError):
        try_lock(fd)
    return fd


def drop(temp: Path) -> None:
    """Remove a replaced file. If that fails, the next write to its folder does it."""
    with suppress(OSError):
        temp.unlink()


def changed(target: Path) -> FileChangedError:
    return FileChangedError(errno.EBUSY, "Another program has changed it", str(target))


def conflict(temp: Path, target: Path) -> OSError:
    """Keep a version of which there is no other copy, and name it."""
    kept = target.with_name(f"{target.name[:40]}.tau-backup-{os.urandom(4).hex()}")
    temp.rename(kept)
    return OSError(errno.EEXIST, f"Another program keeps changing it; one version is now in {kept}")


def lease(path: Path, fd: int) -> bool:
    """Keep others from opening a file for writing, if possible. Raises FileChangedError if one has it."""
    deadline = time.monotonic() + _WRITER_WAIT_S
    while (held := take_lease(fd)) == "refused":
        if time.monotonic() > deadline:
            raise FileChangedError(errno.EBUSY, "Another program has it open for writing", str(path))
        time.sleep(0.001)
    return held == "held"


def is_intact(temp: Path, fd: int, leased: bool, unchanged: Unchanged) -> bool:
    """Whether the file that got a temporary name is the expected one, and nobody waits to write it."""
    there = temp.lstat()
    return os.path.samestat(there, os.fstat(fd)) and unchanged(there) and not (leased and is_wanted(fd))


def stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def refuse_open_writers(target: Path) -> None:
    """Raise FileChangedError if another program has the file open for writing."""
    fd = os.open(target, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        lease(target, fd)
    finally:
        os.close(fd)


def keep_others_out(fd: int) -> None:
    """Make others who open the file wait until `fd` is closed; impossible while one of them reads it."""
    deadline = time.monotonic() + _WRITER_WAIT_S
    while take_lease(fd, alone=True) == "refused" and time.monotonic() < deadline:
        time.sleep(0.001)
