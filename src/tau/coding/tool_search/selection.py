"""Which tools requests include: all of them, or the essential ones and those that were activated."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.tool import Tool, is_named
from tau.ai.dialect import Request
from tau.base.late import late
from tau.coding.session.branch_state import BranchState
from tau.coding.session.context import EntryNode
from tau.coding.session.entries import McpToolSelection
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.tool_search.index import ToolIndex
    from tau.coding.tool_search.search_tool import SearchTool

index = late("tau.coding.tool_search.index")
search_tool = late("tau.coding.tool_search.search_tool")

AUTO_TOOLS = 40
"""With more tools than these, `auto` hides those of MCP servers."""
ESSENTIAL = ("read", "bash", "edit")
INTERNAL = frozenset({"resolve", "ask", "todo", "job", "checkpoint", "rewind", "search_tool_bm25"})
"""Built-in tools that are part of how a session works, so that no search finds them."""


class ToolArrangement(Struct, frozen=True):
    """The tools that calls find, in the order of requests, and the names of those that are hidden."""

    tools: Sequence[Tool[Any]]
    hidden: frozenset[str] = frozenset()


class ToolSelection(Hooks):
    """One per session. What was activated is in the log, so that a branch has its own.

    `supply` returns the tools of servers and extensions, and those with these `names` are used. As a hook,
    it activates a hidden tool that the model calls by its exact name.
    """

    def __init__(
        self,
        log: SessionLog,
        settings: Settings,
        supply: Callable[[], Iterable[Tool[Any]]],
        names: Sequence[str] | None = None,
    ) -> None:
        self._log, self._supply, self.names = log, supply, names
        tools = settings.tools
        self.mode = (
            "mcp-only"
            if tools.discovery_mode == "auto" and settings.mcp.discovery_mode
            else tools.discovery_mode
        )
        self._essential = frozenset(tools.essential_override or ESSENTIAL)
        self._state = BranchState(log, self._read)
        self._seen: dict[str, None] = {}  # in the order of requests
        self._sent: set[str] = set()
        self._known: tuple[str, ...] = ()
        self._index: ToolIndex | None = None
        self._hidden: list[Tool[Any]] = []
        self._searchable: list[Tool[Any]] = []
        self._search: SearchTool | None = None

    def selected(self) -> list[str]:
        """The tools that were activated on this branch."""
        return list(self._state.get() or ())

    def arrange(self, own: Sequence[Tool[Any]]) -> ToolArrangement:
        """Own tools first, then the search, then what came later, in the order it came."""
        supplied = self.supplied()
        everything = [*own, *supplied]
        mode = self.mode
        if mode == "auto":
            mode = "mcp-only" if len(everything) > AUTO_TOOLS else "off"
        if mode == "off":
            self._hidden = []
            return self._all(own, supplied)
        selected = self.selected()
        shown = {*selected, *self._sent}
        self._searchable = [tool for tool in everything if self._is_hideable(tool, mode)]
        self._hidden = [tool for tool in self._searchable if tool.name not in shown]
        hidden = frozenset(tool.name for tool in self._hidden)
        if not selected and not self._hidden:
            return self._all(own, supplied)
        moved = [tool for tool in own if self._is_hideable(tool, mode)]
        stable = [tool for tool in own if not self._is_hideable(tool, mode)]
        visible = [tool for tool in (*supplied, *moved) if tool.name not in hidden]
        rest = [tool for tool in (*supplied, *moved) if tool.name in hidden]
        return ToolArrangement([*stable, self._search_tool(), *self._in_order(visible), *rest], hidden)

    def _all(self, own: Sequence[Tool[Any]], supplied: Sequence[Tool[Any]]) -> ToolArrangement:
        """Nothing is hidden but the search, which cells can call."""
        tools = [*own, *self._in_order(supplied)]
        if not supplied:
            return ToolArrangement(tools)
        search = self._search_tool()
        return ToolArrangement([*tools, search], frozenset((search.name,)))

    def _in_order(self, tools: Sequence[Tool[Any]]) -> list[Tool[Any]]:
        """As first seen, so that the start of a request stays the same; activated ones in that order."""
        for name in (*self.selected(), *(tool.name for tool in tools)):
            self._seen.setdefault(name)
        places = {name: place for place, name in enumerate(self._seen)}
        return sorted(tools, key=lambda tool: places[tool.name])

    def _is_hideable(self, tool: Tool[Any], mode: str) -> bool:
        if tool.origin.kind == "mcp":
            return not tool.origin.always and tool.name not in self._essential
        return mode == "all" and tool.name not in self._essential and tool.name not in INTERNAL

    def searchable_tools(self) -> Sequence[Tool[Any]]:
        """The hidden tools and those that were hidden once."""
        return self._searchable

    def supplied(self) -> Sequence[Tool[Any]]:
        return [tool for tool in self._supply() if is_named(tool.name, self.names)]

    def index(self, *, hidden: bool = True) -> "ToolIndex":
        """Over the hidden tools, or all that are supplied; built again when they change."""
        tools = self._hidden if hidden else self.supplied()
        known = tuple(tool.name for tool in tools)
        if self._index is None or known != self._known:
            self._known = known
            self._index = index.ToolIndex(index.ToolDocument.of(tool) for tool in tools)
        return self._index

    def activate(self, names: Sequence[str]) -> None:
        """Include these from the next request on."""
        before = self.selected()
        added = [name for name in names if name not in before]
        if added:
            self._log.append(McpToolSelection(selected_tool_names=[*before, *added]))

    async def before_tool(self, question: ToolQuestion) -> None:
        name = question.tool.name
        if any(tool.name == name for tool in self._hidden):
            self.activate([name])

    async def before_request(self, request: Request) -> Request:
        """What was sent once stays, also if tools that come later are hidden."""
        if self.mode == "auto" and not self._hidden:
            self._sent |= {spec.name for spec in request.tools}
        return request

    def _search_tool(self) -> "SearchTool":
        if self._search is None:
            self._search = search_tool.SearchTool(self)
        return self._search

    def _read(self, node: EntryNode) -> list[str] | None:
        entry = self._log.decode(node) if node.type == "mcp_tool_selection" else None
        return entry.selected_tool_names if isinstance(entry, McpToolSelection) else None
