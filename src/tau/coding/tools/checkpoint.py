"""checkpoint: marks a point of the conversation so that an investigation can shrink to its report."""

from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.clock import iso, now_ms
from tau.base.errors import ToolError
from tau.coding.ports import Checkpoint, CodingContext


class CheckpointParams(Struct, frozen=True):
    goal: Annotated[str, Meta(description="What to find out")]


class MarkCheckpoint(Tool[CheckpointParams]):
    """Its details are the `Checkpoint`."""

    name, label = "checkpoint", "Checkpoint"
    exclusive = True

    async def run(self, params: CheckpointParams, ctx: CodingContext) -> ToolOutput:
        checkpoints = ctx.checkpoints
        if checkpoints is None:
            raise ToolError("A subagent has no checkpoints.")
        if checkpoints.active is not None:
            raise ToolError(
                f'A checkpoint is already active, for "{checkpoints.active.goal}"; call rewind first.'
            )
        checkpoint = Checkpoint(params.goal, iso(now_ms()))
        checkpoints.mark(checkpoint)
        return ToolOutput.text(
            f"Checkpoint created.\nGoal: {checkpoint.goal}\n"
            "Investigate now, then call rewind with a short report.",
            checkpoint,
        )
