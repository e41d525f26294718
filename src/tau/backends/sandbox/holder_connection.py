"""The connection to the first process of a sandbox: starts children there, hears of their exits."""

import array
import asyncio
import errno
import marshal
import os
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tau.base import log
from tau.base.errors import ToolError
from tau.base.files import anonymous_file
from tau.base.run import ChildFiles, Command
from tau.base.tasks import shielded

MAX_PACKET_BYTES = 64 * 1024
MAX_FDS = 250
ANSWER_S = 10.0
_CREDENTIALS = struct.Struct("3i")


class SandboxEnded(ToolError):
    """The sandbox ended before the command started; another one can run it."""


class SandboxedChild:
    """Implements `tau.base.run.Child` for a child of the sandbox's first process."""

    def __init__(self, connection: "HolderConnection", number: int, pid: int) -> None:
        self._connection = connection
        self._number = number
        self._reaped = False
        self.pid = pid

    def watch(self, exited: Callable[[int], None]) -> None:
        self._connection.watch(self._number, exited)

    def stop_watching(self) -> None:
        self._connection.stop_watching(self._number)

    def reap(self) -> None:
        if not self._reaped:
            self._reaped = True
            self._connection.release(self._number)


class HolderConnection:
    """Use it in one event loop. `ready` is what the sandbox was shown to contain, once it has started."""

    def __init__(self, control: socket.socket, lost: Callable[[], None]) -> None:
        control.setblocking(False)
        self._control = control
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._count = 0
        self._answers: dict[int, asyncio.Future[tuple[str, list[int]]]] = {}
        self._watchers: dict[int, Callable[[int], None]] = {}
        self._exits: dict[int, int] = {}
        self.ready: asyncio.Future[dict[str, str]] = self._loop.create_future()
        self.alive = True
        self._loop.add_reader(control, self._read)

    async def spawn(self, command: Command, files: ChildFiles) -> SandboxedChild:
        """Raises OSError naming the program or folder that cannot be used."""
        started: list[SandboxedChild] = []
        try:
            await shielded(self._spawn(command, files, started))
        except asyncio.CancelledError:
            for child in started:
                with suppress(OSError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.watch(lambda _, child=child: child.reap())  # type: ignore[misc]
            raise
        return started[0]

    async def _spawn(self, command: Command, files: ChildFiles, started: list[SandboxedChild]) -> None:
        self._count += 1
        number = self._count
        wanted = {
            "argv": [os.fsencode(word) for word in command.argv],
            "env": {os.fsencode(name): os.fsencode(value) for name, value in command.env.items()},
            "cwd": os.fsencode(command.cwd),
            "fds": list(files.fds),
            "null": files.stdin < 0,
            "terminal": files.is_terminal,
        }
        request = anonymous_file(marshal.dumps(wanted))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            ours.setblocking(False)
            stdin = files.stdout if files.stdin < 0 else files.stdin
            streams = (stdin, files.stdout, files.stdout if files.stderr < 0 else files.stderr)
            await self._send(b"S", number, None, [request, theirs.fileno(), *streams, *files.fds])
            theirs.close()
            pid = 0
            async with asyncio.timeout(ANSWER_S):
                while data := await self._receive(ours):
                    if data[0] == b"P" and not pid:
                        pid = data[1]
                        started.append(SandboxedChild(self, number, pid))
                    else:
                        started.clear()
                        self.watch(number, lambda _: self.release(number))
                        raise _failure(data[0], command)
            if not pid:
                raise SandboxEnded("The sandbox ended before the command started; try again.")
        except TimeoutError:
            raise ToolError(f"The sandbox did not start the command within {ANSWER_S:g} s.") from None
        finally:
            os.close(request)
            theirs.close()
            self._loop.remove_reader(ours)
            ours.close()

    async def ask(self, kind: bytes, value: object) -> list[int]:
        """Ask for new descriptors. Raises OSError."""
        self._count += 1
        number = self._count
        future: asyncio.Future[tuple[str, list[int]]] = self._loop.create_future()
        self._answers[number] = future
        try:
            await self._send(kind, number, value)
            async with asyncio.timeout(ANSWER_S):
                problem, fds = await future
        except TimeoutError:
            raise OSError(errno.ETIMEDOUT, "The sandbox does not answer") from None
        finally:
            self._answers.pop(number, None)
        if problem:
            raise OSError(errno.EIO, problem)
        return fds

    def watch(self, number: int, exited: Callable[[int], None]) -> None:
        if number in self._exits:
            self._loop.call_soon(exited, self._exits[number])
        elif self.alive:
            self._watchers[number] = exited
        else:
            self._loop.call_soon(exited, -signal.SIGKILL)

    def stop_watching(self, number: int) -> None:
        self._watchers.pop(number, None)

    def release(self, number: int) -> None:
        self._exits.pop(number, None)
        with suppress(OSError):
            self._control.send(_packet(b"W", number, None))

    def end(self) -> None:
        """Ask the sandbox to end its processes and itself."""
        with suppress(OSError):
            self._control.send(_packet(b"E", 0, None))

    def close(self) -> None:
        if self._control.fileno() >= 0:
            self._loop.remove_reader(self._control)
            self._control.close()
        self._fail()

    async def _send(self, kind: bytes, number: int, value: object, fds: Sequence[int] = ()) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        while True:
            try:
                self._control.sendmsg([_packet(kind, number, value)], rights)
                return
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError:
                raise SandboxEnded("The sandbox ended before the command started; try again.") from None

    async def _receive(self, channel: socket.socket) -> tuple[bytes, int] | None:
        """The next packet and the pid of its sender; None at the end."""
        while True:
            try:
                data, extra, _, _ = channel.recvmsg(MAX_PACKET_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                readable = asyncio.Event()
                self._loop.add_reader(channel, readable.set)
                await readable.wait()
                self._loop.remove_reader(channel)
                continue
            if not data:
                return None
            pids = [
                _CREDENTIALS.unpack(value)[0] for _, kind, value in extra if kind == socket.SCM_CREDENTIALS
            ]
            return data, pids[0] if pids else 0

    def _read(self) -> None:
        while self.alive:
            try:
                data, extra, _, _ = self._control.recvmsg(
                    MAX_PACKET_BYTES, socket.CMSG_SPACE(4 * MAX_FDS), socket.MSG_CMSG_CLOEXEC
                )
            except BlockingIOError:
                return
            except OSError:
                data, extra = b"", []
            fds = [fd for _, kind, value in extra if kind == socket.SCM_RIGHTS for fd in _descriptors(value)]
            if len(data) < 5:
                self._on_lost()
                return
            try:
                self._take(data[:1], int.from_bytes(data[1:5], "little"), marshal.loads(data[5:]), fds)
            except (ValueError, EOFError, TypeError) as error:
                log.error("The sandbox sent something unreadable.", error)
                self._on_lost()

    def _take(self, kind: bytes, number: int, value: Any, fds: list[int]) -> None:
        match kind:
            case b"X":
                self._exits[number] = int(value)
                if watcher := self._watchers.pop(number, None):
                    watcher(int(value))
            case b"R" if not self.ready.done():
                self.ready.set_result({str(name): str(text) for name, text in dict(value).items()})
            case b"A" if (future := self._answers.get(number)) is not None and not future.done():
                future.set_result((str(value), fds))
                return
        for fd in fds:
            os.close(fd)

    def _on_lost(self) -> None:
        self._loop.remove_reader(self._control)
        self._fail()
        self._lost()

    def _fail(self) -> None:
        self.alive = False
        if not self.ready.done():
            self.ready.set_result({"start": "it exited"})
        for future in self._answers.values():
            if not future.done():
                future.set_exception(OSError(errno.EPIPE, "The sandbox has ended"))
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers.values():
            watcher(-signal.SIGKILL)


def _packet(kind: bytes, number: int, value: Any) -> bytes:
    return kind + number.to_bytes(4, "little") + marshal.dumps(value)


def _descriptors(value: bytes) -> list[int]:
    found = array.array("i")
    found.frombytes(value[: len(value) - len(value) % found.itemsize])
    return list(found)


def _failure(data: bytes, command: Command) -> Exception:
    number, where = marshal.loads(data)
    if not number:
        return ToolError(f"The sandbox could not start the command: {where}.")
    return OSError(number, os.strerror(number), str(command.cwd) if where == "cwd" else command.argv[0])
