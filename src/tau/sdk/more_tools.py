"""The tools that come from outside: of MCP servers, and the search that hides them until they are needed."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, TypeAlias

from tau.agent.events import AgentEvent, Notice
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.sandbox import LateSandbox
from tau.coding.session.runner import MoreTools
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.sdk.options import SessionOptions

if TYPE_CHECKING:
    from tau.config.discovery.registry import CapabilityRegistry
    from tau.ext.mcp.servers import McpParts

mcp_servers = late("tau.ext.mcp.servers")
servers = late("tau.sdk.servers")
tool_selection = late("tau.coding.tool_search.selection")


MoreToolsInput: TypeAlias = tuple[
    Paths,
    Mapping[str, str],
    Callable[[AgentEvent], None],
    SessionLog,
    AsyncExitStack,
    tuple[LocalRunner, LateSandbox | None],
]


async def open_more_tools(
    options: SessionOptions,
    settings: Settings,
    paths: Paths,
    environ: Mapping[str, str],
    emit: Callable[[AgentEvent], None],
    conversation: SessionLog,
    services: AsyncExitStack,
    run: tuple[LocalRunner, LateSandbox | None],
    *,
    discover: "Callable[[], CapabilityRegistry] | None",
) -> MoreTools:
    """Call it if something can name a server, or tools can be hidden."""

    def parts() -> "McpParts":
        return mcp_servers.McpParts(
            cwd=options.cwd,
            paths=paths,
            environ=environ,
            contained=run[0].inside(run[1]),
            outside=run[0],
            warn=lambda text: emit(Notice("warning", text)),
            is_headless=options.ui is None,
        )

    late_servers = None
    if discover or options.mcp_files or options.mcp_servers:
        late_servers = servers.LateServers(
            parts,
            discover,
            files=options.mcp_files,
            given=[(name, fields, "sdk") for name, fields in options.mcp_servers.items()],
        )
        await services.enter_async_context(late_servers)
    supply = list if late_servers is None else late_servers.tools
    return MoreTools(tool_selection.ToolSelection(conversation, settings, supply), late_servers)
