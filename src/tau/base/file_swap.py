"""System calls that show whether others changed a replaced file at the last moment."""

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, Literal

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
