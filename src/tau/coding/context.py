"""The context of a tool call: the loop's ports plus those of `coding/ports.py`."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from tau.agent.call_context import CallContext, NestedCall, World
from tau.agent.output import ToolOutput
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import ToolCall
from tau.coding.ports import CodingDialogs, Jobs, Snapshots, UrlRouter

if TYPE_CHECKING:
    from tau.ai.plan_limits import PlanLimits
    from tau.coding.conflicts.merge_conflicts import ConflictStore
    from tau.coding.ports import Checkpoints
    from tau.coding.todo.list import TodoBoard


class ModelRoles:
    """The current model and models for special roles; an unset role is the current model.

    `available` are all models that the user has access to, `levels` the thinking levels that roles name,
    `plan_limits` what providers last said about their limits. `num_ctx` is the context size of models whose
    server takes one. It stays the same, because another one makes the server load the model again.
    """

    def __init__(
        self,
        default: Model,
        roles: Mapping[str, Model] | None = None,
        available: Callable[[], Iterable[Model]] = tuple,
        levels: Mapping[str, ThinkingLevel] | None = None,
        plan_limits: "Mapping[str, PlanLimits] | None" = None,
        num_ctx: int = 0,
    ) -> None:
        self._num_ctx = num_ctx
        self.default = default
        self.plan_limits: Mapping[str, PlanLimits] = {} if plan_limits is None else plan_limits
        self._levels = dict(levels or {})
        self._roles = {name: model.with_num_ctx(num_ctx) for name, model in (roles or {}).items()}
        self._available = available

    @property
    def default(self) -> Model:
        return self._default

    @default.setter
    def default(self, model: Model) -> None:
        self._default = model.with_num_ctx(self._num_ctx)

    def role(self, name: str) -> Model:
        return self._roles.get(name, self.default)

    def first_of(self, *names: str) -> str:
        """The first of these roles that is set, else the last."""
        return next((name for name in names if name in self._roles), names[-1])

    def level(self, name: str) -> ThinkingLevel | None:
        """The thinking level of a role, as its model has it; None if the role names none."""
        level = self._levels.get(name)
        return None if level is None else self.role(name).clamp_thinking(level)

    def names(self, model: Model) -> list[str]:
        """The roles set to this model."""
        return [name for name, own in self._roles.items() if own.key == model.key]

    def replace(self, role: str, model: Model) -> bool:
        """Use another model for a role; False if the role is not set."""
        if role not in self._roles:
            return False
        self._roles[role] = model.with_num_ctx(self._num_ctx)
        return True

    def for_images(self) -> Model:
        wanted = [self._roles[name] for name in ("vision", "default") if name in self._roles]
        for model in chain(wanted, (self.default,), self._available()):
            if "image" in model.input:
                return model
        return self.role("vision")


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
