"""A cell, its output events, its result, and the interface of its host."""

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.base.errors import ToolError

KernelLanguage = Literal["python", "js"]
LABELS: dict[KernelLanguage, str] = {"python": "Python", "js": "JavaScript"}
DEFAULT_TIMEOUT_S = 30
MIN_TIMEOUT_S = 1
MAX_TIMEOUT_S = 600


class KernelError(ToolError):
    """A kernel cannot be started or used; `str(error)` says why and what to do."""


class Cell(Struct, frozen=True, kw_only=True):
    """`timeout_s` excludes time spent waiting for the host. `reset` starts a new kernel first."""

    language: KernelLanguage
    code: str
    timeout_s: float = DEFAULT_TIMEOUT_S
    reset: bool = False


class CellEnd(Struct, frozen=True, kw_only=True):
    """How a cell ended. `lost`: its kernel is gone, along with all variables.

    Errors in the code itself are part of the output; `reason` describes any other failure.
    """

    status: Literal["ok", "error", "interrupted", "died"]
    exit_code: int | None = None
    timed_out: bool = False
    stdin_wanted: bool = False
    lost: bool = False
    reason: str = ""


class TextOutput(Struct, frozen=True):
    """Raw output of the cell, its threads and its child processes."""

    data: bytes


class JsonOutput(Struct, frozen=True):
    value: Any


class ImageOutput(Struct, frozen=True):
    data: str  # base64
    mime_type: str


class MarkdownOutput(Struct, frozen=True):
    text: str


class HtmlOutput(Struct, frozen=True):
    text: str


class StatusOutput(Struct, frozen=True):
    """What a helper did, for display: `{"op": "read", "path": ...}`."""

    event: dict[str, Any]


CellEvent: TypeAlias = TextOutput | JsonOutput | ImageOutput | MarkdownOutput | HtmlOutput | StatusOutput
Listen: TypeAlias = Callable[[CellEvent], None]


class CellHost(Protocol):
    """What cells may request while they run. Failures are raised; the cell sees a ToolError's text."""

    async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool like a model does; returns `text`, `details` and `images` of its result."""
        ...

    async def completion(
        self, prompt: str, model: str, system: str | None, schema: dict[str, Any] | None
    ) -> Any: ...
    async def agent(self, prompt: str, options: dict[str, Any]) -> Any: ...
    async def output(self, id: str) -> str:
        """Return the path of an artifact."""
        ...

    async def concurrency(self) -> int:
        """Return how many calls `parallel` runs at once; 0 means all."""
        ...


class NoHost:
    """For cells without host access, such as the user's own."""

    async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise ToolError("Tools cannot be called from this cell.")

    async def completion(
        self, prompt: str, model: str, system: str | None, schema: dict[str, Any] | None
    ) -> Any:
        raise ToolError("Models cannot be called from this cell.")

    async def agent(self, prompt: str, options: dict[str, Any]) -> Any:
        raise ToolError("Agents cannot be started from this cell.")

    async def output(self, id: str) -> str:
        raise ToolError("There are no artifacts here.")

    async def concurrency(self) -> int:
        return 32
