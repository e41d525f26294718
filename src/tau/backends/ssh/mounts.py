"""Mounts a host's files in a local folder while it is in use, if sshfs is installed.

A failure to mount is only logged. A mount is never inside a folder that is removed recursively.
"""

import asyncio
import os
import shlex
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from tau.backends.ssh import arguments
from tau.backends.ssh.hosts import SshHost
from tau.base import log
from tau.base.files import make_private
from tau.base.programs import find_program
from tau.base.run import Limits, Process, Runner, capture
from tau.base.tasks import spawn

READY_S = 10
UNMOUNT_S = 5
POLL_S = 0.02
MOUNT_TABLE = Path("/proc/self/mountinfo")


class Mounts:
    """An async context manager: leaving it unmounts everything. `folder` has one folder per host."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        self._runner = runner
        self._folder = folder
        self._tried: set[str] = set()
        self._mounted: dict[str, Path] = {}
        self._tasks = asyncio.TaskGroup()
        self._running: list[asyncio.Task[None]] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Mounts":
        await self._stack.enter_async_context(self._tasks)
        self._stack.callback(lambda: [task.cancel() for task in self._running])
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(None, None, None)
        for path in self._mounted.values():
            await self._unmount(path)
        self._mounted.clear()

    def folder_of(self, host: SshHost) -> Path | None:
        return self._mounted.get(host.name)

    async def mount(self, host: SshHost, socket: str) -> None:
        """Try to mount, once per host. A failure is only logged."""
        if host.name in self._tried:
            return
        self._tried.add(host.name)
        if find_program("sshfs") is None:
            return
        path = self._folder / host.name
        try:
            make_private(path)
            if await self._is_mounted(path):
                log.warning(f"{path} is already mounted, perhaps by another session; leaving it alone.")
                return
            process = await self._runner.start(_words(host, socket, path), cwd=self._folder)
            task = spawn(self._tasks, self._hold(process, path), name=f"sshfs {host.name}")
            self._running.append(task)
            async with asyncio.timeout(READY_S):
                while not await self._is_mounted(path):
                    if task.done():
                        return
                    await asyncio.sleep(POLL_S)
            self._mounted[host.name] = path
        except (OSError, TimeoutError) as error:
            log.warning(f"The files of {host.name} could not be mounted at {path}.", error)

    async def _hold(self, process: Process, path: Path) -> None:
        output = b""
        try:
            async with process:
                async for chunk in process.output():
                    output = (output + chunk)[-4096:]
        except Exception as error:  # it would cancel the whole session
            log.warning(f"sshfs at {path} failed.", error)
        log.warning(f"sshfs at {path} has ended: {output.decode('utf-8', 'replace')}")

    async def _unmount(self, path: Path) -> None:
        """Unmount with the system's tool if ending sshfs did not."""
        for words in (["fusermount3", "-uz"], ["fusermount", "-uz"], ["umount"]):
            if not await self._is_mounted(path):
                break
            with suppress(OSError):
                async with await self._runner.start(
                    [*words, str(path)], cwd=self._folder, limits=Limits(timeout=UNMOUNT_S)
                ) as process:
                    await capture(process)
        with suppress(OSError):
            path.rmdir()  # removes only an empty folder: mounted files are safe

    async def _is_mounted(self, path: Path) -> bool:
        """Check the system's mount table: accessing the folder could block on the network."""
        place = f"{path.parent.resolve()}/{path.name}"
        try:
            table = MOUNT_TABLE.read_text(errors="replace")
            return any(_unescape(line.split(" ")[4]) == place for line in table.splitlines())
        except FileNotFoundError:
            async with await self._runner.start(
                ["mount"], cwd=self._folder, limits=Limits(timeout=UNMOUNT_S)
            ) as process:
                shown = await capture(process)
            return f" on {place} " in shown.output.decode("utf-8", "replace")


def _words(host: SshHost, socket: str, path: Path) -> list[str]:
    """Return the sshfs argv: in the foreground so it ends with us, no links out of the mount, private."""
    ssh = shlex.join(arguments.session_argv(host, socket)).replace(",", "\\,")
    options = ("-o", f"ssh_command={ssh}", "-o", "nosuid,nodev,max_conns=1")
    address = f"[{host.address}]" if ":" in host.address else host.address
    return [find_program("sshfs") or "sshfs", "-f", *options, f"{address}:/", os.fspath(path)]


def _unescape(text: str) -> str:
    """Decode octal escapes, which the kernel uses for spaces."""
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
