"""The files of a host in a local folder while it is in use, where sshfs is installed.

A failure to mount is logged and nothing else. A mount never lies in a folder that is removed as a whole.
"""

import asyncio
import os
import shlex
import shutil
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from tau.backends.ssh import arguments
from tau.backends.ssh.hosts import SshHost
from tau.base import log
from tau.base.files import make_private
from tau.base.run import Limits, Process, Runner, capture
from tau.base.tasks import spawn

READY_S = 10
UNMOUNT_S = 5
POLL_S = 0.02
MOUNT_TABLE = Path("/proc/self/mountinfo")


class Mounts:
    """An async context manager: leaving it unmounts everything. `folder` holds one folder for each host."""

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
        """Try once for each host. A failure is logged and changes nothing."""
        if host.name in self._tried:
            return
        self._tried.add(host.name)
        if shutil.which("sshfs") is None:
            return
        path = self._folder / host.name
        try:
            make_private(path)
            if await self._is_mounted(path):
                log.warning(f"{path} is mounted already, by another session perhaps; it is left alone.")
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
        said = b""
        try:
            async with process:
                async for chunk in process.output():
                    said = (said + chunk)[-4096:]
        except Exception as error:  # it would cancel the whole session
            log.warning(f"sshfs at {path} failed.", error)
        log.warning(f"sshfs at {path} has ended: {said.decode('utf-8', 'replace')}")

    async def _unmount(self, path: Path) -> None:
        """sshfs has been ended, which unmounts; where it could not, the system is asked."""
        for words in (["fusermount3", "-uz"], ["fusermount", "-uz"], ["umount"]):
            if not await self._is_mounted(path):
                break
            with suppress(OSError):
                async with await self._runner.start(
                    [*words, str(path)], cwd=self._folder, limits=Limits(timeout=UNMOUNT_S)
                ) as process:
                    await capture(process)
        with suppress(OSError):
            path.rmdir()  # of an empty folder only: what is still mounted keeps its files

    async def _is_mounted(self, path: Path) -> bool:
        """From the system's table: looking at the folder itself could wait for the network."""
        place = f"{path.parent.resolve()}/{path.name}"
        try:
            table = MOUNT_TABLE.read_text(errors="replace")
            return any(_unescaped(line.split(" ")[4]) == place for line in table.splitlines())
        except FileNotFoundError:
            async with await self._runner.start(
                ["mount"], cwd=self._folder, limits=Limits(timeout=UNMOUNT_S)
            ) as process:
                shown = await capture(process)
            return f" on {place} " in shown.output.decode("utf-8", "replace")


def _words(host: SshHost, socket: str, path: Path) -> list[str]:
    """In the foreground, so that it ends with us; no links out of the mount, nobody else looks in."""
    ssh = shlex.join(arguments.session_words(host, socket)).replace(",", "\\,")
    options = ("-o", f"ssh_command={ssh}", "-o", "nosuid,nodev,max_conns=1")
    address = f"[{host.address}]" if ":" in host.address else host.address
    return ["sshfs", "-f", *options, f"{address}:/", os.fspath(path)]


def _unescaped(text: str) -> str:
    """The kernel writes blanks and the like in octal."""
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
