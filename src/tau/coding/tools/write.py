"""write: creates or replaces a file."""

import stat as modes
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import Stat
from tau.agent.tool import Tool
from tau.ai.wire import TextContent
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes
from tau.base.text import NotText, decode, is_binary
from tau.coding.edits.diff import unified
from tau.coding.edits.file_locks import turns
from tau.coding.edits.modes import tags_lines
from tau.coding.files.paths import failure, resolve, shown
from tau.coding.ports import CodingContext, Resource
from tau.coding.readers import ARCHIVE_SIGNS, DATABASE_SIGNS, names_archive, names_database
from tau.config.settings import Settings

archive = late("tau.coding.readers.archives.archive")
generated = late("tau.coding.edits.generated")
hashline_format = late("tau.hashline.format")
database = late("tau.coding.readers.sqlite.database")

MAX_DIFFED_BYTES = MIB


class WriteParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"file_path": "path", "file": "path", "filename": "path"}

    path: Annotated[str, Meta(description="File to create or replace")]
    content: Annotated[str, Meta(description="Its whole content")]


class WriteDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`diff` is set when a text file was replaced."""

    path: str
    bytes: int
    lines: int
    created: bool
    executable: bool = False
    diff: str | UnsetType = UNSET
    added: int | UnsetType = UNSET
    removed: int | UnsetType = UNSET


class Write(Tool[WriteParams]):
    name, label = "write", "Write"

    def __init__(self, settings: Settings | None = None) -> None:
        wanted = settings or Settings()
        self._edit = wanted.edit
        self._tagged = tags_lines(wanted)

    def effects(self, params: WriteParams, cwd: Path) -> Effects:
        """Writing a row or an archive entry rewrites its file; internal URLs write nothing outside."""
        if "://" in params.path and not params.path.startswith("file://"):
            return Effects()
        holder = holding_file(params.path, cwd)
        return Effects(writes=(holder or resolve(params.path, cwd, existing=False),))

    async def run(self, params: WriteParams, ctx: CodingContext) -> ToolOutput:
        content, pasted = params.content, False
        if self._tagged:
            content, pasted = hashline_format.strip_pasted(content)
        try:
            output = await self._elsewhere(params.path, content, ctx)
            if output is None:
                output = await self._plain(params.path, content, ctx)
        except OSError as error:
            raise failure("write", params.path, error) from error
        if not pasted:
            return output
        note = TextContent("[Removed read's header and line numbers from the content]")
        return ToolOutput([*output.content, note], output.details)

    async def _elsewhere(self, path: str, content: str, ctx: CodingContext) -> ToolOutput | None:
        """Write an internal URL, an archive entry or a database row."""
        if ctx.urls.handles(path):
            return self._told(await ctx.urls.write(path, _encoded(content), ctx), ctx)
        if names_archive(path):
            found = await archive.find_for_write(path, ctx.cwd, ctx.fs)
            if found is not None:
                done = await archive.write(found, _encoded(content), ctx.fs)
                verb = "Replaced" if done.replaced else "Added"
                return ToolOutput.text(f"{verb} {done.name} ({format_bytes(len(_encoded(content)))}).")
        if names_database(path):
            row = await database.find_for_write(path, ctx.cwd, ctx.fs)
            if row is not None:
                return ToolOutput.text((await database.write(row, content)).text)
        return None

    def _told(self, resource: Resource, ctx: CodingContext) -> ToolOutput:
        """The result of a write to an internal URL, with a new header for each changed file."""
        headers: list[str] = []
        for file in resource.changed:
            ctx.snapshots.remember(file.path, file.stat)
            tag = ctx.snapshots.record(file.path, file.text, own=True) if self._tagged else None
            if tag is not None:
                headers.append(hashline_format.format_header(shown(file.path, ctx.cwd), tag))
        note = resource.note or f"Wrote {format_bytes(len(resource.data))} to {resource.url}."
        return ToolOutput.text("\n".join([note, *headers]))

    async def _plain(self, path_text: str, content: str, ctx: CodingContext) -> ToolOutput:
        path = resolve(path_text, ctx.cwd, existing=False)
        name = shown(path, ctx.cwd)
        data = _encoded(content)
        async with turns([path]):
            before = await ctx.fs.stat(path)
            old = await _old_text(path, name, before, ctx)
            if old is not None and self._edit.block_auto_generated:
                refusal = generated.refusal(name, old.encode(errors="replace"))
                if refusal is not None:
                    raise ToolError(refusal)
            after = await ctx.fs.write(path, data, expect=before)
        ctx.snapshots.remember(path, after)
        tag = ctx.snapshots.record(path, content, own=True) if self._tagged else None
        header = "" if tag is None else f"{hashline_format.format_header(name, tag)}\n"
        return _report(path, name, content, old, header, created=before is None, mode=after.mode)


def holding_file(text: str, cwd: Path) -> Path | None:
    """The archive or database that contains a path, judged by name."""
    lowered = text.lower()
    for sign in (*ARCHIVE_SIGNS, *DATABASE_SIGNS):
        at = lowered.find(sign)
        end = lowered.find(":", at + len(sign)) if at >= 0 else -1
        if end > 0:
            return resolve(text[:end], cwd, existing=False)
    return None


def _encoded(content: str) -> bytes:
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
    if seen is not None and seen != before:
        raise ToolError(
            f"{name} has changed on disk since you last saw it; nothing was written. Read it again first."
        )
    if before.size > MAX_DIFFED_BYTES or not modes.S_ISREG(before.mode or modes.S_IFREG):
        return None
    data = await ctx.fs.read(path)
    try:
        return None if is_binary(data) else decode(data).text
    except NotText:
        return None


def _report(
    path: Path, name: str, content: str, old: str | None, header: str, *, created: bool, mode: int
) -> ToolOutput:
    size = len(content.encode())
    lines = content.count("\n") + (not content.endswith("\n") if content else 0)
    made_executable = created and content.startswith("#!") and bool(mode & modes.S_IXUSR)
    diff = None if old is None else unified(old, content, name)
    details = WriteDetails(
        path=str(path),
        bytes=size,
        lines=lines,
        created=created,
        executable=made_executable,
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
