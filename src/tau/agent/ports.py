"""The outside world as tools see it. Each port has a plain implementation and may be wrapped or replaced."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

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


class DirectoryEntry(Struct, frozen=True):
    """Something in a folder, a link not followed; `target` is where it points."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    mtime_ns: int = 0
    target: str = ""


class DirectoryScan(Struct, frozen=True):
    """A folder's content, in no order; `more` where there is more than was asked for."""

    entries: list[DirectoryEntry]
    more: bool = False


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
    async def scan(self, path: Path, *, most: int) -> DirectoryScan:
        """What is in a folder, at most so many entries. It does not hold the event loop, however many."""
        ...

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
