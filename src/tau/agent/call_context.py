"""The ports that a session's tools share, and the view of them that one call gets."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from msgspec import Struct

from tau.agent.output import ToolOutput
from tau.agent.ports import Artifacts, FileSystem
from tau.agent.ui import Ui
from tau.ai.wire import ToolCall
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import Runner

if TYPE_CHECKING:
    from tau.agent.approved_effects import ApprovedEffects

approval = late("tau.agent.approved_effects")


class DeniedPaths(Protocol):
    def denies(self, path: str) -> bool: ...


NestedCall: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[ToolOutput]]


class World(Struct, frozen=True, kw_only=True):
    cwd: Path
    fs: FileSystem
    run: Runner
    artifacts: Artifacts
    ui: Ui | None = None
    denied: Callable[[], "DeniedPaths | None"] = lambda: None  # what no call may read


class CallContext:
    """A `ToolContext` over a `World`, for one call. A tool gets it `bound` to what was approved."""

    def __init__(
        self,
        world: World,
        call: ToolCall,
        update: Callable[[ToolOutput], None],
        nested: NestedCall | None = None,
    ) -> None:
        self.call_id = call.id
        self.cwd = world.cwd
        self.helpers = world.run
        self.approved: ApprovedEffects = approval.ApprovedEffects()
        self._use_disk(world.fs)
        self.artifacts = world.artifacts
        self.ui = world.ui
        self.update = update
        self._nested = nested
        self._denied = world.denied

    @property
    def run(self) -> Runner:
        if not self.approved.may_run:
            raise ToolError("Running a command was not approved: this call declared none.")
        return self.helpers

    def bound(self, approved: "ApprovedEffects") -> Self:
        """The same context, for a call that may touch what is approved and nothing else."""
        context = object.__new__(type(self))
        vars(context).update(vars(self))
        context.approved = approved
        if (denied := self._denied()) is not None:
            approved.denies = denied.denies
        context._use_disk(self._disk)
        return context

    def _use_disk(self, disk: FileSystem) -> None:
        self._disk = disk
        self.fs: FileSystem = approval.BoundFileSystem(disk, self.approved)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if self._nested is None:
            raise ToolError("Other tools cannot be called from here.")
        return await self._nested(name, arguments)
