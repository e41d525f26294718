"""Every child process of tau starts here: own session and process group, output in order, no orphan left.

`Runner` is the port, `LocalRunner` the implementation, `Sandbox` what a stricter one wraps around a command.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct


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
        """Output (stdout and stderr, as they were written) until the process exits, then what is still in the pipe.

        A background child that keeps the pipe open does not hold this: it ends shortly after the process itself.
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
        """Start an argument list, or shell text. `env` is added to our own environment. stdin is closed unless given."""
        ...
