"""The context of a tool call: the loop's ports plus those of `coding/ports.py`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tau.agent.output import ToolOutput
from tau.agent.world import CallContext, NestedCall, World
from tau.ai.model import Model
from tau.ai.wire import ToolCall
from tau.coding.ports import CodingDialogs, Jobs, Snapshots, UrlRouter

if TYPE_CHECKING:
    from tau.coding.conflicts.store import ConflictStore
    from tau.coding.ports import Checkpoints
    from tau.coding.todo.list import TodoBoard


class ModelRoles:
    """The current model and models for special roles; an unset role is the current model."""

    def __init__(self, default: Model, roles: Mapping[str, Model] | None = None) -> None:
        self.default = default
        self._roles = dict(roles or {})

    def role(self, name: str) -> Model:
        return self._roles.get(name, self.default)


class CodingWorld(World, frozen=True, kw_only=True):
    urls: UrlRouter
    snapshots: Snapshots
    models: ModelRoles
    jobs: Jobs
    todos: "TodoBoard"
    checkpoints: "Checkpoints | None" = None
    dialogs: CodingDialogs | None = None
    conflicts: Callable[[], "ConflictStore"]  # created on first use


class CodingCall(CallContext):
    """A `CodingContext` over a `CodingWorld`, for one call."""

    def __init__(
        self,
        world: CodingWorld,
        call: ToolCall,
        update: Callable[[ToolOutput], None],
        nested: NestedCall | None = None,
    ) -> None:
        super().__init__(world, call, update, nested)
        self.urls = world.urls
        self.snapshots = world.snapshots
        self.models = world.models
        self.jobs = world.jobs
        self.todos = world.todos
        self.checkpoints = world.checkpoints
        self.dialogs = world.dialogs
        self._conflicts = world.conflicts

    @property
    def conflicts(self) -> "ConflictStore":
        return self._conflicts()
