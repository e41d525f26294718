"""Starts all child processes of tau: own session and process group, ordered output, no orphans.

`Runner` is the port, `LocalRunner` the implementation. `Sandbox` is where children are made: beside us
(`OUTSIDE`), or in a sandbox, whose first process makes them.
"""

import errno
import os
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, TypedDict, Unpack

from msgspec import Struct

from tau.base import secrets
from tau.base.late import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.base.orphan_guard import OrphanGuard

base_files = late("tau.base.files")
process_groups = late("tau.base.process_group")
guards = late("tau.base.orphan_guard")
process = late("tau.base.process")
programs = late("tau.base.programs")

ABORT_GRACE_S = 0.08  # after an abort, when the user is waiting
RUN_ID = "TAU_RUN"  # environment variable that marks the processes of one command
FAMILY_ID = "TAU_FAMILY"  # the same for all processes of one tree

# Environment for commands without a user: no pager, no prompts, no colors.
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
# For programs attached to a terminal.
IN_TERMINAL: Mapping[str, str] = MappingProxyType({**QUIET, "TERM": "xterm-256color"})

Stdin: TypeAlias = (
    bytes | Literal["open"] | None
)  # what a child reads; "open": what is passed to `Process.write`


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
    """A pty for the child; with `echo`, it shows typed text."""

    columns: int = 80
    rows: int = 24
    echo: bool = False


class Command(Struct, frozen=True, kw_only=True):
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]


class ChildFiles(Struct, frozen=True, kw_only=True):
    """A child's descriptors: `stdin` is -1 for none, `stderr` -1 for stdout; `fds` keep their numbers."""

    stdin: int
    stdout: int
    stderr: int = -1
    fds: Sequence[int] = ()
    is_terminal: bool = False  # make stdin the child's controlling terminal


class Child(Protocol):
    """A child that was just made, and leads its own session. Its pid stays taken until `reap`."""

    @property
    def pid(self) -> int: ...
    def watch(self, exited: Callable[[int], None]) -> None:
        """Call `exited` once, with its exit code or the negative number of the signal that ended it."""
        ...

    def stop_watching(self) -> None: ...
    def reap(self) -> None:
        """Free the pid, once it has exited."""
        ...


class Sandbox(Protocol):
    """Where children run. Nothing is started before it is needed."""

    @property
    def contained(self) -> bool:
        """Whether commands started now are contained by a sandbox that was shown to work."""
        ...

    def temporary_folder(self) -> Path:
        """Where children and we can both have temporary files, under the same path."""
        ...

    async def prepare(self) -> bool:
        """Start it, if that makes sense, and return `contained`."""
        ...

    async def open_terminal(self) -> tuple[int, int]:
        """Open a pty; returns our side and the child's."""
        ...

    async def spawn(self, command: Command, files: ChildFiles) -> Child:
        """Raises OSError naming the program or folder that cannot be used, ToolError if it may not run."""
        ...


class Process(Protocol):
    """A running child. Leaving its `async with` block ends its whole process group and waits for it."""

    @property
    def pid(self) -> int: ...

    def output(self) -> AsyncIterator[bytes]:
        """Yield stdout and stderr, interleaved as written, until the exit, then what is left in the pipe.

        Ends shortly after the process, even if a background child keeps the pipe open.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Write to stdin, if the process was started with an open stdin or a terminal.

        Raises BrokenPipeError if it no longer reads.
        """
        ...

    async def end_input(self) -> None:
        """Close stdin; at a terminal, send one Ctrl+D."""
        ...

    async def wait(self) -> Exit: ...
    async def kill(self, *, since: float | None = None, grace: float | None = None) -> None:
        """Send TERM to the group, KILL after the grace period; returns when the process is gone.

        With `since` (a `time.monotonic` value), processes started earlier survive, where that is known.
        """
        ...

    def when_gone(self, call: Callable[[Exit], None]) -> None: ...

    async def __aenter__(self) -> "Process": ...
    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


class ProcessTree(Protocol):
    """Processes that end together, including those in the background, at the latest when tau exits."""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variable that makes a process a member."""
        ...

    def adopt(self, pipe: int) -> None: ...
    async def end(self) -> None:
        """Send TERM to every member, KILL after a second; returns when none is left."""
        ...


class StartOptions(TypedDict, total=False):
    env: Mapping[str, str] | None
    sandbox: Sandbox | None
    limits: Limits | None
    stdin: Stdin
    stderr: int
    fds: Sequence[int]
    terminal: Pty | None
    family: ProcessTree | None


class Runner(Protocol):
    @property
    def shell(self) -> str:
        """The program that runs shell commands."""
        ...

    async def start(
        self, command: str | Sequence[str], *, cwd: Path, **options: Unpack[StartOptions]
    ) -> Process:
        """Start a program (argument list) or a shell command (text).

        `env` extends our own environment without its secrets. `sandbox` replaces the runner's own: tau's
        programs run `OUTSIDE` it, what a model wrote runs inside. stdin is closed unless given; stderr goes
        to stdout unless given. The child inherits `fds` under the same numbers; the caller closes them. With
        `terminal`, the child is attached to a pty and `stdin` and `stderr` are ignored.
        """
        ...

    @property
    def contained(self) -> bool:
        """Whether commands started now are contained by a sandbox that was shown to work."""
        ...

    async def prepare(self) -> bool:
        """Start the sandbox, if there is one, and return `contained`."""
        ...

    def temporary_folder(self) -> Path:
        """Where we and the commands can both have temporary files, under the same path."""
        ...

    def family(self) -> ProcessTree: ...
    def remove_at_exit(self, folder: Path) -> None:
        """Have a temporary folder removed if we die before `forget_folder`."""
        ...

    def forget_folder(self, folder: Path) -> None: ...


class NoSandbox:
    """Makes ordinary children."""

    @property
    def contained(self) -> bool:
        return False

    def temporary_folder(self) -> Path:
        return base_files.temporary_folder()

    async def prepare(self) -> bool:
        return False

    async def open_terminal(self) -> tuple[int, int]:
        return os.openpty()

    async def spawn(self, command: Command, files: ChildFiles) -> Child:
        return process.spawn(command, files)


OUTSIDE = NoSandbox()  # for tau's programs, which run nothing that a model or a repository wrote


class _LateGuard:
    """The orphan guard of one or more runners; the first command starts it."""

    current: "OrphanGuard | None" = None

    def started(self) -> "OrphanGuard":
        if self.current is None:
            self.current = guards.OrphanGuard()
        return self.current


class LocalRunner:
    """Runs on this machine. Shell commands use `shell -c`: bash, else the user's zsh, else sh.

    Variables that hold secrets are not inherited, except those named in `pass_env`. Without a sandbox, what
    it starts finds no programs in the workspace, unless it is `for_commands` of the workspace.
    """

    def __init__(
        self,
        *,
        shell: str | None = None,
        sandbox: Sandbox | None = None,
        pass_env: Sequence[str] = (),
        guard: "_LateGuard | None" = None,
        for_commands: bool = False,
    ) -> None:
        self._for_commands = for_commands
        self._shell = shell
        self._sandbox = sandbox or OUTSIDE
        self._pass_env = frozenset(pass_env)
        self._guard = guard or _LateGuard()

    def inside(self, sandbox: Sandbox | None) -> "LocalRunner":
        """A runner for commands like this one, in a sandbox if there is one; both have one orphan guard."""
        return LocalRunner(
            shell=self._shell,
            sandbox=sandbox,
            pass_env=tuple(self._pass_env),
            guard=self._guard,
            for_commands=True,
        )

    @property
    def shell(self) -> str:
        if self._shell is None:
            self._shell = find_shell()
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
        stderr: int = -1,
        fds: Sequence[int] = (),
        terminal: Pty | None = None,
        family: ProcessTree | None = None,
        inherit: Callable[[str], bool] = lambda name: True,
    ) -> Process:
        """Raises OSError naming the program or `cwd` that cannot be used.

        `inherit` says which of our variables it gets, besides what all get. Every child sees TAU=1, and in
        TAU_RUN an id that identifies it even outside our group; callers that need the id before the start
        set it in `env`.
        """
        argv = [self.shell, "-c", command] if isinstance(command, str) else list(command)
        if not argv:
            raise ValueError("No command to run")
        marks = {"TAU": "1", RUN_ID: os.urandom(8).hex(), **(family.env if family else {})}
        ours = inherited(os.environ, self._pass_env)
        full_env = {**{name: ours[name] for name in ours if inherit(name)}, **marks, **(env or {})}
        is_own = sandbox is OUTSIDE or (self._sandbox is OUTSIDE and not sandbox and not self._for_commands)
        if is_own and "PATH" not in (env or {}):
            full_env["PATH"] = programs.safe_path()
        full = Command(argv=argv, cwd=cwd, env=full_env)
        try:
            return await process.launch(
                full,
                sandbox or self._sandbox,
                limits or Limits(),
                self._guard.started(),
                stdin=stdin,
                stderr=stderr,
                fds=fds,
                terminal=terminal,
                family=family,
            )
        except PermissionError as error:
            if _is_missing(program := argv[0], full_env, error):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program) from None
            raise

    @property
    def contained(self) -> bool:
        return self._sandbox.contained

    async def prepare(self) -> bool:
        return await self._sandbox.prepare()

    def temporary_folder(self) -> Path:
        return self._sandbox.temporary_folder()

    def family(self) -> ProcessTree:
        return process_groups.LocalProcessTree(self._guard.started())

    def remove_at_exit(self, folder: Path) -> None:
        self._guard.started().add_folder(folder)

    def forget_folder(self, folder: Path) -> None:
        if self._guard.current is not None:
            self._guard.current.forget_folder(folder)

    def close(self) -> None:
        """Drop the orphan guard; running commands keep it until they end."""
        self._guard.current = None


def inherited(environ: Mapping[str, str], allowed: Container[str] = ()) -> dict[str, str]:
    """The environment that children get: without keys and passwords, except the allowed ones."""
    return {
        name: value
        for name, value in environ.items()
        if name in allowed or not (secrets.is_secret_variable(name, value) or secrets.knows(value))
    }


def secret_environ(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that children do not inherit, for a program of the user's own that needs them."""
    kept = inherited(environ)
    return {name: value for name, value in environ.items() if name not in kept}


class CapturedOutput(Struct, frozen=True, kw_only=True):
    """The output of a finished process, without `dropped_bytes` at its end."""

    output: bytes
    exit: Exit
    dropped_bytes: int = 0


async def capture(running: Process, *, max_bytes: int = 1024 * 1024) -> CapturedOutput:
    """Read all output of a process, up to `max_bytes`, and wait for its exit."""
    kept = bytearray()
    dropped = 0
    async for chunk in running.output():
        room = max_bytes - len(kept)
        kept += chunk[:room]
        dropped += max(0, len(chunk) - room)
    return CapturedOutput(output=bytes(kept), exit=await running.wait(), dropped_bytes=dropped)


def _is_missing(program: str, env: Mapping[str, str], error: PermissionError) -> bool:
    """Whether the program is missing; an inaccessible folder in PATH makes that a permission error."""
    if error.filename != program or "/" in program:
        return False
    return not any(os.access(f"{folder}/{program}", os.F_OK) for folder in os.get_exec_path(env))


def find_shell() -> str:
    """Find bash, which models expect; without it, the user's zsh, which has much of its syntax, or sh."""
    login_shell = os.environ.get("SHELL", "")
    name = login_shell.rpartition("/")[2] if os.access(login_shell, os.X_OK) else ""
    if name == "bash":
        return login_shell
    if bash := programs.find_program("bash"):
        return bash
    return login_shell if name == "zsh" else "/bin/sh"
