"""Every child process of tau starts here: own session and process group, output in order, no orphan left.

`Runner` is the port, `LocalRunner` the implementation, `Sandbox` what a stricter one wraps around a command.
"""

import errno
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from tau.base.late import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.base.guard import Guard

process = late("tau.base.process")

RUN_ID = "TAU_RUN"  # the variable by which the processes of one command know each other


class Limits(Struct, frozen=True, kw_only=True):
    """`timeout` in seconds, None for no limit; `grace` is the time between TERM and KILL."""

    timeout: float | None = None
    grace: float = 1.0


class Exit(Struct, frozen=True, kw_only=True):
    """How a process ended: its code, or the signal that ended it (then `code` is None)."""

    code: int | None
    signal: int | None = None
    timed_out: bool = False


class Command(Struct, frozen=True, kw_only=True):
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]


class Sandbox(Protocol):
    def wrap(self, command: Command) -> Command: ...


class Process(Protocol):
    """A running child. Leaving its `async with` block ends its whole process group and waits for it."""

    @property
    def pid(self) -> int: ...

    def output(self) -> AsyncIterator[bytes]:
        """Output (stdout and stderr, as they were written) until the exit, then what is still in the pipe.

        A background child that keeps the pipe open does not hold this: it ends shortly after the process.
        """
        ...

    async def wait(self) -> Exit: ...
    async def kill(self) -> None:
        """TERM to the group, KILL after the grace period; returns when the process is gone."""
        ...

    async def __aenter__(self) -> "Process": ...
    async def __aexit__(self, *_: object) -> None: ...


class Runner(Protocol):
    async def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        stdin: bytes | None = None,
    ) -> Process:
        """Start an argument list, or shell text.

        `env` is added to our own environment. stdin is closed unless given.
        """
        ...


class NoSandbox:
    """Runs a command as it is."""

    def wrap(self, command: Command) -> Command:
        return command


class LocalRunner:
    """Runs on this machine. Shell text goes to `shell -c`: the user's bash or zsh, else bash, else sh."""

    def __init__(self, *, shell: str | None = None, sandbox: Sandbox | None = None) -> None:
        self._shell = shell
        self._sandbox = sandbox or NoSandbox()
        self._guard: Guard | None = None

    @property
    def shell(self) -> str:
        if self._shell is None:
            self._shell = _find_shell()
        return self._shell

    async def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        stdin: bytes | None = None,
    ) -> Process:
        """Raises OSError, with the name of what is missing, if the program or `cwd` cannot be used.

        Every child sees TAU=1, and in TAU_RUN an id by which those that left our process group can be found.
        """
        argv = [self.shell, "-c", command] if isinstance(command, str) else list(command)
        if not argv:
            raise ValueError("There is no command to run")
        everything = {**os.environ, **(env or {}), "TAU": "1", RUN_ID: os.urandom(8).hex()}
        wrapped = (sandbox or self._sandbox).wrap(Command(argv=argv, cwd=cwd, env=everything))
        try:
            self._guard = self._guard or process.Guard()
            started: Process = process.launch(wrapped, limits or Limits(), stdin, self._guard)
        except PermissionError as error:
            if _is_missing(program := wrapped.argv[0], wrapped.env, error):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program) from None
            raise
        return started

    def close(self) -> None:
        """Let go of the guard over our commands; those that still run keep it until they end."""
        self._guard = None


class Captured(Struct, frozen=True, kw_only=True):
    """The output of a finished process; `dropped_bytes` more came after it and were not kept."""

    output: bytes
    exit: Exit
    dropped_bytes: int = 0


async def capture(running: Process, *, max_bytes: int = 1024 * 1024) -> Captured:
    """Read a process to its end, for commands whose output is small."""
    kept = bytearray()
    dropped = 0
    async for chunk in running.output():
        room = max_bytes - len(kept)
        kept += chunk[:room]
        dropped += max(0, len(chunk) - room)
    return Captured(output=bytes(kept), exit=await running.wait(), dropped_bytes=dropped)


def _is_missing(program: str, env: Mapping[str, str], error: PermissionError) -> bool:
    """Whether a program is nowhere; a folder in PATH that we may not enter makes it look like a refusal."""
    if error.filename != program or "/" in program:
        return False
    return not any(os.access(f"{folder}/{program}", os.F_OK) for folder in os.get_exec_path(env))


def _find_shell() -> str:
    users = os.environ.get("SHELL", "")
    if users.rpartition("/")[2] in ("bash", "zsh") and os.access(users, os.X_OK):
        return users
    for folder in os.get_exec_path():
        if os.access(bash := f"{folder}/bash", os.X_OK):
            return bash
    return "/bin/sh"
