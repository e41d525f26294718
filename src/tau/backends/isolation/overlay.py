"""Overlay mounts: below, files that never change; above, what one agent writes."""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path

from tau.backends.isolation.git_calls import IsolationError
from tau.base.files import make_private
from tau.base.programs import find_program
from tau.base.run import OUTSIDE, Process, Runner, capture

KINDS = ("overlay", "fuse-overlay")
START_S, END_S = 10.0, 5.0
UPPER, WORK = "upper", "work"
# The mount lasts as long as this program, which ends when its input does: at the latest with tau, however
# tau dies. It ignores the TERM that then reaches all children, or it could not unmount.
_HOLDER = """
trap '' TERM INT HUP
{start} 2>&1 || exit
echo mounted
cat >/dev/null
{end}
"""
_START = {
    "overlay": 'mount -t overlay overlay -o "$1" "$2"',
    "fuse-overlay": 'fuse-overlayfs -o "$1" "$2"',
}
_END = {"overlay": 'umount -l "$2"', "fuse-overlay": 'fusermount3 -u "$2" || fusermount3 -uz "$2"'}
_PROGRAMS = {"overlay": ("mount", "umount"), "fuse-overlay": ("fuse-overlayfs", "fusermount3")}


class OverlayMount:
    """A mounted overlay; `end` unmounts it and keeps both layers."""

    def __init__(self, run: Runner, process: Process, target: Path) -> None:
        self._run = run
        self._process = process
        self._target = target

    async def end(self) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(END_S):
                await self._process.end_input()
                await self._process.wait()
        await self._process.__aexit__(None, None, None)
        if is_mounted(self._target):
            await detach(self._run, self._target)


async def mount_overlay(run: Runner, kind: str, lower: Path, folder: Path, target: Path) -> OverlayMount:
    """Mount `lower` on `target`; changes go to `folder`. Raises IsolationError."""
    if missing := next((name for name in _PROGRAMS[kind] if find_program(name) is None), ""):
        raise IsolationError(f"{missing} is not installed")
    upper, work = folder / UPPER, folder / WORK
    if any(sign in f"{lower}{folder}" for sign in ',:\\"\n'):
        raise IsolationError(f"{folder} has a character in its name that mount options cannot have")
    if is_mounted(target):  # by a process that is gone
        await detach(run, target)
    for path in (upper, work, target):
        make_private(path)
    upper.chmod(lower.stat().st_mode & 0o7777)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    if kind == "overlay":
        options += ",redirect_dir=on"  # or folders from below cannot be renamed
    script = _HOLDER.format(start=_START[kind], end=_END[kind])
    argv = ["/bin/sh", "-c", script, "sh", options, str(target)]
    process = await run.start(argv, cwd=Path("/"), sandbox=OUTSIDE, stdin="open")
    try:
        async with asyncio.timeout(START_S):
            said = ""
            async for chunk in process.output():
                said += chunk.decode("utf-8", "replace")
                if said.endswith("mounted\n"):
                    return OverlayMount(run, process, target)
    except TimeoutError:
        said = f"it was not ready after {START_S:g} s"
    except BaseException:
        await OverlayMount(run, process, target).end()
        raise
    await OverlayMount(run, process, target).end()
    raise IsolationError(said.strip().splitlines()[-1] if said.strip() else "the mount failed")


async def try_overlay(run: Runner, kind: str, folder: Path) -> str:
    """Mount and use one in a new folder; why that does not work, or nothing."""
    place = folder / f".probe-{os.urandom(4).hex()}"
    try:
        make_private(place / "lower")
        (place / "lower" / "old").write_text("old")
        mount = await mount_overlay(run, kind, place / "lower", place, place / "files")
        try:
            (place / "files" / "old").write_text("new")
            works = (place / UPPER / "old").read_text() == "new"
        finally:
            await mount.end()
    except (IsolationError, OSError) as error:
        return str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return "" if works else "what was written did not arrive"


def is_mounted(path: Path) -> bool:
    """Also for a mount whose program is gone, where every call fails."""
    try:
        return path.is_mount()
    except OSError:
        return True


async def detach(run: Runner, path: Path) -> None:
    """Take away a mount that no process holds. Raises IsolationError if it stays."""
    for argv in (("fusermount3", "-uz"), ("umount", "-l")):
        if is_mounted(path) and find_program(argv[0]) is not None:
            async with await run.start([*argv, str(path)], cwd=Path("/"), sandbox=OUTSIDE) as process:
                await capture(process)
    if is_mounted(path):
        raise IsolationError(f"{path} is still mounted; unmount it")
