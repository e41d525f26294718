"""The tools of all servers as listed last: their names, and which of them have changed."""

from collections.abc import Callable, Sequence

from tau.base.errors import ConfigError
from tau.config.paths import Paths
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.messages import ToolDefinition
from tau.ext.mcp.tool_definitions import DefinitionCache, Pins
from tau.ext.mcp.tools import CallTool, McpTool, is_offered, plain_name, tool_names


class ToolCatalog:
    """`call` runs a tool on its server."""

    def __init__(self, paths: Paths, warn: Callable[[str], None], call: CallTool) -> None:
        self.cache = DefinitionCache(paths.cache / "mcp")
        self._warn, self._call = warn, call
        self._pins = Pins(paths)
        self._changed: dict[tuple[str, str], str] = {}  # with how they differ from their pins
        self._tools: dict[str, list[McpTool]] = {}

    def of(self, server: str) -> Sequence[McpTool]:
        return self._tools.get(server, ())

    def drop(self, server: str) -> None:
        self._tools.pop(server, None)

    def update(self, connection: ServerConnection, servers: Sequence[str]) -> None:
        """The server has listed its tools, or the cache says what it listed before."""
        server = connection.entry.server
        on, off = server.enabled_tools, server.disabled_tools
        offered = [tool for tool in connection.tools if is_offered(tool.name, on, off)]
        names = tool_names(connection.name, [tool.name for tool in offered], servers)
        before = {tool.definition.name: tool for tool in self.of(connection.name)}
        self._tools[connection.name] = [
            old
            if (old := before.get(tool.name)) is not None and old.definition == tool
            else McpTool(self, connection, tool, names[tool.name], self._call)
            for tool in offered
        ]
        for tool, name in names.items():
            if (
                tool not in before
                and name != (plain := plain_name(connection.name, tool))
                and len(plain) <= 64
            ):
                owner = f"The tool {tool} of {connection.name}"
                self._warn(f"{owner} is called {name}, because another has its name.")
        if not connection.from_cache:
            assert connection.info is not None
            self.cache.write(connection.entry.digest, connection.info, connection.tools)
            self._check_pins(connection, offered)

    def _check_pins(self, connection: ServerConnection, tools: Sequence[ToolDefinition]) -> None:
        try:
            changes = self._pins.changes(connection.name, tools)
        except ConfigError as error:
            self._warn(str(error))
            return
        for key in [key for key in self._changed if key[0] == connection.name]:
            del self._changed[key]
        self._changed |= {(connection.name, tool): diff for tool, diff in changes.items()}
        if changes:
            shown = ", ".join(list(changes)[:5])
            self._warn(
                f"The MCP server {connection.name} has changed the definition of {shown};"
                " tau asks before the next call."
            )

    def changed_definition(self, server: str, tool: str) -> str:
        return self._changed.get((server, tool), "")

    def accept_definition(self, server: str, tool: ToolDefinition) -> None:
        """The user has allowed a call of the tool as it was when they were asked."""
        if self._changed.pop((server, tool.name), None) is not None:
            self._pins.accept(server, [tool])
            now = [one.definition for one in self.of(server) if one.definition.name == tool.name]
            changes = self._pins.changes(server, now)  # it may be another one meanwhile
            self._changed |= {(server, name): diff for name, diff in changes.items()}
