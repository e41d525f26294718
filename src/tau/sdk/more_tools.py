"""The tools that come from outside: of MCP servers, and the search that hides them until they are needed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, TypeAlias

from tau.agent.events import Notice, ServersChanged
from tau.agent.loop_owner import Complete
from tau.ai.wire import CustomMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.coding.files.workspace_folders import WorkspaceFolders
from tau.coding.ports import ServerPort
from tau.coding.sandbox import LateSandbox
from tau.coding.session.runner import MoreTools
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.sdk.environment import ToolEnvironment
from tau.sdk.models import SessionModels
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
    ToolEnvironment,
    WorkspaceFolders,
    Complete,
    SessionLog,
    AsyncExitStack,
    tuple[LocalRunner, LateSandbox | None],
    SessionModels,
]


def shared_tools(
    servers: ServerPort, settings: Settings, conversation: SessionLog, names: Sequence[str] | None
) -> MoreTools:
    """An agent uses the connections of the session it works for."""
    selection = tool_selection.ToolSelection(conversation, settings, servers.tools, names)
    return MoreTools(selection, None, (selection,))


async def open_more_tools(
    options: SessionOptions,
    settings: Settings,
    paths: Paths,
    environ: Mapping[str, str],
    environment: ToolEnvironment,
    folders: WorkspaceFolders,
    ask: Complete,
    conversation: SessionLog,
    services: AsyncExitStack,
    run: tuple[LocalRunner, LateSandbox | None],
    models: SessionModels,
    *,
    discover: "Callable[[], CapabilityRegistry] | None",
) -> MoreTools:
    """Call it if something can name a server, or tools can be hidden."""

    def note(text: str) -> None:
        with suppress(TauError):  # the queue is full
            environment.queue.aside(CustomMessage("mcp-resource", text, False, now_ms()))

    def parts() -> "McpParts":
        return mcp_servers.McpParts(
            cwd=options.cwd,
            paths=paths,
            environ=environ,
            contained=run[0].inside(run[1]),
            outside=run[0],
            warn=lambda text: environment.events.emit(Notice("warning", text)),
            search_keys=models.web.keys,
            ui=options.ui,
            complete=ask,
            model=lambda: environment.world.models.role("smol"),
            folders=lambda: folders.all,
            sampling_tokens=settings.mcp.sampling_tokens,
            note=note if settings.mcp.notifications else None,
            debounce_s=settings.mcp.notification_debounce_ms / 1000,
        )

    late_servers = None
    if discover or options.mcp_files or options.mcp_servers:
        late_servers = servers.LateServers(
            parts,
            options.cwd,
            discover,
            environment.world.urls,
            files=options.mcp_files,
            given=[(name, fields, "sdk") for name, fields in options.mcp_servers.items()],
        )
        late_servers.changed = lambda: environment.events.emit(ServersChanged(late_servers.states()))
        await services.enter_async_context(late_servers)
    supply = list if late_servers is None else late_servers.tools
    selection = tool_selection.ToolSelection(conversation, settings, supply, options.tools)
    hooks = (selection,) if late_servers is None else (late_servers, selection)
    return MoreTools(selection, late_servers, hooks)
