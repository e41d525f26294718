"""Turns edits of language servers into file changes: checked, approved, applied all or none."""

import asyncio
import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.agent.output import ToolOutput
from tau.ai.wire import TextContent
from tau.backends.lsp.client import LanguageServer
from tau.backends.lsp.protocol import LspError, TextEdit, TextIndex, convert, from_uri
from tau.base.errors import ToolError
from tau.base.text import decode
from tau.coding.edits.change import (
    FileChange,
    FileSource,
    change_bytes,
    creation,
    deletion,
    load,
    moved,
    summary,
    text_of,
    update,
)
from tau.coding.edits.file_locks import lock_files
from tau.coding.edits.report import details
from tau.coding.edits.splices import Splice
from tau.coding.edits.transaction import apply_changes
from tau.coding.files.paths import real, shown
from tau.coding.pending_changes import PendingChange, PendingChanges
from tau.coding.ports import CodingContext

MAX_CHANGED_FILES = 1_000
MAX_EDITS = 100_000


class PlannedFile(Struct):
    """What happens to one file. `path` is where it is now; None if it is created."""

    path: Path
    edits: list[TextEdit] = []
    encoding: str = "utf-16"
    to: Path | None = None
    creates: bool = False
    deletes: bool = False


class EditPlan:
    """Collects edits of one or more servers; `files` are keyed by the path after all renames."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = [real(root) for root in roots]
        self.files: dict[Path, PlannedFile] = {}
        self.edits = 0

    def add(self, edit: object, server: LanguageServer) -> None:
        """Add a WorkspaceEdit. Raises LspError if it is stale, leaves the workspace or makes no sense."""
        if not isinstance(edit, dict):
            return
        operations = edit.get("documentChanges")
        if isinstance(operations, list) and operations:
            for each in operations:
                self._operation(each, server)
        elif isinstance(changes := edit.get("changes"), dict):
            for uri, rows in changes.items():
                self._edit(uri, rows, server)

    def move(self, path: Path, to: Path) -> None:
        file = self._file(path)
        self._check(to)
        if to in self.files:
            raise LspError(f"{to} is changed and replaced in one edit")
        del self.files[path]
        file.to = to
        self.files[to] = file

    def _operation(self, each: object, server: LanguageServer) -> None:
        if not isinstance(each, dict):
            raise LspError(f"{server.name} sent a malformed edit")
        match each.get("kind"):
            case None:
                document = each.get("textDocument")
                uri = document.get("uri") if isinstance(document, dict) else None
                version = document.get("version") if isinstance(document, dict) else None
                self._check_version(uri, version, server)
                self._edit(uri, each.get("edits"), server)
            case "create":
                path = self._path(each.get("uri"))
                if not path.exists():
                    self._file(path).creates = True
            case "delete":
                self._file(self._path(each.get("uri"))).deletes = True
            case "rename":
                self.move(self._path(each.get("oldUri")), self._path(each.get("newUri")))
            case kind:
                raise LspError(f"{server.name} wants the unknown operation {str(kind)[:50]!r}")

    def _check_version(self, uri: object, version: object, server: LanguageServer) -> None:
        path = from_uri(str(uri))
        document = None if path is None else server.documents.get(path)
        if isinstance(version, int) and document is not None and document.version != version:
            raise LspError(f"{server.name} sent an edit for an older version of {path}; try again")

    def _edit(self, uri: Any, rows: Any, server: LanguageServer) -> None:
        edits = convert(rows, list[TextEdit], "edit")
        self.edits += len(edits)
        if self.edits > MAX_EDITS:
            raise LspError(f"{server.name} sent more than {MAX_EDITS:,} edits")
        if edits:
            file = self._file(self._path(uri))
            file.edits += [edit for edit in edits if edit not in file.edits]
            file.encoding = server.encoding

    def _path(self, uri: object) -> Path:
        path = from_uri(str(uri))
        if path is None:
            raise LspError(f"{str(uri)[:200]} is not a local file")
        self._check(path)
        return path

    def _check(self, path: Path) -> None:
        target = real(path)
        if not any(target.is_relative_to(root) and target != root for root in self._roots):
            raise LspError(f"the edit would change {path}, outside the workspace; nothing was changed")
        if path.is_symlink():
            raise LspError(f"the edit would change {path}, a symbolic link; nothing was changed")

    def _file(self, path: Path) -> PlannedFile:
        if path not in self.files:
            if len(self.files) >= MAX_CHANGED_FILES:
                raise LspError(f"the edit would change more than {MAX_CHANGED_FILES:,} files")
            self.files[path] = PlannedFile(path)
        return self.files[path]

    async def changes(self, ctx: CodingContext) -> list[FileChange]:
        """Read the files and compute their new content. Raises LspError or ToolError; nothing is written."""
        made = []
        for _, file in sorted(self.files.items()):
            source = await load(file.path, ctx)
            made.append(await asyncio.to_thread(_change, file, source, ctx.cwd))
        return [change for change in made if change is not None]


def _change(file: PlannedFile, source: FileSource, cwd: Path) -> FileChange | None:
    if file.deletes:
        return None if source.data is None else deletion(source, "")
    if file.creates and source.data is None:
        return creation(source, apply_edits("", file.edits, file.encoding, source.name))
    if not file.edits:
        change = change_bytes(source, source.data)
    else:
        decoded = text_of(source)
        splices = splices_of(decoded.text, file.edits, file.encoding, source.name)
        change = update(source, decoded, splices)
    if file.to is not None:
        if source.data is None:
            raise LspError(f"there is no file {source.name} to rename")
        return moved(change, FileSource(path=file.to, name=shown(file.to, cwd)))
    return None if change.new == change.old else change


def splices_of(text: str, edits: Sequence[TextEdit], encoding: str, name: str) -> list[Splice]:
    """Raises LspError if edits overlap or are for another text."""
    index = TextIndex(text, encoding)
    has_crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    splices: list[Splice] = []
    for edit in edits:
        if edit.range.start.line > len(index.starts) or edit.range.start.line < 0:
            raise LspError(f"the edit is for another version of {name}; try again")
        start, end = index.offset(edit.range.start), index.offset(edit.range.end)
        if start > end:
            raise LspError(f"an edit of {name} ends before it starts")
        new = edit.new_text.replace("\r\n", "\n").replace("\n", "\r\n") if has_crlf else edit.new_text
        splices.append(Splice(start, end, new))
    splices.sort(key=lambda splice: (splice.start, splice.end))
    for before, after in itertools.pairwise(splices):
        if after.start < before.end:
            raise LspError(f"edits of {name} overlap; nothing was changed")
    return splices


def apply_edits(text: str, edits: Sequence[TextEdit], encoding: str, name: str) -> str:
    pieces, done = [], 0
    for splice in splices_of(text, edits, encoding, name):
        pieces += [text[done : splice.start], splice.text]
        done = splice.end
    return "".join([*pieces, text[done:]])


async def apply_plan(
    title: str, changes: Sequence[FileChange], previews: PendingChanges, ctx: CodingContext
) -> ToolOutput:
    """Write the changes with the approval of `resolve`, which declares them. Raises ToolError."""
    paths = {path for change in changes for path in (change.path, change.target)}
    pending = PendingChange(title=title, paths=tuple(sorted(paths)), apply=partial(_write, list(changes)))
    replaced = previews.propose(pending)
    try:
        output = await ctx.call("resolve", {"action": "apply", "reason": title})
    finally:
        if previews.pending is pending:
            previews.take()
        if replaced is not None:
            previews.propose(replaced)
    if output.is_error:
        text = "\n".join(part.text for part in output.content if isinstance(part, TextContent))
        raise ToolError(text or "The edit was refused.")
    return output


async def _write(changes: list[FileChange], ctx: CodingContext) -> ToolOutput:
    async with lock_files([change.path for change in changes]):
        done = await apply_changes(changes, ctx)
    for each in done:
        if each.stat is not None and each.change.new is not None:
            ctx.snapshots.remember(each.change.target, each.stat)
            if each.change.added or each.change.removed:
                ctx.snapshots.record(each.change.target, decode(each.change.new).text, own=True)
    return ToolOutput.text("\n".join(map(summary, changes)), details(changes, []))
