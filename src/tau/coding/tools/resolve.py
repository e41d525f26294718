"""resolve: applies or discards the pending preview."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.coding.pending_changes import PendingChanges
from tau.coding.ports import CodingContext


class ResolveParams(Struct, frozen=True):
    action: Annotated[Literal["apply", "discard"], Meta(title="What to do with the preview")]
    reason: Annotated[str, Meta(title="Why, in one sentence")] = ""


class ResolveDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """The discarded preview; an applied one has the details of the tool that made it."""

    action: Literal["apply", "discard"]
    title: str
    reason: str = ""


class Resolve(Tool[ResolveParams]):
    name, label = "resolve", "Resolve"
    exclusive = True

    def __init__(self, previews: PendingChanges) -> None:
        self._previews = previews

    def effects(self, params: ResolveParams, cwd: Path) -> Effects:
        pending = self._previews.pending
        if params.action == "discard" or pending is None:
            return Effects()
        name = f"{pending.title} (number {self._previews.number})"
        return Effects(writes=pending.paths, details=(("preview", name),))

    async def run(self, params: ResolveParams, ctx: CodingContext) -> ToolOutput:
        if ctx.approved.effects not in (None, self.effects(params, ctx.cwd)):
            raise ToolError("Not applied: another preview has replaced the approved one. Look at it first.")
        preview = self._previews.take()
        if preview is None:
            raise ToolError("There is no pending preview; none was made, or it is already resolved.")
        if params.action == "apply":
            return await preview.apply(ctx)
        details = ResolveDetails(action="discard", title=preview.title, reason=params.reason)
        return ToolOutput.text(f"Discarded: {preview.title}. Nothing was changed.", details)
