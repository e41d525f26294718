"""Starts all child processes of tau: own session and process group, ordered output, no orphans.

`Runner` is the port, `LocalRunner` the implementation, `Sandbox` what a stricter one wraps around a command.
"""

import errno
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.base.late import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.base.orphan_guard import OrphanGuard

families = late("tau.base.process_tree")
guards = late("tau.base.orphan_guard")
process = late("tau.base.process")

ABORT_GRACE_S = 0.08  # after the user stopped a command and waits
RUN_ID = "TAU_RUN"  # the variable by which the processes of one command know each other
FAMILY_ID = "TAU_FAMILY"  # the same for all commands of one family

# Environment for commands without a user: no pager, prompts or colors.
QUIET: Mapping[str, str] = MappingProxyType(
    {
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "SYSTEMD_PAGER": "",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
)
# A program that was given a terminal may use it.
IN_TERMINAL: Mapping[str, str] = MappingProxyType({**QUIET, "TERM": "xterm-256color"})

Stdin: TypeAlias = bytes | Literal["open"] | None  # what a child reads; "open": `Process.write` says it


class Limits(Struct, frozen=True, kw_only=True):
    """`timeout` in seconds, None for no limit; `grace` is the time between TERM and KILL."""

    timeout: float | None = None
    grace: float = 1.0


class Exit(Struct, frozen=True, kw_only=True):
    """How a process ended: its code, or the signal that ended it (then `code` is None)."""

    code: int | None
    signal: int | None = None
    timed_out: bool = False


class Pty(Struct, frozen=True, kw_only=True):
    """A pty for the child; `echo` shows what is typed into it."""

    columns: int = 80
    rows: int = 24
    echo: bool = False


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

    async def write(self, data: bytes) -> None:
        """Give the process something to read, if it was started with an open stdin or a terminal.

        Raises BrokenPipeError when it reads no more.
        """
        ...

    async def end_input(self) -> None:
        """There is no more to read; at a terminal that is said once, as by Ctrl+D."""
        ...

    async def wait(self) -> Exit: ...
    async def kill(self, *, since: float | None = None, grace: float | None = None) -> None:
        """TERM to the group, KILL after the grace period; returns when the process is gone.

        With `since` (of `time.monotonic`) older processes of the group live on, where they can be told apart.
        """
        ...

    def when_gone(self, call: Callable[[Exit], None]) -> None:
        """Call `call` when the process has exited."""
        ...

    async def __aenter__(self) -> "Process": ...
    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


class ProcessTree(Protocol):
    """Processes that end together, those in the background included, at the latest when tau is gone."""

    @property
    def env(self) -> Mapping[str, str]:
        """The variable that makes a process a member."""
        ...

    def adopt(self, pipe: int) -> None: ...
    async def end(self) -> None:
        """TERM to every member, KILL after a second; returns when none is left."""
        ...


class Runner(Protocol):
    @property
    def shell(self) -> str:
        """The program that runs shell text."""
        ...

    async def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        stdin: Stdin = None,
        fds: Sequence[int] = (),
        terminal: Pty | None = None,
        family: ProcessTree | None = None,
    ) -> Process:
        """Start an argument list, or shell text.

        `env` is added to our own environment. stdin is closed unless given. The child gets `fds` under the
        same numbers; they stay ours to close. With `terminal` it reads from and writes to one, and what is
        not known to a pipe (`stdin`) does not apply.
        """
        ...

    def family(self) -> ProcessTree: ...
    def keep_tidy(self, folder: Path) -> None:
        """Have a temporary folder removed if we are gone without doing it ourselves, until `tidied`."""
        ...

    def tidied(self, folder: Path) -> None: ...


class NoSandbox:
    """Runs a command as it is."""

    def wrap(self, command: Command) -> Command:
        return command


class LocalRunner:
    """Runs on this machine. Shell text goes to `shell -c`: the user's bash or zsh, else bash, else sh."""

    def __init__(self, *, shell: str | None = None, sandbox: Sandbox | None = None) -> None:
        self._shell = shell
        self._sandbox = sandbox or NoSandbox()
        self._guard: OrphanGuard | None = None

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
        stdin: Stdin = None,
        fds: Sequence[int] = (),
        terminal: Pty | None = None,
        family: ProcessTree | None = None,
    ) -> Process:
        """Raises OSError, with the name of what is missing, if the program or `cwd` cannot be used.

        Every child sees TAU=1, and in TAU_RUN an id by which those that left our process group can be found;
        callers that need the id before the start set it in `env`.
        """
        argv = [self.shell, "-c", command] if isinstance(command, str) else list(command)
        if not argv:
            raise ValueError("No command to run")
        marks = {"TAU": "1", RUN_ID: os.urandom(8).hex(), **(family.env if family else {})}
        everything = {**os.environ, **marks, **(env or {})}
        wrapped = (sandbox or self._sandbox).wrap(Command(argv=argv, cwd=cwd, env=everything))
        try:
            started = process.launch(
                wrapped,
                limits or Limits(),
                self._guarded(),
                stdin=stdin,
                fds=fds,
                terminal=terminal,
                family=family,
            )
        except PermissionError as error:
            if _is_missing(program := wrapped.argv[0], wrapped.env, error):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program) from None
            raise
        return started

    def family(self) -> ProcessTree:
        return families.LocalProcessTree(self._guarded())

    def keep_tidy(self, folder: Path) -> None:
        self._guarded().keep_tidy(folder)

    def tidied(self, folder: Path) -> None:
        self._guarded().tidied(folder)

    def close(self) -> None:
        """Let go of the guard over our commands; those that still run keep it until they end."""
        self._guard = None

    def _guarded(self) -> "OrphanGuard":
        if self._guard is None:
            self._guard = guards.OrphanGuard()
        return self._guard


class CapturedOutput(Struct, frozen=True, kw_only=True):
    """The output of a finished process; `dropped_bytes` more came after it and were not kept."""

    output: bytes
    exit: Exit
    dropped_bytes: int = 0


async def capture(running: Process, *, max_bytes: int = 1024 * 1024) -> CapturedOutput:
    """Read a process to its end, for commands whose output is small."""
    kept = bytearray()
    dropped = 0
    async for chunk in running.output():
        room = max_bytes - len(kept)
        kept += chunk[:room]
        dropped += max(0, len(chunk) - room)
    return CapturedOutput(output=bytes(kept), exit=await running.wait(), dropped_bytes=dropped)


def _is_missing(program: str, env: Mapping[str, str], error: PermissionError) -> bool:
    """Whether a program is missing; an inaccessible folder in PATH makes it look like a permission error."""
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
