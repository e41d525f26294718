"""The actions of the tool `lsp` that change files: renames and code actions."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tau.backends.lsp.client import LanguageServer
from tau.backends.lsp.file_watch import FileWatch
from tau.backends.lsp.protocol import LspError, TextIndex, to_uri
from tau.base.errors import ToolError
from tau.base.json_rpc import METHOD_NOT_FOUND, JsonRpcError
from tau.base.text import clean_line, shortened
from tau.coding.edits.change import FileChange, summary
from tau.coding.files.paths import real, resolve, shown
from tau.coding.lsp.answers import counted, find_column
from tau.coding.lsp.call import LspCall
from tau.coding.lsp.workspace_edits import EditPlan, apply_plan

MAX_RENAME_PAIRS = 1_000
MAX_LEFT_SHOWN = 20
MAX_OPENED = 50
MAX_SEARCHED_BYTES = 1024 * 1024
MAX_ACTIONS = 100


async def rename(asked: LspCall) -> str:
    params = asked.params
    if not params.new_name:
        raise ToolError("A rename needs `new_name`.")
    path = asked.path()
    server = await asked.server(path)
    asked.demand(server, "renameProvider", "textDocument/rename")
    where = await asked.position(server, path)
    old_name = _name_at(server.documents[path].text, (params.line or 1) - 1, params.symbol)
    if old_name:
        await _open_mentions(old_name, asked, server)
    body = {**where, "newName": params.new_name}
    answer = await server.request("textDocument/rename", body, asked.timeout_s)
    plan = _plan(asked)
    plan.add(answer, server)
    changes = await plan.changes(asked.ctx)
    if not changes:
        raise ToolError("Rename returned no edits; nothing was changed. Check line and symbol.")
    counts = [f"{change.name}: {counted(len(plan.files[change.target].edits), 'edit')}" for change in changes]
    total = f"{counted(plan.edits, 'edit')} in {counted(len(changes), 'file')}"
    if params.apply is False:
        return "\n".join([f"Rename preview: {total}", *counts, *_diffs(changes)])
    await apply_plan(f"rename to {params.new_name}, {total}", changes, asked.previews, asked.ctx)
    await _resync(server, changes)
    left = await asyncio.to_thread(_mentions, old_name, asked) if old_name else []
    lines = ["Applied rename:", *counts]
    if left:
        names = [shown(each, asked.ctx.cwd) for each in left[:MAX_LEFT_SHOWN]]
        more = f" and {len(left) - MAX_LEFT_SHOWN} more" if len(left) > MAX_LEFT_SHOWN else ""
        lines.append(f'"{old_name}" still occurs in: {", ".join(names)}{more}')
    return "\n".join(lines)


def _name_at(text: str, line: int, symbol: str | None) -> str:
    """The word that is renamed."""
    content = TextIndex(text).line(line)
    found = re.match(r"\w+", content[find_column(content, line + 1, symbol) :])
    return found[0] if found else ""


async def _open_mentions(name: str, asked: LspCall, server: LanguageServer) -> None:
    """A server that has just started does not know all files yet."""
    for path in (await asyncio.to_thread(_mentions, name, asked, server.spec.matches))[:MAX_OPENED]:
        with suppress(LspError):
            await server.sync(path, look=False)


def _mentions(name: str, asked: LspCall, wanted: Callable[[Path], bool] = lambda name: True) -> list[Path]:
    """The files of the project that have the name, in strings and comments too."""
    word = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
    found = []
    for path in FileWatch(asked.servers.found.root, wanted).files():
        try:
            if path.stat().st_size <= MAX_SEARCHED_BYTES and word.search(path.read_bytes()):
                found.append(path)
        except OSError:
            continue
    return sorted(found)


async def _resync(server: LanguageServer, changes: Sequence[FileChange]) -> None:
    """Tell the server at once what was written."""
    for change in changes:
        if change.target in server.documents:
            await server.sync(change.target)


def _plan(asked: LspCall) -> EditPlan:
    return EditPlan((asked.servers.found.root, asked.ctx.cwd))


def _diffs(changes: Sequence[FileChange]) -> Iterator[str]:
    return (change.diff.rstrip("\n") for change in changes if change.diff)


async def rename_file(asked: LspCall) -> str:
    source, target, pairs = await _pairs(asked)
    files = [{"oldUri": to_uri(old), "newUri": to_uri(new)} for old, new in pairs]
    plan, notes, told = _plan(asked), [], []
    for spec in asked.servers.found.usable:
        if spec.is_linter or not any(spec.matches(old) for old, _ in pairs):
            continue
        try:
            server = await asked.servers.server(spec)
            await server.sync(pairs[0][0])
            await _open_mentions(source.stem, asked, server)
            await server.load_project(asked.timeout_s)
            edit = await server.request("workspace/willRenameFiles", {"files": files}, asked.timeout_s)
            plan.add(edit, server)
            told.append(server)
        except JsonRpcError as error:
            if error.code != METHOD_NOT_FOUND:
                notes.append(f"[{error}]")
        except LspError as error:
            notes.append(f"[{error}]")
    for old, new in pairs:
        plan.move(old, new)
    changes = await plan.changes(asked.ctx)
    label = "1 file" if len(pairs) == 1 else f"{len(pairs)} files"
    name = shown(target, asked.ctx.cwd)
    if asked.params.apply is False:
        edited = [summary(change) for change in changes]
        return "\n".join([f"Rename preview: {label} → {name}", *edited, *_diffs(changes), *notes])
    title = f"rename {shown(source, asked.ctx.cwd)} to {name}"
    await apply_plan(title, changes, asked.previews, asked.ctx)
    if source.is_dir():
        await asyncio.to_thread(_remove_empty, source)
    for server in told:
        for old, _ in pairs:
            await server.close(old)
        await server.notify("workspace/didRenameFiles", {"files": files})
    return "\n".join([f"Renamed {label} → {name}", *map(summary, changes), *notes])


async def _pairs(asked: LspCall) -> tuple[Path, Path, list[tuple[Path, Path]]]:
    new_name, cwd = asked.params.new_name, asked.ctx.cwd
    if not new_name:
        raise ToolError("Renaming a file needs `new_name`: the new path.")
    source, target = asked.path(), resolve(new_name, cwd, existing=False)
    target = real(target.parent) / target.name
    if source == target:
        raise ToolError("The old and the new path are the same.")
    if not source.exists():
        raise ToolError(f"There is no file {asked.params.file}.")
    if target.exists():
        raise ToolError(f"{new_name} already exists.")
    if target.is_relative_to(source):
        raise ToolError(f"{new_name} is inside {asked.params.file}.")
    if source.is_file():
        return source, target, [(source, target)]

    def walk() -> list[tuple[Path, Path]]:
        found = []
        for path in source.rglob("*"):
            if path.is_symlink() or path.is_file():
                found.append((path, target / path.relative_to(source)))
            if len(found) > MAX_RENAME_PAIRS:
                raise ToolError(f"{asked.params.file} has more than {MAX_RENAME_PAIRS:,} files; use bash.")
        return sorted(found)

    pairs = await asyncio.to_thread(walk)
    if not pairs:
        raise ToolError(f"{asked.params.file} has no files.")
    return source, target, pairs


def _remove_empty(folder: Path) -> None:
    for path in sorted((each for each in folder.rglob("*") if each.is_dir()), reverse=True):
        try:
            path.rmdir()
        except OSError:
            return
    try:
        folder.rmdir()
    except OSError:
        return


async def code_actions(asked: LspCall) -> str:
    """Of all servers of the file: linters fix what they report."""
    params, path = asked.params, asked.path()
    first = await asked.server(path)
    found: list[tuple[dict[str, object], LanguageServer]] = []
    notes: list[str] = []
    able = 0
    for spec in asked.servers.for_file(path):
        try:
            server = await asked.servers.server(spec)
            if server.provides("codeActionProvider", "textDocument/codeAction"):
                able += 1
                found += [(each, server) for each in await _actions(asked, server, path)]
        except (LspError, JsonRpcError) as error:
            notes.append(f"[{error}]")
    if not able and not notes:
        asked.demand(first, "codeActionProvider", "textDocument/codeAction")
    listed = [
        f"{index}: [{clean_line(str(each.get('kind', 'command')))}] {_title(each)}"
        for index, (each, _) in enumerate(found[:MAX_ACTIONS])
    ]
    if params.apply is not True:
        head = f"{counted(len(found), 'code action')}:" if found else "No code actions"
        return "\n".join([head, *listed, *notes])
    query = params.query
    if not query:
        raise ToolError("Applying a code action needs `query`: its index or part of its title.")
    chosen = _choose([each for each, _ in found], query)
    if chosen is None:
        raise ToolError("\n".join([f'No code action matches "{query}". Available actions:', *listed, *notes]))
    action, server = found[chosen]
    return await _apply(action, server, asked)


async def _actions(asked: LspCall, server: LanguageServer, path: Path) -> list[dict[str, Any]]:
    params = asked.params
    await server.diagnostics(path, asked.timeout_s)
    where = await asked.position(server, path)
    line = where["position"]["line"]
    document = server.documents[path]
    on_line = [
        raw
        for raw, each in zip(document.raw, document.diagnostics, strict=True)
        if each.range.start.line <= line <= each.range.end.line
    ]
    context: dict[str, object] = {"diagnostics": on_line, "triggerKind": 1}
    if params.query and params.apply is not True:
        context["only"] = [params.query]
    body = {
        "textDocument": where["textDocument"],
        "range": {"start": where["position"], "end": where["position"]},
        "context": context,
    }
    answer = await server.request("textDocument/codeAction", body, asked.timeout_s)
    return [each for each in answer if isinstance(each, dict)] if isinstance(answer, list) else []


def _title(action: dict[str, object]) -> str:
    return shortened(clean_line(str(action.get("title"))), 200)


def _choose(found: Sequence[dict[str, object]], query: str) -> int | None:
    if query.isdigit():
        return int(query) if int(query) < len(found) else None
    return next((at for at, each in enumerate(found) if query.lower() in _title(each).lower()), None)


async def _apply(action: dict[str, Any], server: LanguageServer, asked: LspCall) -> str:
    title = _title(action)
    command = action.get("command")
    if isinstance(command, str):  # a bare command
        return await _execute(action, title, server, asked, [])
    options = server.provides("codeActionProvider", "textDocument/codeAction")
    if action.get("edit") is None and isinstance(options, dict) and options.get("resolveProvider"):
        try:
            resolved = await server.request("codeAction/resolve", action, asked.timeout_s)
            action = resolved if isinstance(resolved, dict) else action
        except (LspError, JsonRpcError):
            pass  # what it said already may be enough
    lines: list[str] = []
    if action.get("edit") is not None:
        plan = _plan(asked)
        plan.add(action["edit"], server)
        changes = await plan.changes(asked.ctx)
        if changes:
            await apply_plan(f"code action: {title}", changes, asked.previews, asked.ctx)
            await _resync(server, changes)
            lines = ["Workspace edit:", *map(summary, changes)]
    if isinstance(action.get("command"), dict):
        return await _execute(action["command"], title, server, asked, lines)
    if not lines:
        raise ToolError(f'Action "{title}" has no workspace edit or command to apply.')
    return "\n".join([f'Applied "{title}":', *lines])


async def _execute(
    command: dict[str, object], title: str, server: LanguageServer, asked: LspCall, lines: list[str]
) -> str:
    """Run a command of the server; the edits that it asks for meanwhile are applied like others."""
    edited: list[str] = []

    async def apply(edit: object) -> str:
        plan = _plan(asked)
        plan.add(edit, server)
        changes = await plan.changes(asked.ctx)
        if changes:
            await apply_plan(f"code action: {title}", changes, asked.previews, asked.ctx)
            edited.extend(map(summary, changes))
        return ""

    server.apply_edit = apply
    try:
        body = {"command": command.get("command"), "arguments": command.get("arguments") or []}
        await server.request("workspace/executeCommand", body, asked.timeout_s)
    finally:
        server.apply_edit = None
    if edited and not lines:
        lines = ["Workspace edit:"]
    name = shortened(clean_line(str(command.get("command"))), 100)
    return "\n".join([f'Applied "{title}":', *lines, *edited, f"Executed command: {name}"])
