"""rewind: end an investigation; the conversation goes back to the checkpoint and keeps the report."""

from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.ports import MAX_REPORT_CHARS, CodingContext


class RewindParams(Struct, frozen=True):
    report: Annotated[str, Meta(description="What was found out; nothing else of the investigation is kept")]


class RewindDetails(Struct, frozen=True, rename="camel", kw_only=True):
    report: str
    rewound: bool


class Rewind(Tool[RewindParams]):
    name, label = "rewind", "Rewind"
    exclusive = True

    async def run(self, params: RewindParams, ctx: CodingContext) -> ToolOutput:
        checkpoints = ctx.checkpoints
        if checkpoints is None:
            raise ToolError("A subagent has no checkpoints.")
        if checkpoints.active is None:
            raise ToolError("There is no active checkpoint to go back to; it was never made, or is closed.")
        report = params.report.strip()
        if not report:
            raise ToolError("The report is empty; write down what you found out.")
        if len(report) > MAX_REPORT_CHARS:
            raise ToolError(
                f"The report has {len(report):,} characters; shorten it to {MAX_REPORT_CHARS:,} at most."
            )
        problem = checkpoints.rewind(report)
        if problem is not None:
            raise ToolError(problem)
        return ToolOutput.text(
            "The report is kept. When this turn is over, the conversation goes back to the checkpoint.",
            RewindDetails(report=report, rewound=True),
        )
