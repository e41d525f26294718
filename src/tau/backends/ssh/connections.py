"""Connections to hosts, one each, kept for the session and shared by its commands."""

import asyncio
import os
import re
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from tau.backends.ssh import arguments
from tau.backends.ssh.command import RemoteCommand, RemoteForm, build_form
from tau.backends.ssh.hosts import SshHost
from tau.backends.ssh.info import ASK_UNIX, HostInfo, InfoCache, probe
from tau.backends.ssh.mounts import Mounts
from tau.base import log
from tau.base.errors import ToolError
from tau.base.files import temporary_folder
from tau.base.run import Limits, Process, Runner, capture
from tau.base.tasks import spawn
from tau.base.text import clean_line

IDLE_S = 3600
READY_S = 2 * arguments.CONNECT_S  # to connect and authenticate
PROBE_S = 20
ERROR_CHARS = 600
ERROR_BYTES = 4096
# Socket paths are limited to 104 bytes on some systems, and ssh temporarily adds 17.
MAX_SOCKET_BYTES = 104 - 1 - 17


class Connections:
    """An async context manager: leaving it ends all connections and mounts. Connections open on first use.

    `cache` is the folder for host info. With `mounts`, a host's files are mounted in a folder there while it
    is in use, if sshfs is installed.
    """

    def __init__(
        self, runner: Runner, *, cache: Path, mounts: Path | None = None, idle_s: float = IDLE_S
    ) -> None:
        self._runner = runner
        self._cache = InfoCache(cache)
        self._idle_s = idle_s
        self._masters: dict[str, Master] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._stack = AsyncExitStack()
        self._tasks = asyncio.TaskGroup()
        self._folder: Path | None = None
        self._mounts = None if mounts is None else Mounts(runner, mounts)

    async def __aenter__(self) -> "Connections":
        await self._stack.enter_async_context(self._tasks)
        self._stack.callback(self._stop_masters)
        if self._mounts is not None:
            await self._stack.enter_async_context(self._mounts)
        return self

    async def __aexit__(self, *error: object) -> None:
        try:
            await self._stack.__aexit__(None, None, None)
        finally:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._runner.forget_folder(self._folder)
                self._folder = None

    def known(self, host: SshHost) -> HostInfo | None:
        return self._cache.get(host)

    async def info(self, host: SshHost, *, again: bool = False) -> HostInfo:
        """Return info about a host, probing it if needed. Raises ToolError if it cannot be reached."""
        async with self._hold_connection(host) as socket:
            return await self._info(host, socket, again=again)

    @asynccontextmanager
    async def start(
        self, host: SshHost, command: str, *, cwd: str | None = None, limits: Limits | None = None
    ) -> AsyncIterator[RemoteCommand]:
        """Run a remote command for the duration of the block. The time limit begins when it starts.

        Raises ToolError if the host cannot be reached.
        """
        async with self._hold_connection(host) as socket:
            info = await self._info(host, socket)
            form = build_form(info, host, command, cwd, os.urandom(8).hex())
            if self._mounts is not None and socket is not None:
                await self._mounts.mount(host, socket)
            async with await self._start_command(host, socket, form, limits) as running:
                yield running

    def mounted(self, host: SshHost) -> Path | None:
        """The folder where the host's files are mounted, if any."""
        return None if self._mounts is None else self._mounts.folder_of(host)

    @asynccontextmanager
    async def _hold_connection(self, host: SshHost) -> AsyncIterator[str | None]:
        """Hold a connection for the block and yield its socket; None if connections cannot be shared."""
        check_key(host)
        async with self._locks.setdefault(host.name, asyncio.Lock()):
            master = await self._master(host)
            if master is not None:
                master.begin()
        try:
            yield None if master is None else master.socket
        finally:
            if master is not None:
                master.end()

    async def _info(self, host: SshHost, socket: str | None, *, again: bool = False) -> HostInfo:
        info = None if again else self._cache.get(host)
        if info is None:

            async def ask(remote: str) -> str:
                return await self._answer(host, socket, remote)

            info = await probe(host, ask)
            self._cache.put(host, info)
        return info

    async def _answer(self, host: SshHost, socket: str | None, remote: str) -> str:
        words = arguments.command_argv(host, socket, remote)
        async with await self._launch(words, Limits(timeout=PROBE_S)) as process:
            answer = await capture(process, max_bytes=ERROR_BYTES)
        text = answer.output.decode("utf-8", "replace")
        if answer.exit.timed_out or (answer.exit.code == 255 and remote == ASK_UNIX):
            raise _unreachable_error(host, text)
        return text

    async def _start_command(
        self, host: SshHost, socket: str | None, form: RemoteForm, limits: Limits | None
    ) -> RemoteCommand:
        words = arguments.command_argv(host, socket, form.remote)
        process = await self._launch(words, limits, scripted=form.script is not None)
        running = RemoteCommand(process, form)
        try:
            await running.send_script()
        except BaseException as error:
            await running.__aexit__(type(error), error, error.__traceback__)
            raise
        return running

    async def _launch(self, words: list[str], limits: Limits | None, *, scripted: bool = False) -> Process:
        try:
            return await self._runner.start(
                words,
                cwd=temporary_folder(),
                env={"TERM": "dumb"},
                limits=limits,
                stdin="open" if scripted else None,
            )
        except FileNotFoundError as error:
            if error.filename != words[0]:
                raise
            raise ToolError("The program ssh is not on the PATH; install OpenSSH.") from None

    async def _master(self, host: SshHost) -> "Master | None":
        """Return the shared connection, opened if needed. None if connections cannot be shared."""
        old = self._masters.get(host.name)
        if old is not None and old.is_ready and old.host == host:
            return old
        if old is not None:
            old.stop()
            del self._masters[host.name]
        folder = self._socket_folder()
        if folder is None:
            return None
        socket = f"{folder}/{os.urandom(4).hex()}"
        process = await self._launch(arguments.master_argv(host, socket), None)
        master = Master(host, process, socket, self._idle_s)
        master.task = spawn(self._tasks, master.hold(), name=f"ssh {host.name}")
        try:
            await master.ready()
        except BaseException:
            master.stop()
            raise
        self._masters[host.name] = master
        return master

    def _socket_folder(self) -> Path | None:
        """Return a private folder with a short name for sockets."""
        if self._folder is None and os.name == "posix":
            for place in dict.fromkeys((temporary_folder(), Path("/tmp"))):
                socket = place / "tau-ssh-12345678" / "12345678"
                # ssh expands `%` in the path, and sshfs splits it at commas and spaces.
                plain = re.fullmatch(r"/[\w./+-]+", str(socket), re.ASCII)
                if plain and len(os.fsencode(socket)) <= MAX_SOCKET_BYTES and os.access(place, os.W_OK):
                    self._folder = Path(tempfile.mkdtemp(prefix="tau-ssh-", dir=place))
                    self._runner.remove_at_exit(self._folder)
                    break
        return self._folder

    def _stop_masters(self) -> None:
        for master in self._masters.values():
            master.stop()
        self._masters.clear()


class Master:
    """One shared connection: an ssh process that runs until stopped or idle for too long."""

    def __init__(self, host: SshHost, process: Process, socket: str, idle_s: float) -> None:
        self.host = host
        self.socket = socket
        self.task: asyncio.Task[None] | None = None
        self._process = process
        self._idle_s = idle_s
        self._commands = 0
        self._output = b""
        self._gone = asyncio.Event()
        self._deadline = asyncio.timeout(None)

    async def hold(self) -> None:
        """Run until it ends, and keep its last output. Runs in the task group of the connections."""
        try:
            with suppress(TimeoutError):
                async with self._process, self._deadline:
                    async for chunk in self._process.output():
                        self._output = (self._output + chunk)[-ERROR_BYTES:]
        except Exception as error:  # it would cancel the whole session
            log.warning(f"The connection to {self.host.name} failed.", error)
        finally:
            self._gone.set()

    async def ready(self) -> None:
        """Wait until ssh listens on the socket. Raises ToolError."""
        pause = 0.002
        try:
            async with asyncio.timeout(READY_S):
                while not self.is_ready:
                    if self._gone.is_set():
                        raise _unreachable_error(self.host, self._output.decode("utf-8", "replace"))
                    with suppress(TimeoutError):
                        async with asyncio.timeout(pause):
                            await self._gone.wait()
                    pause = min(pause * 1.5, 0.05)
        except TimeoutError:
            raise _unreachable_error(self.host, f"no answer within {READY_S} s") from None

    @property
    def is_ready(self) -> bool:
        return not self._gone.is_set() and Path(self.socket).exists()

    def begin(self) -> None:
        self._commands += 1
        self._reschedule(None)

    def end(self) -> None:
        """End one use. The idle time starts when the last use ends."""
        self._commands -= 1
        if not self._commands:
            self._reschedule(asyncio.get_running_loop().time() + self._idle_s)

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _reschedule(self, when: float | None) -> None:
        if not self._gone.is_set():
            with suppress(RuntimeError):  # it is already ending
                self._deadline.reschedule(when)


def _unreachable_error(host: SshHost, output: str) -> ToolError:
    lines = [line for line in output.splitlines() if not line.startswith("@")]  # a frame around a warning
    reason = clean_line("\n".join(lines)).rstrip(".") or "ssh gave no reason"
    if len(reason) > ERROR_CHARS:  # the cause and what helps come last
        reason = f"…{reason[1 - ERROR_CHARS :].partition(' ')[2]}"
    return ToolError(f'No connection to "{host.name}" ({host.target}): {reason}.')


def check_key(host: SshHost) -> None:
    """Raise ToolError if ssh would refuse the key or silently ignore it."""
    if host.key is None:
        return
    try:
        mode = host.key.stat().st_mode
    except FileNotFoundError:
        raise ToolError(f'The key of "{host.name}" does not exist: {host.key}.') from None
    except OSError as error:
        text = f'The key of "{host.name}" cannot be read: {host.key}: {error.strerror}.'
        raise ToolError(text) from error
    if not stat.S_ISREG(mode):
        raise ToolError(f'The key of "{host.name}" is not a file: {host.key}.')
    if os.name == "posix" and mode & 0o077:
        raise ToolError(
            f'The key of "{host.name}" is accessible to others ({stat.S_IMODE(mode):03o}); it must be 600 or '
            f"stricter: chmod 600 {host.key}."
        )
