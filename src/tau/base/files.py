"""Atomic file writes, and locks between processes."""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_MAX_LINKS = 40
_LOCK_PAUSE_S = 0.02
_SYNC_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
_CANNOT_REPLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}
_KEPT_ATTRIBUTES = ("user.", "system.posix_acl_access")
_TEMP_NAMES = 16

if sys.platform == "win32":

    def try_lock(fd: int, *, without_locks: bool = True) -> bool:
        """Windows has no flock: tau relies on being the only writer."""
        return without_locks

    def unlock(fd: int) -> None:
        """Nothing to release."""

else:
    import fcntl

    def try_lock(fd: int, *, without_locks: bool = True) -> bool:
        """Take the exclusive lock of an open file without waiting; False if someone else has it.

        A file system that knows no locks counts as locked: refusing to work there would help nobody. Who must
        know for sure gives another answer for it.
        """
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL):
                raise
            return without_locks
        return True

    def unlock(fd: int) -> None:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)


def typed_path(name: str) -> Path:
    """Expand a typed path: `~` is the home folder; `~x` is unchanged if there is no user x."""
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises in that case


def mode_of(path: Path) -> int:
    """File type and permissions; 0 if the path is missing or inaccessible."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def modified_ns(path: Path) -> int:
    """When a file was last written; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def make_private(folder: Path) -> None:
    """Create a private folder and its missing parents."""
    missing = [place for place in (folder, *folder.parents) if not mode_of(place)]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)


def open_at_once(path: str, flags: int) -> int:
    """An opener for `open` that does not block on a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


@contextmanager
def locked(path: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the lock that goes with `path`; it excludes other processes and threads, and our own second try.

    Waits by sleeping, which stops an event loop: hold it for one quick read and write. The lock lives in
    `<name>.lock`, which stays: deleting it would let two writers hold two different locks.
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
    path: Path, data: bytes, *, mode: int | None = None, executable: bool = False, sync: bool = True
) -> None:
    """Replace the content of `path`; readers find all of the old or all of the new, even after a crash.

    Follows symbolic links; keeps mode, owner and access lists. `mode` sets the permissions, otherwise a new
    file takes them from the umask, and `executable` lets everyone who may read it run it. Raises OSError on
    failure and leaves the old content.
    """
    try:
        target = _follow(path)
        old = _existing(target)
        if old is not None and old.st_nlink > 1:
            # A rename would detach hard links, which would silently keep the old content.
            _write_in_place(target, data, mode, sync)
            return
        try:
            _replace(target, data, old, mode, executable, sync)
        except OSError as error:
            # A writable file in a read-only folder, or a bind mount, as in containers.
            if old is None or error.errno not in _CANNOT_REPLACE:
                raise
            _write_in_place(target, data, mode, sync)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _follow(path: Path) -> Path:
    """The target of a chain of symbolic links, which need not exist."""
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
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "Is a device or a pipe, not a regular file", str(target))
    # A rename needs permission for the folder, not the file: a read-only file must not change.
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "The file is read-only", str(target))
    return info


def _replace(
    target: Path, data: bytes, old: os.stat_result | None, mode: int | None, executable: bool, sync: bool
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
        temp.replace(target)
    except BaseException:
        _discard(temp, fd)
        raise
    finally:
        os.close(fd)  # and with it the lock, once the file has its final name
    if sync:
        sync_folder(target.parent)


def _temporary(folder: Path, mode: int) -> tuple[Path, int]:
    """A new file that is ours alone, to be renamed.

    The names are few and tried in one order. So a file that a killed process left is met by the next write
    into its folder, which need not be listed for that, and the lock that died with its owner gives it away.
    """
    names = iter([folder / f".tau-{number}.tmp" for number in range(_TEMP_NAMES)])
    for temp in names:
        fd = _create_locked(temp, mode)
        if fd is not None:
            for other in names:  # left by killed concurrent writers
                if not _take_away(other):
                    break
            return temp, fd
    temp = folder / f".tau-{os.urandom(4).hex()}.tmp"
    return temp, _create(temp, mode)


def _create_locked(temp: Path, mode: int) -> int | None:
    """The new file, open and locked; None if another writer uses that name."""
    try:
        fd = _create(temp, mode)
    except FileExistsError:
        if not _take_away(temp):
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


def _take_away(temp: Path) -> bool:
    """Remove a temporary file of a dead writer. False if there is none, or its writer may be alive."""
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
    """Remove a temporary file, unless its name belongs to another one by now. The lock is ours."""
    with suppress(OSError):
        if os.path.samestat(os.fstat(fd), temp.lstat()):
            temp.unlink()
            return True
    return False


def _create(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)


def _keep_identity(fd: int, target: Path, old: os.stat_result, mode: int | None) -> None:
    """Copy owner, permissions and access list of the old file to the new one, as far as allowed."""
    wanted = stat.S_IMODE(old.st_mode) if mode is None else mode
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except OSError:
            wanted &= ~stat.S_ISUID
            try:
                os.fchown(fd, -1, old.st_gid)
            except OSError:
                # Another group must not inherit the old group's rights.
                wanted = (wanted & 0o707) | ((wanted & 0o007) << 3)
    _set_mode(fd, wanted)
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(target):
                if name.startswith(_KEPT_ATTRIBUTES) and (mode is None or name.startswith("user.")):
                    os.setxattr(fd, name, os.getxattr(target, name))


def _set_mode(fd: int, mode: int) -> None:
    if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
        with suppress(PermissionError):  # some file systems have no modes to set
            os.fchmod(fd, mode)


def _write_in_place(target: Path, data: bytes, mode: int | None, sync: bool) -> None:
    """Overwrite a file that cannot be replaced, with a backup of its old content."""
    old = target.read_bytes()
    fd = os.open(target, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        backup = _back_up(target, old)
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


def _back_up(target: Path, old: bytes) -> Path:
    """A synced copy next to the file, or in the temporary folder if that is not allowed."""
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
    """Make a rename durable. A failure is not the write's: readers already see the new content."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
