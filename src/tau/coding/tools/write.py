"""write: creates or replaces a file."""

import stat as modes
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import ABSENT, Stat
from tau.agent.tool import Tool
from tau.ai.wire import TextContent
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes
from tau.base.text import NotText, decode, is_binary, shortened
from tau.coding.edits.file_locks import lock_files
from tau.coding.edits.modes import tags_lines
from tau.coding.files.paths import MAX_SHOWN_CHARS, OTHER_NAMES, failure, shown, wire_path
from tau.coding.files.targets import FileTarget, locate_for_write
from tau.coding.output import DiagnosticRow, OutputMeta
from tau.coding.ports import CodingContext, Resource, UrlRouter
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.backends.lsp.pool import LanguageServers

archive = late("tau.coding.readers.archives.archive")
generated = late("tau.coding.edits.generated")
hashline_format = late("tau.hashline.format")
database = late("tau.coding.readers.sqlite.database")
diffs = late("tau.coding.edits.diff")
formatting = late("tau.coding.lsp.formatting")

MAX_DIFFED_BYTES = MIB


class WriteParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"file_path": "path", "file": "path", "filename": "path"}

    path: Annotated[str, Meta(title="File to create or replace")]
    content: Annotated[str, Meta(title="Its whole content")]


class WriteDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`diff` is set when a text file was replaced, `meta.source_path` when the text went into a file."""

    path: str
    bytes: int
    lines: int
    created: bool
    made_executable: bool = False
    diff: str | UnsetType = UNSET
    added: int | UnsetType = UNSET
    removed: int | UnsetType = UNSET
    diagnostics: list[DiagnosticRow] | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class Write(Tool[WriteParams]):
    name, label = "write", "Write"

    def __init__(
        self,
        settings: Settings | None = None,
        urls: UrlRouter | None = None,
        servers: "LanguageServers | None" = None,
    ) -> None:
        wanted = settings or Settings()
        self._servers = servers if wanted.lsp.format_on_write else None
        self._urls = urls
        self._edit = wanted.edit
        self._tagged = tags_lines(wanted)

    def effects(self, params: WriteParams, cwd: Path) -> Effects:
        """Writing a row or an archive entry rewrites its file, and a conflict the file it is in."""
        target = locate_for_write(params.path, cwd)
        if target.kind != "url":
            return Effects(writes=(target.path,))
        files = () if self._urls is None else self._urls.written_files(target.text)
        return Effects(writes=files or (), acts_elsewhere=files is None)

    async def run(self, params: WriteParams, ctx: CodingContext) -> ToolOutput:
        content, pasted = params.content, False
        if self._tagged:
            content, pasted = hashline_format.strip_pasted(content)
        target = locate_for_write(params.path, ctx.cwd)
        try:
            output = await self._write_special(target, content, ctx)
            if output is None:
                output = await self._write_file(target.path, content, ctx)
        except OSError as error:
            raise failure("write", params.path, error) from error
        if not pasted:
            return output
        note = TextContent("[Removed read's header and line numbers from the content]")
        return ToolOutput([*output.content, note], output.details)

    async def _write_special(self, target: FileTarget, content: str, ctx: CodingContext) -> ToolOutput | None:
        """Write an internal URL, an archive entry or a database row; None for a plain file."""
        if target.kind == "url":
            return self._report_url(await ctx.urls.write(target.text, _encode(content), ctx), ctx)
        if target.kind == "archive":
            found = await archive.locate(target, ctx.cwd, ctx.fs)
            data = _encode(content)
            done = await archive.write(found, data, ctx.fs)
            verb = "Replaced" if done.replaced else "Added"
            name = shortened(done.name, MAX_SHOWN_CHARS)
            details = _inside(found.path, content, created=not done.replaced)
            return ToolOutput.text(f"{verb} {name} ({format_bytes(len(data))}).", details)
        row = await database.locate(target, ctx.cwd, ctx.fs) if target.kind == "database" else None
        if row is None:
            return None
        opened = replace(row, path=ctx.approved.write(row.path))
        text = (await database.write(opened, content)).text
        return ToolOutput.text(text, _inside(row.path, content, created=False))

    def _report_url(self, resource: Resource, ctx: CodingContext) -> ToolOutput:
        """The result of a write to an internal URL, with a new header for each changed file."""
        headers: list[str] = []
        for file in resource.changed:
            ctx.snapshots.remember(file.path, file.stat)
            tag = ctx.snapshots.record(file.path, file.text, own=True) if self._tagged else None
            if tag is not None:
                headers.append(hashline_format.format_header(shown(file.path, ctx.cwd), tag))
        note = resource.note or f"Wrote {format_bytes(len(resource.data))} to {resource.url}."
        if resource.url.endswith("://*") and headers:
            return ToolOutput.text("\n".join([note, "Snapshots:", *headers]))
        return ToolOutput.text("\n".join([*headers, note]))

    async def _write_file(self, path: Path, content: str, ctx: CodingContext) -> ToolOutput:
        name = shown(path, ctx.cwd)
        note = ""
        if self._servers is not None:
            content, note = await formatting.format_text(self._servers, path, content)
        data = _encode(content)
        async with lock_files([path]):
            before = await ctx.fs.stat(path)
            old = await _old_text(path, name, before, ctx)
            if old is not None and self._edit.block_auto_generated:
                refusal = generated.refusal(name, old.encode(errors="replace"))
                if refusal is not None:
                    raise ToolError(refusal)
            after = await ctx.fs.write(path, data, expect=before or ABSENT)
        ctx.snapshots.remember(path, after)
        tag = ctx.snapshots.record(path, content, own=True) if self._tagged else None
        header = "" if tag is None else f"{hashline_format.format_header(name, tag)}\n"
        output = _report(path, name, content, old, header, created=before is None, mode=after.mode)
        linked = f"[{OTHER_NAMES}]" if before is not None and before.names > 1 else ""
        notes = [TextContent(text) for text in (note, linked) if text]
        return ToolOutput([*output.content, *notes], output.details) if notes else output


def _encode(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"The content has a lone surrogate at offset {error.start}.") from None


async def _old_text(path: Path, name: str, before: Stat | None, ctx: CodingContext) -> str | None:
    """The text to be replaced, None if it is not text or too long. Raises if it must not be replaced."""
    if before is None:
        return None
    if before.is_dir:
        raise ToolError(f"{name} is a directory; name a file inside it.")
    seen = ctx.snapshots.last_seen(path)
    changed = ToolError(
        f"{name} has changed on disk since you last saw it; nothing was written. Read it again first."
    )
    if seen is not None and seen != before:
        raise changed
    if before.size > MAX_DIFFED_BYTES or not modes.S_ISREG(before.mode or modes.S_IFREG):
        return None
    data = await ctx.fs.read(path)
    try:
        text = None if is_binary(data) else decode(data).text
    except NotText:
        return None
    if seen is None and text is not None and ctx.snapshots.is_unseen(path, text):
        raise changed
    return text


def _count_lines(content: str) -> int:
    return content.count("\n") + (not content.endswith("\n") if content else 0)


def _inside(path: Path, content: str, *, created: bool) -> WriteDetails:
    """The details of text that went into an archive or a database."""
    file = wire_path(path)
    return WriteDetails(
        path=file,
        bytes=len(content.encode()),
        lines=_count_lines(content),
        created=created,
        meta=OutputMeta(source_path=file),
    )


def _report(
    path: Path, name: str, content: str, old: str | None, header: str, *, created: bool, mode: int
) -> ToolOutput:
    size = len(content.encode())
    lines = _count_lines(content)
    made_executable = created and content.startswith("#!") and bool(mode & modes.S_IXUSR)
    diff = None if old is None else diffs.unified(old, content, name)
    details = WriteDetails(
        path=wire_path(path),
        bytes=size,
        lines=lines,
        created=created,
        made_executable=made_executable,
        diff=UNSET if diff is None else diff.text,
        added=UNSET if diff is None else diff.added,
        removed=UNSET if diff is None else diff.removed,
    )
    amount = f"{lines} {'line' if lines == 1 else 'lines'}, {format_bytes(size)}"
    change = "" if diff is None else f"; +{diff.added} -{diff.removed} lines"
    note = "; made executable" if made_executable else ""
    return ToolOutput.text(
        f"{header}{'Created' if created else 'Replaced'} {name} ({amount}{change}{note}).", details
    )
