"""The outside world as tools see it. Each port has a plain implementation and may be wrapped or replaced."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from msgspec import Struct

from tau.agent.output import ToolOutput
from tau.agent.ui import Ui
from tau.base.run import Runner

if TYPE_CHECKING:
    from tau.agent.approved_effects import ApprovedEffects


class Stat(Struct, frozen=True, kw_only=True, eq=False):
    """Compare two for equality to detect that a file has changed since it was read.

    `names` counts its hard links, which may change without the file.
    """

    size: int
    mtime_ns: int
    inode: int
    is_dir: bool = False
    mode: int = 0
    names: int = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stat) and self._key == other._key

    def __ne__(self, other: object) -> bool:  # a struct has its own
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, ...]:
        return self.size, self.mtime_ns, self.inode, self.is_dir, self.mode


ABSENT = Stat(size=-1, mtime_ns=0, inode=0)
"""As an expectation: there is no file."""


class DirectoryEntry(Struct, frozen=True):
    """An entry of a folder. Links are not followed; `target` is where they point."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    mtime_ns: int = 0
    target: str = ""


class DirectoryScan(Struct, frozen=True):
    """The content of a folder, unordered; `more` if there is more than requested."""

    entries: list[DirectoryEntry]
    more: bool = False


class FileSystem(Protocol):
    """Files, by absolute path; a tool's own follows links to what was approved. Failures are OSError."""

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
        """List a folder, at most `most` entries, without blocking the event loop."""
        ...

    async def remove(self, path: Path, *, expect: Stat | None = None) -> None:
        """Delete a file. With `expect`: ToolError if it is not in that state."""
        ...


class Sink(Protocol):
    """Stores the full output of a tool, of which the model sees a part."""

    @property
    def id(self) -> str: ...
    @property
    def path(self) -> Path | None: ...
    def write(self, data: bytes) -> None: ...
    def close(self) -> None: ...


class Artifacts(Protocol):
    def create(self, tool: str, suffix: str = "log") -> Sink: ...
    def open(self, id: str) -> Path:
        """The path of an artifact. Raises ToolError for an unknown id."""
        ...


class ToolContext(Protocol):
    """What a tool call may touch. Its ports refuse, with a ToolError, what the call did not declare."""

    @property
    def call_id(self) -> str: ...
    @property
    def cwd(self) -> Path: ...
    @property
    def fs(self) -> FileSystem: ...
    @property
    def run(self) -> Runner:
        """For declared commands; those of a lasting shell or another machine check `approved.run`."""
        ...

    @property
    def helpers(self) -> Runner:
        """For tau's own programs, such as ripgrep, that work on what the call declared."""
        ...

    @property
    def approved(self) -> "ApprovedEffects":
        """For code that opens files, runs commands or connects without a port."""
        ...

    def bound(self, approved: "ApprovedEffects") -> Self: ...
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
