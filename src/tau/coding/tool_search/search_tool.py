"""search_tool_bm25: finds hidden tools and activates them."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, json

from tau.agent.arguments import UNLISTED
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.dialect import ToolSpec
from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened
from tau.coding.ports import CodingContext
from tau.coding.tool_search.index import ToolMatch

if TYPE_CHECKING:
    from tau.coding.tool_search.selection import ToolSelection

DEFAULT_LIMIT = 8
MAX_SERVERS = 30
MAX_QUERY_CHARS = 1_000
DISABLED = (
    "Tool discovery is disabled. Enable tools.discoveryMode or mcp.discoveryMode to use search_tool_bm25."
)


class SearchToolParams(Struct, frozen=True):
    query: Annotated[str, Meta(description="Words that describe the tool")]
    limit: Annotated[int | float | None, Meta(title="Most matches to activate; default 8")] = None
    activate: Annotated[bool, Meta(title="false: only list them, for cells", extra_json_schema=UNLISTED)] = (
        True
    )
    schema_of: Annotated[str, Meta(title="A tool to describe, for cells", extra_json_schema=UNLISTED)] = ""


class FoundTool(Struct, frozen=True):
    """A match. The score has six decimals."""

    name: str
    label: str
    description: str
    schema_keys: list[str]
    score: float
    server_name: str | UnsetType = UNSET
    mcp_tool_name: str | UnsetType = UNSET


class SearchToolDetails(Struct, frozen=True):
    query: str
    limit: int
    total_tools: int
    activated_tools: list[str]
    active_selected_tools: list[str]
    tools: list[FoundTool]
    schema: dict[str, Any] | UnsetType = UNSET


class SearchTool(Tool[SearchToolParams]):
    name, label = "search_tool_bm25", "Search tools"
    exclusive = True

    def __init__(self, selection: "ToolSelection") -> None:
        self._selection = selection
        self._described: tuple[str, ...] = ()
        self._spec: ToolSpec | None = None

    @property
    def spec(self) -> ToolSpec:
        """Names the servers. It changes only with them, because each change costs the cached prefix."""
        tools = self._selection.searchable_tools()
        known = tuple(sorted(tool.name for tool in tools))
        if self._spec is None or known != self._described:
            self._described = known
            base = super().spec
            counts = Counter(tool.origin.server or "built in" for tool in tools)
            rows = [f"- {clean_line(server)} ({count})" for server, count in counts.most_common(MAX_SERVERS)]
            if len(counts) > MAX_SERVERS:
                rows.append(f"- and {len(counts) - MAX_SERVERS} more servers")
            text = base.description.replace("{{count}}", str(len(tools))).replace(
                "{{servers}}", "\n".join(rows)
            )
            self._spec = ToolSpec(base.name, text, base.parameters)
        return self._spec

    async def run(self, params: SearchToolParams, ctx: CodingContext) -> ToolOutput:
        if params.schema_of:
            return self._describe(params.schema_of)
        query, limit = params.query.strip()[:MAX_QUERY_CHARS], params.limit
        if not query:
            raise ToolError("Query is required and must not be empty.")
        if limit is None:
            limit = DEFAULT_LIMIT
        if limit < 1 or int(limit) != limit:
            raise ToolError("Limit must be a positive integer.")
        if self._selection.mode == "off" and params.activate:
            raise ToolError(DISABLED)
        found = self._selection.index(hidden=params.activate)
        matches = found.search(query)[: int(limit)]
        names = [match.document.name for match in matches if params.activate]
        self._selection.activate(names)
        details = SearchToolDetails(
            query=query,
            limit=int(limit),
            total_tools=len(found.documents),
            activated_tools=names,
            active_selected_tools=self._selection.selected(),
            tools=[_found(match) for match in matches],
        )
        answer = {
            "query": query,
            "activated_tools": names,
            "match_count": len(matches),
            "total_tools": len(found.documents),
        }
        return ToolOutput.text(json.encode(answer).decode(), details)

    def _describe(self, name: str) -> ToolOutput:
        tool = next((one for one in self._selection.supplied() if name in (one.name, *one.aliases)), None)
        if tool is None:
            raise ToolError(f'There is no tool named "{name}"; tools.search finds them.')
        schema = tool.spec.parameters
        details = SearchToolDetails(name, 1, 1, [], self._selection.selected(), [], schema)
        return ToolOutput.text(json.encode(schema).decode(), details)


def _found(match: ToolMatch) -> FoundTool:
    document = match.document
    return FoundTool(
        name=document.name,
        label=document.label,
        description=shortened(document.summary, 400),
        schema_keys=list(document.keys),
        score=round(match.score, 6),
        server_name=document.server or UNSET,
        mcp_tool_name=document.tool or UNSET,
    )
