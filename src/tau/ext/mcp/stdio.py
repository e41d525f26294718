"""Carries MCP messages over the pipes of a child process; its stderr goes to a log file."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tau.base import secrets
from tau.base.files import make_private
from tau.base.json_rpc import RpcCall, RpcPeer
from tau.base.run import Exit, Limits, LocalRunner, Process, Sandbox
from tau.base.sizes import MIB, format_bytes
from tau.base.tasks import shielded, spawn
from tau.base.text import clean_line, shortened
from tau.ext.mcp.messages import ConnectionLost, McpError, ServerInfo

MAX_MESSAGE_BYTES = 16 * MIB
ENDS_BYTES = 4096  # of an oversized message, to find out which call it answers
LOG_BYTES = MIB
STDERR_PAUSE_S = 0.02
EOF_S = 1.0  # from the end of input to TERM
PASSED = frozenset(("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR"))


class StdioTransport:
    """Implements `McpTransport`."""

    expired = False

    def __init__(self, process: Process, peer: RpcPeer, errors: "StderrLog", hidden: str = "") -> None:
        self._process, self._errors, self._hidden = process, errors, hidden
        self._peer = peer
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._writing = asyncio.Lock()

    async def exchange(self, call: RpcCall, headers: Mapping[str, str]) -> None:
        await self.notify(call.data)
        await asyncio.wait((call.answer,))

    async def notify(self, data: bytes) -> None:
        if self.lost.done():
            raise ConnectionLost(self.lost.result(), sent=False)
        try:
            async with self._writing:
                await self._process.write(data + b"\n")
        except OSError:
            raise ConnectionLost("It no longer reads its input.") from None

    def settle(self, info: ServerInfo) -> None:
        pass

    async def read(self) -> None:
        """Pass on what it writes, until it ends."""
        buffer = bytearray()
        skipped = 0  # bytes of an oversized message that were dropped
        async for chunk in self._process.output():
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                buffer += line
                if skipped:
                    self._refuse(buffer, skipped)
                elif buffer.strip():
                    self._peer.take(bytes(buffer))
                buffer, skipped = bytearray(), 0
            buffer += rest
            if len(buffer) > (2 * ENDS_BYTES if skipped else MAX_MESSAGE_BYTES):
                skipped += len(buffer) - 2 * ENDS_BYTES
                del buffer[ENDS_BYTES:-ENDS_BYTES]
        self.end(_describe(await self._process.wait(), self._hidden or self._errors.read_last()))

    def _refuse(self, ends: bytearray, skipped: int) -> None:
        size, most = format_bytes(len(ends) + skipped), format_bytes(MAX_MESSAGE_BYTES)
        problem = f"a message of {size}; at most {most} is read"
        self._peer.refuse_oversized(bytes(ends[:ENDS_BYTES]), bytes(ends[-ENDS_BYTES:]), problem)

    def end(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)
        self._peer.fail_all(ConnectionLost(reason))


class StderrLog:
    """Writes what a server prints to a file of limited size, and remembers its last line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.last = ""
        self._reading = -1
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> int:
        """The descriptor for the child, which the caller closes."""
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._watch()
        return writing

    def read_last(self) -> str:
        """The last line, also if it is still in the pipe."""
        if self._reading >= 0:
            self._drain()
        return self.last

    def close(self) -> None:
        if self._reading < 0:
            return
        self._drain()
        if self._timer is not None:
            self._timer.cancel()
        asyncio.get_running_loop().remove_reader(self._reading)
        os.close(self._reading)
        self._reading = -1

    def _watch(self) -> None:
        self._timer = None
        asyncio.get_running_loop().add_reader(self._reading, self._drain)

    def _drain(self) -> None:
        """Take a piece and rest: a server that never stops printing must not use our time."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._reading)
        try:
            data = os.read(self._reading, 65_536)
        except BlockingIOError:
            data = b"\n"
        except OSError:
            data = b""
        if data.strip():
            self._write(data)
        if data and self._timer is None:
            self._timer = loop.call_later(STDERR_PAUSE_S, self._watch)

    def _write(self, data: bytes) -> None:
        text = secrets.mask(data.decode("utf-8", "replace"))
        self.last = shortened(clean_line(text.strip().splitlines()[-1]), 200)
        with suppress(OSError):
            make_private(self._path.parent)
            with suppress(FileNotFoundError):
                if self._path.stat().st_size > LOG_BYTES:
                    self._path.replace(self._path.with_suffix(".log.1"))
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, text.encode())
            finally:
                os.close(fd)


def is_passed(name: str) -> bool:
    """Whether a server gets this variable of ours without being asked for."""
    return name in PASSED or name.startswith("LC_")


@asynccontextmanager
async def open_stdio(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    peer: RpcPeer,
    runner: LocalRunner,
    group: asyncio.TaskGroup,
    errors: StderrLog,
    *,
    sandbox: Sandbox | None = None,
    inherit_env: Sequence[str] | bool = False,
) -> AsyncIterator[StdioTransport]:
    """Start a server and end it: its input first, then TERM, then KILL of its group. Raises McpError."""
    extra = inherit_env if isinstance(inherit_env, Sequence) else ()
    stderr = errors.open()
    try:
        try:
            process = await runner.start(
                argv,
                cwd=cwd,
                env=env,
                sandbox=sandbox,
                limits=Limits(grace=1.0),
                stdin="open",
                stderr=stderr,
                inherit=lambda name: inherit_env is True or is_passed(name) or name in extra,
            )
        except (OSError, ValueError) as error:
            name = getattr(error, "filename", None) or argv[0]
            reason = _hidden_program(argv, cwd, runner) or getattr(error, "strerror", None) or error
            raise McpError(f'Cannot start "{clean_line(str(name))}": {reason}.') from None
        finally:
            os.close(stderr)
        async with process:
            transport = StdioTransport(process, peer, errors, _hidden_program(argv, cwd, runner))
            reading = spawn(group, transport.read())
            try:
                yield transport
            finally:
                await shielded(_end(process))
                reading.cancel()
                transport.end("The connection was closed.")
    finally:
        errors.close()


async def _end(process: Process) -> None:
    with suppress(OSError):
        await process.end_input()
    with suppress(TimeoutError):
        async with asyncio.timeout(EOF_S):
            await process.wait()
    await process.kill()


def _hidden_program(argv: Sequence[str], cwd: Path, runner: LocalRunner) -> str:
    """Says that a word of the command is a file that does not exist in the sandbox."""
    for word in argv:
        is_below = word.startswith(("/tmp/", "/var/tmp/")) and not Path(word).is_relative_to(cwd)
        if is_below and runner.contained and os.path.lexists(word):
            return f'the sandbox hides {clean_line(word)}; install it outside /tmp, or set "sandbox": false'
    return ""


def _describe(ended: Exit, last: str) -> str:
    how = f"ended with signal {ended.signal}" if ended.code is None else f"exited with code {ended.code}"
    return f"It {how}{f': {last}' if last else ''}."
