"""The outside world as tools see it. Each port has a plain implementation and may be wrapped or replaced."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from tau.agent.output import ToolOutput
from tau.agent.ui import Ui
from tau.base.run import Runner


class Stat(Struct, frozen=True, kw_only=True):
    """Compare two for equality to detect that a file has changed since it was read."""

    size: int
    mtime_ns: int
    inode: int
    is_dir: bool = False
    mode: int = 0


class FileSystem(Protocol):
    """Files, by absolute path. Failures are OSError."""

    async def read(self, path: Path) -> bytes: ...
    async def read_part(self, path: Path, start: int, size: int) -> bytes:
        """Up to `size` bytes from `start`; empty at the end of the file."""
        ...

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        """Replace a file atomically, creating its folders. With `expect`: ToolError if it has changed."""
        ...

    async def stat(self, path: Path) -> Stat | None:
        """None if there is no such file."""
        ...

    async def list(self, path: Path) -> Sequence[str]: ...
    async def remove(self, path: Path) -> None: ...


class Sink(Protocol):
    """Stores the full output of a tool, of which the model sees a part."""

    @property
    def id(self) -> str: ...
    @property
    def path(self) -> Path | None: ...
    def write(self, data: bytes) -> None: ...
    def close(self) -> None: ...


class Artifacts(Protocol):
    def create(self, tool: str) -> Sink: ...
    def open(self, id: str) -> Path:
        """The path of an artifact. Raises ToolError for an unknown id."""
        ...


class ToolContext(Protocol):
    """What a tool call may touch."""

    @property
    def call_id(self) -> str: ...
    @property
    def cwd(self) -> Path: ...
    @property
    def fs(self) -> FileSystem: ...
    @property
    def run(self) -> Runner: ...
    @property
    def ui(self) -> Ui | None:
        """None in a mode that cannot ask."""
        ...

    @property
    def artifacts(self) -> Artifacts: ...
    def update(self, partial: ToolOutput) -> None:
        """Show progress; what `run` returns replaces it."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Run another tool as if the model had called it, with the same checks and approvals."""
        ...
