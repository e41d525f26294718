"""Folders whose files are in memory, and seen by this process and its children only."""

import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 16384, 1 << 18, 2


class Mounts:
    """What this process mounts: only its own business after `separate`."""

    are_ours = False


def separate() -> bool:
    """Keep our mounts to ourselves, if we may mount: root on Linux. They are gone when our processes are."""
    if sys.platform.startswith("linux") and os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        if libc.unshare(CLONE_NEWNS) == 0 and _mount(None, Path("/"), MS_REC | MS_PRIVATE):
            Mounts.are_ours = True
    return Mounts.are_ours


def keep(folder: Path) -> bool:
    """Keep an empty folder in memory until `forget`: no disk to wait for."""
    return Mounts.are_ours and _mount(b"tmpfs", folder, 0)


def forget(folder: Path) -> None:
    if Mounts.are_ours:
        ctypes.CDLL(None).umount2(os.fsencode(folder), MNT_DETACH)


def used_bytes(folder: Path) -> int:
    place = os.statvfs(folder)
    return (place.f_blocks - place.f_bfree) * place.f_frsize


def _mount(kind: bytes | None, folder: Path, flags: int) -> bool:
    data = b"mode=0700" if kind else None
    return bool(ctypes.CDLL(None).mount(kind, os.fsencode(folder), kind, ctypes.c_ulong(flags), data) == 0)
