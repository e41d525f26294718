"""One call of the tool `lsp`: what it asks, of which file and server, and what it reports."""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.backends.lsp.client import LanguageServer
from tau.backends.lsp.config import ServerSpec
from tau.backends.lsp.pool import LanguageServers, ServerRow
from tau.backends.lsp.protocol import TextIndex, character_of, to_uri
from tau.base.errors import ToolError
from tau.coding.files.paths import resolve, shown
from tau.coding.lsp.answers import PlaceTexts, find_column
from tau.coding.output import DiagnosticRow
from tau.coding.pending_changes import PendingChanges
from tau.coding.ports import CodingContext

LspAction = Literal[
    "diagnostics",
    "definition",
    "references",
    "hover",
    "symbols",
    "rename",
    "rename_file",
    "code_actions",
    "type_definition",
    "implementation",
    "incoming_calls",
    "outgoing_calls",
    "status",
    "reload",
    "capabilities",
    "request",
]


class LspParams(Struct, frozen=True, omit_defaults=True):
    action: LspAction
    file: Annotated[str | None, Meta(title="File; for diagnostics also a glob; `*` for the workspace")] = None
    line: Annotated[int | None, Meta(title="Line, from 1")] = None
    symbol: Annotated[str | None, Meta(title="Name on the line, `name#N` for its Nth occurrence")] = None
    query: Annotated[str | None, Meta(title="Symbol query, code action, or method of a request")] = None
    new_name: Annotated[str | None, Meta(title="New name or path")] = None
    apply: Annotated[bool | None, Meta(title="Apply, or only preview")] = None
    timeout: Annotated[float | None, Meta(title="Seconds, 5 to 60; default 20")] = None
    payload: Annotated[str | None, Meta(title="Params of a request, as JSON")] = None


class LspDetails(Struct, frozen=True, rename="camel", kw_only=True):
    action: LspAction
    success: bool = True
    request: LspParams
    server_name: str | UnsetType = UNSET
    diagnostics: list[DiagnosticRow] | UnsetType = UNSET
    servers: list[ServerRow] | UnsetType = UNSET


class LspCall:
    """One call of the tool; `server_name` and `rows` go into its details."""

    def __init__(
        self,
        params: LspParams,
        ctx: CodingContext,
        servers: LanguageServers,
        previews: PendingChanges,
        timeout_s: float,
    ) -> None:
        self.params, self.ctx, self.servers = params, ctx, servers
        self.previews, self.timeout_s = previews, timeout_s
        self.server_name = ""
        self.rows: list[DiagnosticRow] = []

    @property
    def is_workspace(self) -> bool:
        return self.params.file in (None, "", "*")

    def path(self) -> Path:
        if self.is_workspace:
            raise ToolError(f"Name a `file`: {self.params.action} is about one.")
        return self.ctx.approved.read(resolve(self.params.file or "", self.ctx.cwd))

    async def server(self, path: Path) -> LanguageServer:
        """The primary server of a file, ready for questions."""
        server = await self.servers.server(self.servers.primary(path))
        self.server_name = server.name
        return server

    def specs(self) -> list[ServerSpec]:
        """The servers of the file, or all; linters too, but not programs that only print."""
        if self.is_workspace:
            return [spec for spec in self.servers.found.usable if not spec.prints_json]
        path = self.path()
        primary = self.servers.primary(path)
        return [spec for spec in self.servers.for_file(path) if not spec.prints_json] or [primary]

    async def position(self, server: LanguageServer, path: Path) -> dict[str, Any]:
        """The document and position in question, after the server has the file. Raises ToolError."""
        document = await server.sync(path, look=self.params.action not in ("hover", "definition"))
        number = max(self.params.line or 1, 1)
        index = TextIndex(document.text)
        lines = len(index.starts) - index.text.endswith(("\n", "\r"))
        if number > max(lines, 1):
            name = shown(path, self.ctx.cwd)
            raise ToolError(f"{name} has {lines} lines, so there is no line {number}.")
        line = index.line(number - 1)
        column = find_column(line, number, self.params.symbol)
        await server.load_project(self.timeout_s)
        position = {"line": number - 1, "character": character_of(line, column, server.encoding)}
        return {"textDocument": {"uri": to_uri(path)}, "position": position}

    def texts(self, server: LanguageServer) -> PlaceTexts:
        def may_read(path: Path) -> bool:
            try:
                self.ctx.approved.read(path)
            except ToolError:
                return False
            return True

        return PlaceTexts(self.ctx.cwd, may_read, server.encoding)

    def demand(self, server: LanguageServer, capability: str, method: str) -> None:
        if not server.provides(capability, method):
            raise ToolError(f"{server.name} does not support {self.params.action}.")
