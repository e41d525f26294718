"""rewind: ends an investigation, returning the conversation to the checkpoint with a report."""

from typing import Annotated

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.ports import MAX_REPORT_CHARS, CodingContext


class RewindParams(Struct, frozen=True):
    report: Annotated[str, Meta(title="Your findings; nothing else of the investigation is kept")]


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
            raise ToolError("There is no active checkpoint; none was made, or it is closed.")
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
            "Report saved. When this turn ends, the conversation returns to the checkpoint.",
            RewindDetails(report=report, rewound=True),
        )
