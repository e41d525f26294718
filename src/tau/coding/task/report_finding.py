"""report_finding: one defect that a review found."""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened
from tau.coding.ports import CodingContext

Priority = Literal["P0", "P1", "P2", "P3"]
PRIORITIES: tuple[Priority, ...] = ("P0", "P1", "P2", "P3")
TITLE_CHARS = 120


class Finding(Struct, frozen=True, rename="camel"):
    """`file_path` is relative to the working folder if it is below it."""

    title: str
    body: str
    priority: Priority
    confidence: float
    file_path: str
    line_start: int
    line_end: int


class FindingParams(Struct, frozen=True):
    title: Annotated[str, Meta(description="What is wrong, in at most 80 characters", min_length=1)]
    body: Annotated[str, Meta(description="When it happens, what follows, how to fix it: one paragraph")]
    priority: Annotated[
        Priority, Meta(description="P0 blocks everything, P1 before release, P2 should, P3 minor")
    ]
    confidence: Annotated[float, Meta(description="0 to 1", ge=0, le=1)]
    file_path: Annotated[str, Meta(description="The file", min_length=1)]
    line_start: Annotated[int, Meta(ge=1)]
    line_end: Annotated[int, Meta(ge=1)]


class ReportFinding(Tool[FindingParams]):
    name, label = "report_finding", "Finding"

    def decode(self, arguments: dict[str, Any]) -> tuple[FindingParams, list[str]]:
        priority = arguments.get("priority")
        if isinstance(priority, int) and 0 <= priority <= 3 and not isinstance(priority, bool):
            arguments = {**arguments, "priority": f"P{priority}"}
        return super().decode(arguments)

    async def run(self, params: FindingParams, ctx: CodingContext) -> ToolOutput:
        if params.line_end < params.line_start:
            raise ToolError("`line_end` is before `line_start`.")
        path = Path(params.file_path)
        if path.is_absolute() and path.is_relative_to(ctx.cwd):
            path = path.relative_to(ctx.cwd)
        finding = Finding(
            shortened(clean_line(params.title), TITLE_CHARS),
            params.body.strip(),
            params.priority,
            params.confidence,
            str(path),
            params.line_start,
            params.line_end,
        )
        where = f"{finding.file_path}:{finding.line_start}-{finding.line_end}"
        return ToolOutput.text(f"Recorded {finding.priority} at {where}: {finding.title}", finding)
