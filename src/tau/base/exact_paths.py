"""Opens files by paths that must not contain links: what was checked is what is opened.

Decide on a real path first (`os.path.realpath`). A part of it that has become a link since is an error.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tau.base.late import late

ctypes = late("ctypes")

FEW_OPENS = 100  # loading ctypes takes as long as this many walks
_OPENAT2 = 437  # the same number on every architecture
_HERE = -100  # AT_FDCWD
_NO_MAGIC_LINKS, _NO_LINKS = 0x02, 0x04
_UNSUPPORTED = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG)
_LINK = "A symbolic link is in the way"
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_NO_LINK_ANYWHERE = 0x20000000 if sys.platform == "darwin" else 0  # O_NOFOLLOW_ANY


class _OpenCount:
    """How many files were opened, until it does not matter any more."""

    opened = 0
    by_kernel = True


def open_exact(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a file by an absolute path. Raises OSError; ELOOP if any part of the path is a link."""
    text = os.fspath(path)
    if _NO_LINK_ANYWHERE:
        return os.open(text, flags | _NO_LINK_ANYWHERE | os.O_CLOEXEC, mode)
    _OpenCount.opened += 1
    if _OpenCount.by_kernel and (_OpenCount.opened > FEW_OPENS or "ctypes" in sys.modules):
        fd = _open_by_kernel(text, flags, mode)
        if fd is not None:
            return fd
    return _walk(text, flags, mode)


@contextmanager
def pinned(folder: Path, *, make: bool = False) -> Iterator[Path]:
    """A path to a folder that keeps leading there, even if a part of `folder` is replaced by a link.

    With `make`, missing folders are created. Raises OSError.
    """
    fd = _open_folder(folder, make)
    try:
        by_number = Path(f"/proc/self/fd/{fd}")
        yield by_number if by_number.is_dir() else folder
    finally:
        os.close(fd)


def _open_folder(folder: Path, make: bool) -> int:
    try:
        return open_exact(folder, _FOLDER)
    except FileNotFoundError:
        if not make:
            raise
    parent = _open_folder(folder.parent, make)
    try:
        try:
            os.mkdir(folder.name, dir_fd=parent)
        except FileExistsError:
            pass
        except OSError as error:
            error.filename = str(folder)
            raise
        return _open_part(folder.name, _FOLDER, 0, parent, str(folder))
    finally:
        os.close(parent)


def _walk(text: str, flags: int, mode: int) -> int:
    """Open part by part; none of them may be a link."""
    parts = [part for part in text.split("/") if part]
    fd = os.open("/", _FOLDER)
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        try:
            step = _open_part(part, flags if last else _FOLDER, mode, fd, text)
        finally:
            os.close(fd)
        fd = step
    return fd


def _open_part(part: str, flags: int, mode: int, folder: int, text: str) -> int:
    try:
        return os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENOTDIR and _is_link(part, folder):
            raise OSError(errno.ELOOP, _LINK, text) from None
        reason = _LINK if error.errno == errno.ELOOP else error.strerror
        raise OSError(error.errno, reason, text) from None


def _is_link(part: str, folder: int) -> bool:
    try:
        os.readlink(part, dir_fd=folder)
    except OSError:
        return False
    return True


@cache
def _system_call() -> Any:
    return ctypes.CDLL(None, use_errno=True).syscall


def _open_by_kernel(text: str, flags: int, mode: int) -> int | None:
    """None if the kernel cannot do it."""
    if sys.platform != "linux":
        return None
    wanted = mode if flags & os.O_CREAT else 0
    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, wanted, _NO_LINKS | _NO_MAGIC_LINKS)
    while True:
        fd = _system_call()(_OPENAT2, _HERE, os.fsencode(text), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return int(fd)
        number = ctypes.get_errno()
        if number == errno.EINTR:
            continue
        if number in _UNSUPPORTED:
            _OpenCount.by_kernel = number != errno.ENOSYS
            return None
        raise OSError(number, _LINK if number == errno.ELOOP else os.strerror(number), text)
