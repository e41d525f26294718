"""lsp: asks language servers for diagnostics, places, symbols, renames and code actions."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import UNSET

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.backends.lsp.pool import LanguageServers
from tau.backends.lsp.protocol import LspError
from tau.base.errors import ToolError
from tau.base.json_rpc import JsonRpcError
from tau.base.text import clean_line, shortened
from tau.coding.files.paths import resolve
from tau.coding.lsp import actions, refactorings
from tau.coding.lsp.call import LspAction, LspCall, LspDetails, LspParams
from tau.coding.lsp.project_checks import project_checks
from tau.coding.output import OutputLimits, notice, truncate, with_notice
from tau.coding.pending_changes import PendingChanges
from tau.coding.ports import CodingContext

TIMEOUT_S = (5.0, 60.0)
DEFAULT_TIMEOUT_S = 20.0


class Lsp(Tool[LspParams]):
    name, label = "lsp", "Language server"

    def __init__(
        self, servers: LanguageServers | None = None, previews: PendingChanges | None = None
    ) -> None:
        self._servers = servers
        self._previews = previews or PendingChanges()

    @property
    def offered(self) -> bool:
        return self._servers is not None and bool(self._servers.found.usable)

    def effects(self, params: LspParams, cwd: Path) -> Effects:
        """What edits write is declared by `resolve`, which applies them."""
        reads = [cwd] if self._servers is None else [cwd, self._servers.found.root]
        if params.file and params.file != "*" and not set("*?[{").intersection(params.file):
            reads.append(resolve(params.file, cwd))
        runs: tuple[str, ...] = ()
        if params.action == "diagnostics" and params.file == "*" and self._servers is not None:
            checks = project_checks(cwd, trusted=self._servers.trusted)
            runs = tuple(check.command for check in checks)
        executes = (params.action == "request" and _executes(params.query)) or (
            params.action == "code_actions" and params.apply is True
        )
        return Effects(reads=tuple(dict.fromkeys(reads)), runs=runs, acts_elsewhere=executes)

    async def run(self, params: LspParams, ctx: CodingContext) -> ToolOutput:
        if self._servers is None:
            raise ToolError("There are no language servers for this folder; `tau lsp status` says why.")
        wanted = DEFAULT_TIMEOUT_S if params.timeout is None else params.timeout
        timeout_s = min(max(wanted, TIMEOUT_S[0]), TIMEOUT_S[1])
        await self._servers.look_again()
        asked = LspCall(params, ctx, self._servers, self._previews, timeout_s)
        try:
            async with asyncio.timeout(None if _waits_for_user(params) else timeout_s + 1):
                text = await _ACTIONS[params.action](asked)
        except TimeoutError:
            raise ToolError(f"No answer in {timeout_s:g} s; set `timeout` to wait up to 60 s.") from None
        except (LspError, JsonRpcError) as error:
            raise ToolError(f"LSP error: {error}") from None
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            problem = shortened(clean_line(repr(error)), 200)
            raise ToolError(f"LSP error: the server sent an answer of an unknown form: {problem}.") from error
        cut = truncate(text, OutputLimits())
        if cut.truncation:
            text = with_notice(cut.text, notice(cut.truncation, more="ask for less"))
        details = LspDetails(
            action=params.action,
            request=params,
            server_name=asked.server_name or UNSET,
            diagnostics=asked.rows or UNSET,
            servers=self._servers.rows() if params.action == "status" else UNSET,
        )
        return ToolOutput.text(text, details)


def _executes(method: str | None) -> bool:
    return (method or "").startswith("workspace/executeCommand") or "/run" in (method or "")


def _waits_for_user(params: LspParams) -> bool:
    """An edit may have to be approved, and a checker has its own limit."""
    return params.action in ("rename", "rename_file", "code_actions") or (
        params.action == "diagnostics" and params.file is not None
    )


_ACTIONS: dict[LspAction, Callable[[LspCall], Awaitable[str]]] = {
    "diagnostics": actions.diagnostics,
    "definition": actions.find_places,
    "type_definition": actions.find_places,
    "implementation": actions.find_places,
    "references": actions.find_references,
    "hover": actions.hover,
    "symbols": actions.symbols,
    "incoming_calls": actions.calls,
    "outgoing_calls": actions.calls,
    "status": actions.status,
    "reload": actions.reload,
    "capabilities": actions.capabilities,
    "request": actions.request,
    "rename": refactorings.rename,
    "rename_file": refactorings.rename_file,
    "code_actions": refactorings.code_actions,
}
