"""The ports that a coding agent's tools see on top of the loop's own."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.agent.ports import Stat, ToolContext
from tau.ai.model import Model

MAX_REPORT_CHARS = 50_000


class Checkpoint(Struct, frozen=True, rename="camel"):
    """An investigation that has begun; `started_at` is a time as sessions write it."""

    goal: str
    started_at: str


class Checkpoints(Protocol):
    """One is active at most. The conversation goes back when the turn in which that is asked for is over."""

    @property
    def active(self) -> Checkpoint | None: ...
    def mark(self, checkpoint: Checkpoint) -> None: ...
    def rewind(self, report: str) -> str | None:
        """Go back at the end of this turn. A sentence says why that cannot be done."""
        ...


if TYPE_CHECKING:
    from tau.backends.shell.terminal import TerminalInput
    from tau.coding.approval.hook import ApprovalDecision, ApprovalRequest
    from tau.coding.conflicts.store import ConflictStore
    from tau.coding.plan.review import Plan, PlanAnswer
    from tau.coding.questions import AskAnswer, AskQuestion
    from tau.coding.todo.list import TodoBoard
    from tau.hashline.snapshots import SnapshotStore


JobKind = Literal["bash", "task"]
JobStatus = Literal["running", "completed", "failed", "cancelled"]
CancelStatus = Literal["cancelled", "not_found", "already_completed"]
JobReport: TypeAlias = Callable[[str], None]
# Is given the way to report what there is so far, as a whole each time; returns what there is in the end.
JobWork: TypeAlias = Callable[[JobReport], Coroutine[Any, Any, str]]


class ChangedFile(Struct, frozen=True):
    """A file in its new state, and the text that it holds now."""

    path: Path
    stat: Stat
    text: str


class Resource(Struct, frozen=True, kw_only=True):
    """What an internal address leads to. `path` is set where it is a file."""

    url: str
    data: bytes
    path: Path | None = None
    immutable: bool = True
    note: str = ""  # what a write did, where "wrote so many bytes" does not tell it
    changed: tuple[ChangedFile, ...] = ()  # files that a write changed


class UrlScheme(Protocol):
    @property
    def scheme(self) -> str: ...
    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        """`rest` is what stands behind `scheme://`. Raises ToolError when it leads nowhere."""
        ...

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        """Raises ToolError where nothing can be written."""
        ...


class UrlRouter(Protocol):
    """Each subsystem registers its own scheme."""

    def register(self, scheme: UrlScheme) -> None: ...
    def handles(self, text: str) -> bool:
        """Whether this is an address of ours, rather than a path."""
        ...

    async def resolve(self, url: str, ctx: ToolContext) -> Resource: ...
    async def write(self, url: str, data: bytes, ctx: ToolContext) -> Resource: ...


class Snapshots(Protocol):
    """What the model has seen of each file, so that somebody else's change is noticed before it is lost."""

    @property
    def texts(self) -> "SnapshotStore":
        """The texts that were shown, by file and tag."""
        ...

    def remember(self, path: Path, stat: Stat) -> None: ...
    def last_seen(self, path: Path) -> Stat | None: ...
    def record(self, path: Path, text: str, *, own: bool = False) -> str | None:
        """The tag under which a text is shown; None if it is too large. `own`: we wrote it ourselves."""
        ...


class Models(Protocol):
    """Models by what they are for: `smol`, `slow`, `vision`, `plan`; an unset role is the default one."""

    def role(self, name: str) -> Model: ...


class Job(Struct, frozen=True, kw_only=True):
    """A job as it is at this moment. `progress` is the end of what it has reported so far."""

    id: str
    kind: JobKind
    label: str
    status: JobStatus
    duration_ms: int
    result_text: str | None = None
    error_text: str | None = None
    progress: str = ""

    @property
    def running(self) -> bool:
        return self.status == "running"


class Jobs(Protocol):
    """Work that goes on while the conversation does; it ends with the session.

    What an ended job has to say is delivered to the conversation, unless somebody has shown it before.
    """

    def start(self, kind: JobKind, label: str, work: JobWork) -> str:
        """Begin `work` and return its id. Raises ToolError where too many jobs are running."""
        ...

    def get(self, id: str) -> Job | None:
        """None if there is no such job, or it ended too long ago."""
        ...

    def list(self) -> Sequence[Job]: ...
    def cancel(self, id: str) -> CancelStatus:
        """The job counts as cancelled from now on; its end is not waited for."""
        ...

    def watching(self, ids: Iterable[str]) -> AbstractContextManager[None]:
        """Inside, results of these jobs are not delivered; after it, those that nobody acknowledged are."""
        ...

    async def wait(self, ids: Iterable[str], seconds: float) -> bool:
        """True as soon as one of them does not run, False when the time is up."""
        ...

    def acknowledge(self, ids: Iterable[str]) -> None:
        """The model is being shown what these jobs had to say: do not deliver it."""
        ...


class CodingDialogs(Protocol):
    """Dialogs of a face with a screen. Where a face has none, the same is asked in the words of `Ui`."""

    async def approve(self, request: "ApprovalRequest") -> "ApprovalDecision | None":
        """None: there was no answer."""
        ...

    async def ask_questions(
        self, asked: "Sequence[AskQuestion]", timeout_s: float | None
    ) -> "list[AskAnswer] | None":
        """None: the user turned away."""
        ...

    async def review_plan(self, plan: "Plan") -> "PlanAnswer | None": ...
    @property
    def terminal(self) -> "TerminalInput | None":
        """The person's keyboard and screen, to be lent to one program."""
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
        """None where there is no conversation to go back in."""
        ...

    @property
    def conflicts(self) -> "ConflictStore":
        """The merge conflicts that were shown, by number."""
        ...


class SessionFactory(Protocol):
    """Makes another session like this one. The composition root passes it in, so nobody imports that."""

    def __call__(
        self, *, cwd: Path, model: str | None, tools: Sequence[str] | None, system_prompt: str | None
    ) -> AbstractAsyncContextManager[Any]: ...
