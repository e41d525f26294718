"""Ports for the coding agent's tools, in addition to the loop's own."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.agent.ports import Stat, ToolContext
from tau.ai.model import Model, ThinkingLevel

MAX_REPORT_CHARS = 50_000


class Checkpoint(Struct, frozen=True, rename="camel"):
    """The start of an investigation; `started_at` is a timestamp in session format."""

    goal: str
    started_at: str


class Checkpoints(Protocol):
    """At most one is active. A rewind takes effect at the end of its turn."""

    @property
    def active(self) -> Checkpoint | None: ...
    def mark(self, checkpoint: Checkpoint) -> None: ...
    def rewind(self, report: str) -> str | None:
        """Rewind at the end of this turn. Returns a sentence if that is impossible."""
        ...


if TYPE_CHECKING:
    from tau.agent.tool import Tool
    from tau.backends.shell.terminal import TerminalInput
    from tau.coding.approval.request import ApprovalDecision, ApprovalRequest
    from tau.coding.conflicts.merge_conflicts import ConflictStore
    from tau.coding.plan.review import Plan, PlanAnswer
    from tau.coding.questions import AskAnswer, AskQuestion
    from tau.coding.todo.list import TodoBoard
    from tau.hashline.snapshots import SnapshotStore, TextSums


JobKind = Literal["bash", "task", "github"]
JobStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
CancelStatus = Literal["cancelled", "not_found", "already_completed"]
JobReport: TypeAlias = Callable[[str], None]
# Receives a callback for progress, called with the whole output so far; returns the final output.
JobWork: TypeAlias = Callable[[JobReport], Coroutine[Any, Any, str]]


class ChangedFile(Struct, frozen=True):
    """A changed file and its new text."""

    path: Path
    stat: Stat
    text: str


class Resource(Struct, frozen=True, kw_only=True):
    """The target of an internal URL. `path` is set if it is a file."""

    url: str
    data: bytes
    path: Path | None = None
    immutable: bool = True
    note: str = ""  # the result of a write, if "wrote N bytes" is not enough
    changed: tuple[ChangedFile, ...] = ()  # files changed by a write


class UrlScheme(Protocol):
    @property
    def scheme(self) -> str: ...
    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        """`rest` is the part after `scheme://`. Raises ToolError if there is no such resource."""
        ...

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        """Raises ToolError if the target is not writable."""
        ...

    def written_files(self, rest: str) -> tuple[Path, ...] | None:
        """The files that a write changes, except the session's own; None if another program decides.

        Raises ToolError.
        """
        ...


class UrlRouter(Protocol):
    """Each subsystem registers its own scheme."""

    def register(self, scheme: UrlScheme) -> None: ...
    def register_late(self, name: str, make: Callable[[], UrlScheme]) -> None:
        """Register a scheme that is created on first use."""
        ...

    def unregister(self, name: str) -> None: ...
    def names(self) -> set[str]:
        """The registered schemes."""
        ...

    def handles(self, text: str) -> bool:
        """Whether this is an internal URL rather than a path."""
        ...

    def written_files(self, url: str) -> tuple[Path, ...] | None:
        """See `UrlScheme.written_files`."""
        ...

    async def resolve(self, url: str, ctx: ToolContext) -> Resource: ...
    async def write(self, url: str, data: bytes, ctx: ToolContext) -> Resource: ...


class Snapshots(Protocol):
    """What the model has seen of each file, to detect changes by others before overwriting them."""

    @property
    def texts(self) -> "SnapshotStore":
        """The shown texts, by file and tag."""
        ...

    def remember(self, path: Path, stat: Stat) -> None: ...
    def last_seen(self, path: Path) -> Stat | None: ...

    def is_unseen(self, path: Path, text: str) -> bool:
        """Whether the session knows other texts of this file, perhaps from before a restart, but not this."""
        ...

    def record(
        self, path: Path, text: str, *, own: bool = False, sums: "TextSums | None" = None
    ) -> str | None:
        """The tag for a shown text; None if it is too large. `own`: written by us.

        A long text brings its `sums`, computed off the event loop.
        """
        ...


class Models(Protocol):
    """Models by role: `smol`, `slow`, `vision`, `plan`; an unset role is the default model."""

    def role(self, name: str) -> Model: ...
    def level(self, name: str) -> ThinkingLevel | None:
        """The thinking level that the role's pattern names; None if it names none."""
        ...

    def for_images(self) -> Model:
        """The first that accepts images: role `vision`, role `default`, the current one, all with access.

        If none does, the model of the role `vision`.
        """
        ...


class Job(Struct, frozen=True, kw_only=True):
    """The current state of a job. `progress` is the end of its output so far.

    `origin` says which strangers may have written its output.
    """

    id: str
    kind: JobKind
    label: str
    status: JobStatus
    duration_ms: int
    result_text: str | None = None
    error_text: str | None = None
    progress: str = ""
    origin: str = ""

    @property
    def running(self) -> bool:
        """Queued jobs count: they will run."""
        return self.status in ("queued", "running")


class ForegroundCommands(Protocol):
    """The commands that calls are waiting for."""

    def movable(self, move: Callable[[], None]) -> AbstractContextManager[None]:
        """A command is running; `move` is called if the user sends it to the background."""
        ...

    def move_to_background(self) -> bool:
        """Turn these commands into jobs; False if there are none."""
        ...


class Jobs(Protocol):
    """Background work; it ends with the session.

    The result of a finished job is delivered to the conversation unless it was shown already.
    """

    @property
    def foreground(self) -> ForegroundCommands: ...

    def start(
        self, kind: JobKind, label: str, work: JobWork, *, id: str | None = None, queued: bool = False
    ) -> str:
        """Start `work` and return its id. Raises ToolError if too many jobs are running.

        The caller may choose the `id`, which must be unique. A `queued` job waits for its turn and says
        so with `mark_running`.
        """
        ...

    def mark_running(self, id: str) -> None:
        """A queued job has begun."""
        ...

    def get(self, id: str) -> Job | None:
        """None if there is no such job or it ended too long ago."""
        ...

    def list(self) -> Sequence[Job]: ...
    def cancel(self, id: str) -> CancelStatus:
        """Mark the job as cancelled, without waiting for its end."""
        ...

    def watching(self, ids: Iterable[str]) -> AbstractContextManager[None]:
        """Hold back the results of these jobs; on exit, deliver those not acknowledged."""
        ...

    async def wait(self, ids: Iterable[str], seconds: float) -> bool:
        """True as soon as one of them is not running, False on timeout."""
        ...

    async def quiet(self, *, running: bool = True) -> None:
        """Wait until no job is running, unless that does not matter, and all results are delivered."""
        ...

    def acknowledge(self, ids: Iterable[str]) -> None:
        """The model sees these results now: do not deliver them."""
        ...


class CodingDialogs(Protocol):
    """Dialogs of a mode with a screen. Modes without them fall back to `Ui`."""

    async def approve(self, request: "ApprovalRequest") -> "ApprovalDecision | None":
        """None: no answer."""
        ...

    async def ask_questions(
        self, asked: "Sequence[AskQuestion]", timeout_s: float | None
    ) -> "list[AskAnswer] | None":
        """None: the user dismissed the dialog."""
        ...

    async def review_plan(self, plan: "Plan") -> "PlanAnswer | None": ...
    @property
    def terminal(self) -> "TerminalInput | None":
        """The user's keyboard and screen, to be lent to one program."""
        ...


class CodingContext(ToolContext, Protocol):
    @property
    def dialogs(self) -> CodingDialogs | None: ...
    @property
    def urls(self) -> UrlRouter: ...
    @property
    def snapshots(self) -> Snapshots: ...
    @property
    def models(self) -> Models: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def todos(self) -> "TodoBoard": ...
    @property
    def checkpoints(self) -> "Checkpoints | None":
        """None if there is no conversation to rewind."""
        ...

    @property
    def conflicts(self) -> "ConflictStore":
        """The shown merge conflicts, by number."""
        ...


class ServerStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """An MCP server as every face shows it. `why` says what is wrong, or why it is off."""

    name: str
    state: str
    why: str = ""
    provider: str = ""
    path: str = ""
    type: str = ""
    target: str = ""
    tools: int = 0
    tokens: int = 0
    version: str = ""
    protocol: str = ""


class ServerPort(Protocol):
    """The MCP servers of a session, as its faces see them. Their code loads when there are any."""

    async def wait_first(self) -> None:
        """Before the first request: wait a moment for tools. Raises TauError if a required one is missing."""
        ...

    def status(self) -> list[ServerStatus]: ...
    def tools(self) -> "list[Tool[Any]]": ...
    def instructions(self) -> str:
        """For the system prompt: how servers want their tools to be used. It does not change any more."""
        ...

    def prompt_names(self) -> list[tuple[str, str]]:
        """Names as in `SERVER:PROMPT`, and descriptions. A message `/NAME` is expanded."""
        ...

    def resource_names(self) -> list[tuple[str, str]]:
        """Addresses of the form mcp://SERVER/URI for `read`, and descriptions."""
        ...

    async def wait_settled(self) -> None:
        """Wait until every server is connected or has failed."""
        ...

    async def open(self) -> Any:
        """The servers themselves, for the verbs of `/mcp`. Raises TauError."""
        ...


class SessionFactory(Protocol):
    """Creates another session like this one. Injected by the composition root to avoid importing it."""

    def __call__(
        self, *, cwd: Path, model: str | None, tools: Sequence[str] | None, system_prompt: str | None
    ) -> AbstractAsyncContextManager[Any]: ...
