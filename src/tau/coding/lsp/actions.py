"""The actions of the tool `lsp` that only look."""

import asyncio
from pathlib import Path
from typing import Any

from msgspec import DecodeError, json

from tau.backends.lsp.client import LanguageServer
from tau.backends.lsp.file_watch import FileWatch
from tau.backends.lsp.lspmux import TEXTS
from tau.backends.lsp.pool import LanguageServers
from tau.backends.lsp.protocol import (
    Location,
    LspError,
    Range,
    convert,
    hover_text,
    locations,
    to_uri,
)
from tau.base.errors import ToolError
from tau.base.json_rpc import JsonRpcError
from tau.base.late import late
from tau.base.sizes import format_bytes
from tau.base.text import clean_line, plain, shortened
from tau.coding.files.paths import real, resolve, shown
from tau.coding.lsp.answers import (
    MAX_SYMBOLS,
    PlaceTexts,
    count_levels,
    counted,
    document_symbols,
    kind_name,
    location_text,
    report_notes,
    row_lines,
    rows_of,
)
from tau.coding.lsp.call import LspCall
from tau.coding.lsp.project_checks import project_checks, run_check
from tau.coding.untrusted_text import fence

globbing = late("glob")

MAX_GLOB_FILES = 20
SINGLE_WAIT_S = 3.0
BATCH_WAIT_S = 0.4
REFERENCE_RETRIES = 2
RETRY_S = 0.25
MAX_CALLS = 200

METHODS = {
    "definition": ("textDocument/definition", "definitionProvider", "definition"),
    "type_definition": ("textDocument/typeDefinition", "typeDefinitionProvider", "type definition"),
    "implementation": ("textDocument/implementation", "implementationProvider", "implementation"),
    "references": ("textDocument/references", "referencesProvider", "reference"),
}


async def find_places(asked: LspCall) -> str:
    method, capability, kind = METHODS[asked.params.action]
    path = asked.path()
    server = await asked.server(path)
    asked.demand(server, capability, method)
    where = await asked.position(server, path)
    found = locations(await server.request(method, where, asked.timeout_s))
    return await asyncio.to_thread(location_text, kind, found, asked.texts(server))


async def find_references(asked: LspCall) -> str:
    method, capability, kind = METHODS["references"]
    path = asked.path()
    server = await asked.server(path)
    asked.demand(server, capability, method)
    params = {**await asked.position(server, path), "context": {"includeDeclaration": True}}
    found: list[Location] = []
    for attempt in range(REFERENCE_RETRIES + 1):
        if attempt:
            await server.load_project(asked.timeout_s)
            await asyncio.sleep(RETRY_S)
        found = locations(await server.request(method, params, asked.timeout_s))
        if len(found) > 1:
            break
    return await asyncio.to_thread(location_text, kind, found, asked.texts(server))


async def hover(asked: LspCall) -> str:
    path = asked.path()
    server = await asked.server(path)
    asked.demand(server, "hoverProvider", "textDocument/hover")
    where = await asked.position(server, path)
    text = hover_text(await server.request("textDocument/hover", where, asked.timeout_s))
    return _fenced(server, plain(text)) if plain(text) else "No hover information"


async def symbols(asked: LspCall) -> str:
    if not asked.is_workspace:
        path = asked.path()
        server = await asked.server(path)
        asked.demand(server, "documentSymbolProvider", "textDocument/documentSymbol")
        await server.sync(path)
        params = {"textDocument": {"uri": to_uri(path)}}
        lines = document_symbols(await server.request("textDocument/documentSymbol", params, asked.timeout_s))
        name = shown(path, asked.ctx.cwd)
        return "\n".join([f"Symbols in {name}:", *lines]) if lines else f"No symbols in {name}"
    query = asked.params.query
    if not query:
        raise ToolError("Symbols of the workspace need `query`.")
    found: dict[str, None] = {}
    notes: list[str] = []
    for spec in asked.servers.found.usable:
        if spec.is_linter:
            continue
        try:
            server = await asked.servers.server(spec)
            if not server.provides("workspaceSymbolProvider", "workspace/symbol"):
                continue
            await _open_one(server, asked.servers)
            await server.load_project(asked.timeout_s)
            rows = await server.request("workspace/symbol", {"query": query}, asked.timeout_s)
        except (LspError, JsonRpcError) as error:
            notes.append(f"[{error}]")
            continue
        texts = asked.texts(server)
        for row in rows if isinstance(rows, list) else ():
            name = clean_line(str(row.get("name")))
            if query.lower() in name.lower():
                place = _symbol_place(row, texts)
                found[f"{kind_name(row.get('kind'))} {shortened(name, 200)} @ {place}"] = None
    lines = list(found)[:MAX_SYMBOLS]
    if len(found) > MAX_SYMBOLS:
        lines.append(f"... {len(found) - MAX_SYMBOLS} more omitted; narrow the query")
    count = counted(len(found), "symbol")
    head = f'Found {count} matching "{query}":' if found else f'No symbols match "{query}"'
    return "\n".join([head, *lines, *notes])


async def _open_one(server: LanguageServer, servers: LanguageServers) -> None:
    """Some servers load no project before they have a file of it."""
    if server.documents:
        return
    files = await asyncio.to_thread(FileWatch(servers.found.root, server.spec.matches).files)
    for path in sorted(files)[:1]:
        await server.sync(path)


def _symbol_place(row: dict[str, Any], texts: PlaceTexts) -> str:
    location = row.get("location") or {}
    if "range" not in location:
        return clean_line(str(location.get("uri")))
    return texts.place(convert(location, Location, "location"))


async def calls(asked: LspCall) -> str:
    """Who calls a function, or what it calls."""
    incoming = asked.params.action == "incoming_calls"
    path = asked.path()
    server = await asked.server(path)
    asked.demand(server, "callHierarchyProvider", "textDocument/prepareCallHierarchy")
    where = await asked.position(server, path)
    items = await server.request("textDocument/prepareCallHierarchy", where, asked.timeout_s)
    method = "callHierarchy/incomingCalls" if incoming else "callHierarchy/outgoingCalls"
    key = "from" if incoming else "to"
    texts = asked.texts(server)
    lines: list[str] = []
    for item in items if isinstance(items, list) else ():
        rows = await server.request(method, {"item": item}, asked.timeout_s)
        for row in rows if isinstance(rows, list) else ():
            other = row.get(key) or {}
            span = convert(other.get("selectionRange") or other.get("range"), Range, "call")
            place = texts.place(Location(str(other.get("uri")), span))
            sites = convert(row.get("fromRanges") or [], list[Range], "call")
            at = ", ".join(str(site.start.line + 1) for site in sites[:20])
            lines.append(
                f"{kind_name(other.get('kind'))} {clean_line(str(other.get('name')))} @ {place} (line {at})"
            )
    lines = list(dict.fromkeys(lines))
    what = "incoming" if incoming else "outgoing"
    more = [f"... {len(lines) - MAX_CALLS} more omitted"] if len(lines) > MAX_CALLS else []
    return (
        "\n".join([f"Found {counted(len(lines), f'{what} call')}:", *lines[:MAX_CALLS], *more])
        if lines
        else f"No {what} calls"
    )


async def diagnostics(asked: LspCall) -> str:
    if not asked.params.file:
        raise ToolError('Name a `file` for diagnostics: a path, a glob, or "*" for the workspace.')
    if asked.params.file == "*":
        checks = project_checks(asked.ctx.cwd, trusted=asked.servers.trusted)
        if not checks:
            raise ToolError(
                "No checker of this project was found: cargo, tsc, go, pyright, basedpyright, ty or ruff."
            )
        return "\n\n".join([await run_check(check, asked.ctx, asked.timeout_s) for check in checks])
    paths, head = await _targets(asked)
    is_batch = len(paths) > 1
    wait_s = BATCH_WAIT_S if is_batch else SINGLE_WAIT_S
    sections = [head] if head else []
    for path in paths:
        if not asked.servers.for_file(path):
            if is_batch:
                continue
            asked.servers.primary(path)
        report = await asked.servers.check(path, wait_s=wait_s, cold_wait_s=asked.timeout_s)
        asked.server_name = ", ".join(report.servers)
        rows = rows_of(path, asked.ctx.cwd, report.diagnostics)
        asked.rows += rows
        notes = report_notes(report, wait_s if not report.silent else asked.timeout_s)
        if rows:
            text = "\n".join([f"{count_levels(rows)}:", *row_lines(rows), *notes])
        elif notes:
            text = "\n".join(notes)
        else:
            text = "OK"
        if is_batch and not rows:
            text = f"{shown(path, asked.ctx.cwd)}: {text}"
        sections.append(text)
    return "\n".join(sections)


async def _targets(asked: LspCall) -> tuple[list[Path], str]:
    file, cwd = asked.params.file or "", asked.ctx.cwd
    path = resolve(file, cwd)
    if path.exists() or not any(character in file for character in "*?["):
        if not path.exists():
            raise ToolError(f"There is no file {file}.")
        return [asked.path()], ""

    def expand() -> list[Path]:
        names = globbing.iglob(file, root_dir=cwd, recursive=True)
        found: list[Path] = []
        for name in names:
            each = cwd / name
            if each.is_file() and asked.servers.for_file(each) and real(each).is_relative_to(real(cwd)):
                found.append(each)
            if len(found) > 10_000:
                break
        return sorted(found)

    found = await asyncio.to_thread(expand)
    if not found:
        raise ToolError(f"No file that a language server knows matches {file}.")
    head = (
        f"[{len(found)} files match; the first {MAX_GLOB_FILES} are checked]"
        if len(found) > MAX_GLOB_FILES
        else ""
    )
    return [asked.ctx.approved.read(each) for each in found[:MAX_GLOB_FILES]], head


async def status(asked: LspCall) -> str:
    return await status_text(asked.servers)


async def status_text(servers: LanguageServers) -> str:
    lines = []
    for row in servers.rows():
        parts = [f"{row.name}: {row.state}"]
        if row.pid:
            memory = f", {format_bytes(row.memory_bytes)}" if row.memory_bytes else ""
            parts.append(f"(pid {row.pid}{memory}, {counted(row.open_files, 'open file')})")
        if row.why:
            parts.append(f"- {row.why}" if row.state == "missing" else f"- last error: {row.why}")
        lines.append(" ".join(parts))
    if not servers.found.usable:
        lines.insert(0, "No language servers configured for this project")
    multiplexer = TEXTS[await servers.lspmux.state()]
    return "\n".join([*lines, *([multiplexer] if multiplexer else []), *servers.found.problems])


async def reload(asked: LspCall) -> str:
    await asked.servers.look_again(force=asked.is_workspace)
    lines = []
    for spec in asked.specs() if asked.is_workspace else [asked.servers.primary(asked.path())]:
        try:
            lines.append(await asked.servers.reload(spec))
        except (LspError, JsonRpcError) as error:
            lines.append(f"Failed to reload {spec.name}: {error}")
    return "\n".join(lines) or "No language servers configured for this project"


async def capabilities(asked: LspCall) -> str:
    parts = []
    for spec in asked.specs():
        try:
            server = await asked.servers.server(spec)
        except (LspError, JsonRpcError) as error:
            parts.append(f"{spec.name}: failed to start ({error})")
            continue
        text = json.format(json.encode(server.capabilities), indent=2).decode()
        parts.append(f"{spec.name}:\n  capabilities: {text}")
    return "\n".join(parts)


async def request(asked: LspCall) -> str:
    params, method = asked.params, asked.params.query
    if not method:
        raise ToolError("A request needs `query`: the method, such as textDocument/hover.")
    body: Any = {}
    if params.payload is not None:
        try:
            body = json.decode(params.payload)
        except (DecodeError, RecursionError) as error:
            raise ToolError(f"`payload` is not JSON: {error}") from None
    if asked.is_workspace:
        spec = next((each for each in asked.servers.found.usable if not each.is_linter), None)
        if spec is None:
            raise ToolError("No language servers are configured for this project.")
        server = await asked.servers.server(spec)
        asked.server_name = server.name
    else:
        path = asked.path()
        server = await asked.server(path)
        if params.line is not None and params.payload is None:
            body = await asked.position(server, path)
        else:
            await server.sync(path)
            body = {"textDocument": {"uri": to_uri(path)}} if params.payload is None else body
    try:
        result = await server.request(method, body, asked.timeout_s)
    except (LspError, JsonRpcError) as error:
        raise ToolError(f"LSP error from {server.name} on {method}: {error}") from None
    text = result if isinstance(result, str) else json.format(json.encode(result), indent=2).decode()
    return f"{server.name} ← {method}:\n{_fenced(server, plain(text))}"


def _fenced(server: LanguageServer, text: str) -> str:
    """Documentation is in the words of whoever wrote the package."""
    return fence([text], f"the language server {server.name}")[0]
