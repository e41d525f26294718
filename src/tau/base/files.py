"""Atomic file writes, and locks between processes."""

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tau.base.late import late

file_swap = late("tau.base.file_swap")

Unchanged = Callable[[os.stat_result | None], bool]
"""Whether a file is still as expected; it gets None if there is no file."""
STDOUT = 1
_MAX_LINKS = 40
_LOCK_PAUSE_S = 0.02
_SYNC_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
_CANNOT_REPLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}
_PRESERVED_ATTRIBUTES = ("user.", "system.posix_acl_access")
_TEMP_NAMES = 16
_PROBE_WAITS, _PROBE_WAIT_S = 400, 0.005


class FileChangedError(OSError):
    """Another program has changed the file, or is about to; nothing was written."""


if sys.platform == "win32":

    def try_lock(fd: int, *, without_locks: bool = True) -> bool:
        """Windows has no flock; assume that we are the only writer."""
        return without_locks

    def unlock(fd: int) -> None:
        """Do nothing."""

    def is_locked(fd: int) -> bool:
        """Windows has no flock; assume that nobody else has the file open."""
        return False

else:
    import fcntl

    def try_lock(fd: int, *, without_locks: bool = True) -> bool:
        """Take the exclusive lock of an open file without waiting; False if someone else holds it.

        Returns `without_locks` on a file system that has no locks; by default, refusing to work there would
        help nobody. Callers of `is_locked` hold the lock for a moment; that does not count.
        """
        for _ in range(_PROBE_WAITS):
            taken = _flock(fd, fcntl.LOCK_EX)
            if taken is None:
                return without_locks
            if taken or is_locked(fd):
                return taken
            time.sleep(_PROBE_WAIT_S)
        return False

    def unlock(fd: int) -> None:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)

    def is_locked(fd: int) -> bool:
        """Whether someone else holds the exclusive lock; for a descriptor that holds none itself."""
        if shared := _flock(fd, fcntl.LOCK_SH):
            unlock(fd)
        return shared is False

    def _flock(fd: int, kind: int) -> bool | None:
        """Take a lock without waiting; None on a file system that has no locks."""
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL):
                raise
            return None
        return True


def typed_path(name: str) -> Path:
    """Expand a typed path: `~` is the home folder; `~x` is unchanged if there is no user x."""
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises in that case


def mode_of(path: Path) -> int:
    """File type and permissions; 0 if the path is missing, inaccessible, or no path at all."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: a zero byte
        return 0


def modified_ns(path: Path) -> int:
    """Modification time; 0 if the file is missing."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def make_private(folder: Path) -> None:
    """Create a private folder and its missing parents."""
    if mode_of(folder):
        return
    missing = [path for path in (folder, *folder.parents) if not mode_of(path)]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def open_at_once(path: str, flags: int) -> int:
    """An opener for `open` that does not block on a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


@contextmanager
def locked(path: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the lock of `path`. It excludes other processes and threads, and is not reentrant.

    Waiting blocks the event loop, so hold it only for a quick read and write. The lock file `<name>.lock` is
    never deleted: otherwise two writers could hold two different locks.
    """
    lock = path.with_name(path.name + ".lock")
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + timeout_s
        pause = 0.001
        while not try_lock(fd):
            if time.monotonic() >= deadline:
                raise TimeoutError(
                    errno.ETIMEDOUT, f"Another process has held the lock for {timeout_s:g} s", str(lock)
                )
            time.sleep(pause)
            pause = min(pause * 2, _LOCK_PAUSE_S)
        try:
            yield
        finally:
            unlock(fd)
    finally:
        os.close(fd)


def write_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    executable: bool = False,
    sync: bool = True,
    unchanged: Unchanged | None = None,
    links: bool = True,
) -> None:
    """Replace the content of `path`: readers see either the old or the new content, even after a crash.

    Preserves mode, owner and access lists. `mode` sets the permissions; otherwise a new file gets them from
    the umask, plus execute permission for its readers if `executable`. Follows symbolic links and writes
    through hard links; without `links`, a symbolic link is an error, and other names of the file keep the old
    content. Raises OSError on failure and leaves the old content; FileChangedError if the replaced file is
    not `unchanged`.
    """
    try:
        target = _follow(path) if links else path
        old = _existing(target)
        if old is not None and old.st_nlink > 1 and links:
            # A rename would detach hard links, which would silently keep the old content.
            _write_in_place(target, data, mode, sync, unchanged)
            return
        try:
            _replace(target, data, old, mode, executable, sync, unchanged)
        except OSError as error:
            # A writable file in a read-only folder, a bind mount, as in containers, or another owner's file.
            changed = isinstance(error, FileChangedError)
            if old is None or changed or error.errno not in _CANNOT_REPLACE:
                raise
            if old.st_nlink > 1 and not links:
                raise OSError(error.errno, "It has another name, which would change too", str(path)) from None
            _write_in_place(target, data, mode, sync, unchanged)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _follow(path: Path) -> Path:
    """Resolve a chain of symbolic links; the target need not exist."""
    for _ in range(_MAX_LINKS):
        try:
            link = path.readlink()
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return path
            raise
        path = path.parent / link
    raise OSError(errno.ELOOP, "Too many symbolic links", str(path))


def _existing(target: Path) -> os.stat_result | None:
    try:
        info = target.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", str(target))
    if stat.S_ISLNK(info.st_mode):
        raise OSError(errno.ELOOP, "Is a symbolic link, which was not expected", str(target))
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "Is a device or a pipe, not a regular file", str(target))
    # A rename needs permission for the folder, not the file: a read-only file must not change.
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "The file is read-only", str(target))
    return info


def remove(path: Path, *, unchanged: Unchanged | None = None) -> None:
    """Delete a file. Raises FileChangedError if it is not `unchanged`, and leaves it."""
    if unchanged is None:
        path.unlink()
        return
    old_fd = file_swap.open_to_replace(path)
    try:
        leased = file_swap.lease(path, old_fd)
        temp, fd = _temporary(path.parent, 0o600)
        try:
            path.rename(temp)
        except BaseException:
            _discard(temp, fd)
            raise
        finally:
            os.close(fd)
        if not file_swap.is_intact(temp, old_fd, leased, unchanged):
            try:
                file_swap.rename_new(temp, path)
            except FileExistsError:
                raise file_swap.conflict(temp, path) from None
            raise file_swap.changed(path)
        file_swap.drop(temp)
    finally:
        os.close(old_fd)


def _replace(
    target: Path,
    data: bytes,
    old: os.stat_result | None,
    mode: int | None,
    executable: bool,
    sync: bool,
    unchanged: Unchanged | None,
) -> None:
    temp, fd = _temporary(target.parent, 0o666 if old is None and mode is None else 0o600)
    try:
        if old is not None:
            _keep_identity(fd, target, old, mode)
        elif mode is not None:
            _set_mode(fd, mode)
        elif executable:
            plain = stat.S_IMODE(os.fstat(fd).st_mode)
            _set_mode(fd, plain | (plain & 0o444) >> 2)
        write_all(fd, data)
        if sync:
            sync_file(fd)
        if unchanged is None:
            temp.replace(target)
        elif old is None:
            try:
                file_swap.rename_new(temp, target)
            except FileExistsError as error:
                raise FileChangedError(error.errno, "Another program has created it", str(target)) from None
        else:
            file_swap.swap(temp, fd, target, unchanged)
    except BaseException:
        _discard(temp, fd)
        raise
    finally:
        os.close(fd)  # releases the lock, after the file has its final name
    if sync:
        sync_folder(target.parent)


def _temporary(folder: Path, mode: int) -> tuple[Path, int]:
    """Create a private file to be renamed.

    The few possible names are tried in a fixed order. So the next write to a folder finds a file left by a
    killed process without listing the folder: nobody holds its lock.
    """
    names = (folder / f".tau-{number}.tmp" for number in range(_TEMP_NAMES))
    for temp in names:
        fd = _create_locked(temp, mode)
        if fd is not None:
            for other in names:  # left by killed concurrent writers
                if not _remove_stale(other):
                    break
            return temp, fd
    temp = folder / f".tau-{os.urandom(4).hex()}.tmp"
    return temp, _create(temp, mode)


def _create_locked(temp: Path, mode: int) -> int | None:
    """Create the file and lock it; None if another writer uses that name."""
    try:
        fd = _create(temp, mode)
    except FileExistsError:
        if not _remove_stale(temp):
            return None
        try:
            fd = _create(temp, mode)
        except FileExistsError:
            return None
    try:
        # Until we hold the lock, another writer may consider the file stale and remove it.
        if try_lock(fd) and os.fstat(fd).st_nlink:
            return fd
    except OSError:
        _discard(temp, fd)
        os.close(fd)
        raise
    os.close(fd)
    return None


def _remove_stale(temp: Path) -> bool:
    """Remove the temporary file of a dead writer. False if there is none, or its writer may be alive."""
    try:
        fd = os.open(temp, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
        return regular and try_lock(fd, without_locks=False) and _discard(temp, fd)
    except OSError:
        return False
    finally:
        os.close(fd)


def _discard(temp: Path, fd: int) -> bool:
    """Remove a temporary file that we have locked, unless its name now belongs to another file."""
    with suppress(OSError):
        if os.path.samestat(os.fstat(fd), temp.lstat()):
            temp.unlink()
            return True
    return False


def _create(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)


def _keep_identity(fd: int, target: Path, old: os.stat_result, mode: int | None) -> None:
    """Copy owner, permissions and access list of the old file. Raises PermissionError for the owner."""
    kept = stat.S_IMODE(old.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)  # as after any write
    wanted = kept if mode is None else mode
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except OSError as error:
            raise PermissionError(errno.EPERM, "The owner cannot be kept", str(target)) from error
    _set_mode(fd, wanted)
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(target):
                if name.startswith(_PRESERVED_ATTRIBUTES) and (mode is None or name.startswith("user.")):
                    os.setxattr(fd, name, os.getxattr(target, name))


def _set_mode(fd: int, mode: int) -> None:
    if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
        with suppress(PermissionError):  # some file systems have no modes to set
            os.fchmod(fd, mode)


def _write_in_place(
    target: Path, data: bytes, mode: int | None, sync: bool, unchanged: Unchanged | None
) -> None:
    """Overwrite a file that cannot be replaced; a backup protects its old content."""
    if unchanged is not None:
        file_swap.refuse_open_writers(target)
    fd = os.open(target, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        old = _read_all(fd)
        backup = _back_up(target, old)
        if unchanged is not None:
            file_swap.keep_others_out(fd)
            if not unchanged(file_swap.stat_or_none(target)):
                backup.unlink()
                raise file_swap.changed(target)
        try:
            _overwrite(fd, data, sync)
            if mode is not None:
                _set_mode(fd, mode)
        except BaseException as failure:
            try:
                _overwrite(fd, old, sync)
            except OSError as error:
                number = getattr(failure, "errno", None) or error.errno
                raise OSError(
                    number, f"Writing failed and the file is damaged; its old content is in {backup}"
                ) from failure
            with suppress(OSError):
                backup.unlink()
            raise
        with suppress(OSError):  # a leftover backup is not a failed write
            backup.unlink()
    finally:
        os.close(fd)


def _read_all(fd: int) -> bytes:
    with open(fd, "rb", buffering=0, closefd=False) as file:
        return file.readall()


def _back_up(target: Path, old: bytes) -> Path:
    """Write a synced copy next to the file, or to the temporary folder if that is not allowed."""
    name = f"{target.name[:40]}.tau-backup-{os.urandom(4).hex()}"
    backup = target.parent / name
    try:
        fd = _create(backup, 0o600)
    except OSError as error:
        if error.errno not in _CANNOT_REPLACE:
            raise
        backup = temporary_folder() / name
        fd = _create(backup, 0o600)
    try:
        try:
            write_all(fd, old)
            sync_file(fd)
        finally:
            os.close(fd)
    except BaseException:
        with suppress(OSError):
            backup.unlink()
        raise
    sync_folder(backup.parent)
    return backup


def _overwrite(fd: int, data: bytes, sync: bool) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    write_all(fd, data)
    os.ftruncate(fd, len(data))
    if sync:
        sync_file(fd)


def temporary_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The temporary folder, without importing tempfile."""
    return Path(environ.get("TMPDIR") or "/tmp")


def is_private(folder: Path) -> bool:
    """Whether only this user and root can change what is in a folder."""
    try:
        found = folder.stat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def anonymous_file(data: bytes) -> int:
    """Create an anonymous file with this content: unlike a pipe, it never blocks."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("tau")
    else:
        path = temporary_folder() / f"tau-{os.urandom(8).hex()}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        path.unlink()
    try:
        write_all(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however many calls it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_file(fd: int) -> None:
    """fsync, if the file system supports it."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _SYNC_UNSUPPORTED:
            raise


def sync_folder(folder: Path) -> None:
    """Make a rename durable. Failures are ignored: readers already see the new content."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


class OwnStdout:
    """What the program itself writes to; code of others in the process can write to descriptor 1.

    Until `fd` is reserved, it is descriptor 1.
    """

    fd = STDOUT

    @classmethod
    def reserve(cls) -> int:
        """Duplicate descriptor 1 for the program alone: from now on, 1 and 2 may be pointed elsewhere."""
        cls.release()
        cls.fd = os.dup(STDOUT)
        return cls.fd

    @classmethod
    def release(cls) -> None:
        if cls.fd != STDOUT:
            os.close(cls.fd)
            cls.fd = STDOUT
