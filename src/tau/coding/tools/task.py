"""task: starts agents, each with its own conversation, and hands over their results."""

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from tau.agent.arguments import decode_arguments, json_schema
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.dialect import ToolSpec
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.ports import CodingContext
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.task.late_team import LateTeam

ports = late("tau.coding.task.ports")

MAX_ITEMS = 100


class TaskItem(Struct, frozen=True):
    assignment: Annotated[str, Meta(title="The work: complete instructions for someone new to it")]
    id: Annotated[Annotated[str, Meta(max_length=48)] | None, Meta(title="Name of the agent")] = None
    description: Annotated[str, Meta(title="Short label for the user")] = ""
    isolated: Annotated[bool, Meta(title="Work in a copy of the repository; changes are merged")] = False


class BatchParams(Struct, frozen=True):
    agent: Annotated[str, Meta(title="Kind of agent, for all")]
    context: Annotated[str, Meta(title="What all of them need to know")]
    tasks: Annotated[list[TaskItem], Meta(title="One agent each")]


class FlatParams(TaskItem, frozen=True, kw_only=True):
    agent: Annotated[str, Meta(title="Kind of agent")]


class Delegate(Tool[BatchParams]):
    """`agent` is the id of the agent that calls it; empty in the main conversation."""

    name, label = "task", "Task"

    def __init__(
        self,
        settings: Settings | None = None,
        team: "LateTeam | None" = None,
        agent: str = "",
    ) -> None:
        self._settings = settings or Settings()
        self._team = team
        self._agent = agent

    @cached_property
    def description(self) -> str:
        eager = "\nDelegate whenever parts of the work are independent." if self._settings.task.eager else ""
        agents = "" if self._team is None else f"\nAgents:\n{self._team.describe()}"
        return f"{super().description}{eager}{agents}".strip()

    @cached_property
    def spec(self) -> ToolSpec:
        schema = json_schema(BatchParams if self._settings.task.batch else FlatParams)
        if self._settings.task.isolation.mode == "none":
            schema = _without_isolated(schema)
        return ToolSpec(self.name, self.description, schema)

    def decode(self, arguments: dict[str, Any]) -> tuple[BatchParams, list[str]]:
        """Both shapes are accepted; which one the model sees is a setting."""
        can_batch = self._settings.task.batch
        if "schema" in arguments:
            raise ToolError("There is no `schema` here: describe the result in the assignment.")
        if not can_batch and ("tasks" in arguments or "context" in arguments):
            raise ToolError("Batches are off (task.batch): start one agent per call, with `assignment`.")
        if not can_batch or ("assignment" in arguments and "tasks" not in arguments):
            flat, ignored = decode_arguments(FlatParams, arguments)
            item = TaskItem(flat.assignment, flat.id, flat.description, flat.isolated)
            return _checked(BatchParams(flat.agent, "", [item])), ignored
        if "assignment" in arguments:
            raise ToolError("Put `assignment` into an item of `tasks`.")
        batch, ignored = decode_arguments(BatchParams, arguments)
        if not batch.context.strip():
            raise ToolError("`context` is empty: write what all agents need to know.")
        return _checked(batch), ignored

    async def run(self, params: BatchParams, ctx: CodingContext) -> ToolOutput:
        if self._team is None:
            raise ToolError("Agents need an open session.")
        orders = [
            ports.TaskOrder(
                agent=params.agent.strip(),
                text=item.assignment.strip(),
                context=params.context,
                id=item.id,
                description=item.description,
                isolated=item.isolated,
                index=index,
                tool_call=ctx.call_id,
            )
            for index, item in enumerate(params.tasks)
        ]
        return await self._team().delegate(orders, self._agent, ctx)


def _checked(params: BatchParams) -> BatchParams:
    if not params.agent.strip():
        raise ToolError("`agent` is empty: name the kind of agent.")
    if not params.tasks:
        raise ToolError("`tasks` is empty: give at least one item with an assignment.")
    if len(params.tasks) > MAX_ITEMS:
        raise ToolError(f"One call can start {MAX_ITEMS} agents, not {len(params.tasks)}.")
    for number, item in enumerate(params.tasks, 1):
        if not item.assignment.strip():
            raise ToolError(f"Item {number} has an empty `assignment`.")
    ids = [item.id.strip().lower() for item in params.tasks if item.id and item.id.strip()]
    twice = sorted({id for id in ids if ids.count(id) > 1})
    if twice:
        raise ToolError(f"Ids must differ: {', '.join(twice)} occurs more than once.")
    return params


def _without_isolated(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the parameter that only makes sense with isolation."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(one) for name, one in value.items() if name != "isolated"}
        return [strip(one) for one in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = strip(schema)
    return stripped
