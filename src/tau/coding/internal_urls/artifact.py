"""`artifact://ID`: the full output of a tool call that was truncated."""

from tau.agent.ports import ToolContext
from tau.coding.internal_urls.router import ReadOnlyUrls
from tau.coding.ports import Resource


class ArtifactUrls(ReadOnlyUrls):
    scheme = "artifact"

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        path = ctx.artifacts.open(rest)
        return Resource(url=f"artifact://{rest}", data=await ctx.fs.read(path), path=path)
