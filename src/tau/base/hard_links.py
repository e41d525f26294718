"""Finds the other names of files: a decision about a file must hold for all of them."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence

MAX_ENTRIES = 50_000  # of folders that are searched for names


def shared_identity(path: str) -> tuple[int, int] | None:
    """Device and inode of a file with several names; None for any other."""
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino) if stat.S_ISREG(info.st_mode) and info.st_nlink > 1 else None


def other_names(paths: Iterable[str], folders: Sequence[str]) -> list[str]:
    """Names below `folders` of the same files. Nothing is searched if none of them has another name."""
    wanted = {identity for path in paths if (identity := shared_identity(path)) is not None}
    if not wanted:
        return []
    inodes = {inode for _, inode in wanted}
    found = (entry for folder in folders for entry in entries_below(folder))
    return [
        entry.path for entry in found if entry.inode() in inodes and shared_identity(entry.path) in wanted
    ]


def entries_below(folder: str) -> "Iterator[os.DirEntry[str]]":
    """Files and folders below a folder, the nearest first; links are not followed."""
    level, left = [folder], MAX_ENTRIES
    for one in level:
        try:
            with os.scandir(one) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        level.append(entry.path)
        except OSError:
            continue
