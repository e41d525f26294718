"""read: shows files, folders, archives, databases, documents, notebooks and images."""

import asyncio
import os
import stat as modes
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import Stat
from tau.agent.tool import Tool
from tau.ai.wire import TextContent
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import format_bytes
from tau.base.text import NotText, decode, is_binary
from tau.coding.edits.modes import tags_lines
from tau.coding.files.paths import Selector, failure, resolve, shown, split_selector
from tau.coding.output import EntryLimit, OutputLimits, OutputMeta
from tau.coding.ports import CodingContext
from tau.coding.readers import names_archive, names_database
from tau.coding.readers.text import PageOptions, TextPage, page
from tau.config.settings import Settings

archive = late("tau.coding.readers.archives.archive")
markers = late("tau.coding.conflicts.markers")
difflib = late("difflib")
documents = late("tau.coding.readers.documents.worker")
document_limits = late("tau.coding.readers.documents.limits")
image_header = late("tau.base.image_header")
large_file = late("tau.coding.readers.large_file")
images = late("tau.coding.images")
notebook = late("tau.coding.readers.notebook")
database = late("tau.coding.readers.sqlite.database")
directory = late("tau.coding.readers.directory")
walking = late("tau.coding.search.walk")

SUFFIX_SECONDS = 5
DOCUMENTS = (".pdf", ".docx", ".pptx", ".xlsx", ".epub", ".rtf", ".doc", ".ppt", ".xls")


class ReadParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"file_path": "path", "file": "path", "filename": "path"}

    path: Annotated[
        str, Meta(description="File or directory, with optional line selector, e.g. src/a.py:50-100")
    ]


class SummaryDetails(Struct, frozen=True, rename="camel", kw_only=True):
    lines: int
    elided_spans: list[tuple[int, int]]
    elided_lines: int


class ReadDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`first_line` and `last_line` are the shown lines, 1-based."""

    path: str
    kind: Literal["file", "directory", "image", "archive", "database", "document", "conflicts"]
    is_directory: bool | UnsetType = UNSET
    resolved_path: str | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    first_line: int | UnsetType = UNSET
    last_line: int | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    summary: SummaryDetails | UnsetType = UNSET
    suffix_resolution: str | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class ReadTarget(Struct, frozen=True):
    """A resolved target that is not read yet. `stat` is None if it is not a file.

    `editable` targets are shown under a tag that `edit` accepts.
    """

    name: str
    path: Path | None
    data: bytes
    stat: Stat | None = None
    editable: bool = False


class Read(Tool[ReadParams]):
    name, label = "read", "Read"

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._first_lines = min(max(self._settings.read.default_limit, 1), OutputLimits().lines)

    @cached_property
    def description(self) -> str:
        return super().description.replace("{{lines}}", str(self._first_lines))

    def effects(self, params: ReadParams, cwd: Path) -> Effects:
        if "://" in params.path and not params.path.startswith("file://"):
            return Effects()
        return Effects(reads=(_path_and_selector(params.path, cwd)[0],))

    async def run(self, params: ReadParams, ctx: CodingContext) -> ToolOutput:
        if params.path.lower().startswith(("http://", "https://")):
            raise ToolError("read takes files, not web addresses; fetch the page with bash and curl.")
        if ctx.urls.handles(params.path):
            url, selector = split_selector(params.path)
            resource = await ctx.urls.resolve(url, ctx)
            source = ReadTarget(url, resource.path, resource.data, editable=not resource.immutable)
            return await self._show(source, selector, ctx)
        try:
            return await self._packed(params.path, ctx) or await self._plain(params.path, ctx)
        except OSError as error:
            raise failure("read", params.path, error) from error

    async def _packed(self, text: str, ctx: CodingContext) -> ToolOutput | None:
        """The content inside an archive or a database, if the path names one."""
        if names_archive(text):
            found = await archive.find(text, ctx.cwd, ctx.fs)
            if found is not None:
                inside = await archive.read(found, ctx.fs)
                if isinstance(inside, archive.ArchiveListing):
                    return _listed(str(found.path), "archive", inside.text, inside.limit)
                notice = inside.binary_notice()
                if notice is not None:
                    return _listed(str(found.path), "archive", notice, None)
                return await self._show(
                    ReadTarget(inside.name, found.path, inside.data), inside.selector, ctx
                )
        if names_database(text):
            place = await database.find(text, ctx.cwd, ctx.fs)
            if place is not None:
                answer = await database.read(place)
                return _listed(str(place.path), "database", answer.text, answer.limit)
        return None

    async def _plain(self, text: str, ctx: CodingContext) -> ToolOutput:
        path, selector = _path_and_selector(text, ctx.cwd)
        stat = await ctx.fs.stat(path)
        resolution = ""
        if stat is None:
            path, resolution = await _by_suffix(path, text, ctx)
            stat = await ctx.fs.stat(path)
        name = shown(path, ctx.cwd)
        if stat is None:
            raise ToolError(await _missing_text(path, name, ctx))
        if stat.is_dir:
            first = selector.ranges[0].first if selector.ranges else 1
            listing = await directory.directory_tree(path, ctx.fs, first_entry=first)
            return _listed(str(path), "directory", listing.text, listing.limit)
        if stat.mode and not modes.S_ISREG(stat.mode):
            raise ToolError(f"{name} is a device, pipe or socket, not a file; reading might never end.")
        if stat.size > large_file.LARGE_BYTES and path.suffix.lower() not in DOCUMENTS:
            part = await large_file.large_page(path, name, stat.size, selector, self._first_lines, ctx.fs)
            return ToolOutput.text(part.text, _details(ReadTarget(name, path, b""), part))
        source = ReadTarget(name, path, await ctx.fs.read(path), stat, editable=True)
        output = await self._show(source, selector, ctx)
        ctx.snapshots.remember(path, stat)
        return _resolved(output, resolution) if resolution else output

    async def _show(self, source: ReadTarget, selector: Selector, ctx: CodingContext) -> ToolOutput:
        data = source.data
        if image_header.image_type(data) is not None:
            return await self._picture(source)
        suffix = Path(source.name).suffix.lower()
        if suffix == ".ipynb" and not selector.raw:
            return self._paged(source, notebook.to_text(data), "", selector, ctx)
        if suffix in DOCUMENTS and not selector.raw:
            return await self._document(source, selector, ctx)
        if is_binary(data):
            size = format_bytes(len(data))
            raise ToolError(
                f"{source.name} is binary ({size}), not text; look inside with bash: file, strings, xxd."
            )
        try:
            if selector.conflicts:
                return self._conflicts(source, decode(data).text, ctx)
            return self._paged(source, decode(data).text, "", selector, ctx)
        except NotText as error:
            remark = f"[{error}. Such bytes are shown as \ufffd; edit will refuse this file]"
            lossy = ReadTarget(source.name, source.path, data, source.stat)
            return self._paged(lossy, data.decode("utf-8", "replace"), remark, selector, ctx)

    def _conflicts(self, source: ReadTarget, text: str, ctx: CodingContext) -> ToolOutput:
        if source.path is None or not source.editable:
            raise ToolError(f"{source.name} cannot be written to, so its conflicts cannot be resolved.")
        numbered = ctx.conflicts.record(source.path, text)
        return _listed(str(source.path), "conflicts", markers.render(source.name, numbered), None)

    def _paged(
        self, source: ReadTarget, text: str, remark: str, selector: Selector, ctx: CodingContext
    ) -> ToolOutput:
        tag = None
        if source.editable and source.path is not None and tags_lines(self._settings) and not selector.raw:
            tag = ctx.snapshots.record(source.path, text)
        brief = self._settings.read.summarize
        shape = PageOptions(
            name=source.name,
            selector=selector,
            first_lines=self._first_lines,
            tag=tag,
            remark=remark,
            summary=brief if source.stat is not None and brief.enabled else None,
        )
        shown_page = page(text, shape)
        return ToolOutput.text(shown_page.text, _details(source, shown_page))

    async def _picture(self, source: ReadTarget) -> ToolOutput:
        info = image_header.read_header(source.data)
        if info is not None and (self._settings.images.block_images or self._settings.inspect_image.enabled):
            details = ReadDetails(
                path=str(source.path or source.name), kind="image", mime_type=info.mime_type
            )
            return ToolOutput.text(self._described(info, len(source.data)), details)
        loaded = await asyncio.to_thread(
            images.load_image, source.data, auto_resize=self._settings.images.auto_resize
        )
        if loaded.problem:  # it would stay in the history and break every later request
            raise ToolError(f"{source.name} cannot be shown: {loaded.problem}.")
        details = ReadDetails(path=str(source.path or source.name), kind="image", mime_type=loaded.mime_type)
        return ToolOutput([TextContent(loaded.note), loaded.content()], details)

    def _described(self, info: "image_header.ImageInfo", size_bytes: int) -> str:
        """Describe an image that is not shown."""
        facts = images.describe(info, size_bytes)
        if self._settings.images.block_images:
            return f"[{facts}; not sent: images.blockImages is true]"
        return f"[{facts}; ask inspect_image what it shows]"

    async def _document(self, source: ReadTarget, selector: Selector, ctx: CodingContext) -> ToolOutput:
        try:
            text = await documents.convert_in_worker(source.name, source.data, ctx.run)
        except document_limits.DocumentError as error:
            notice = f"[Cannot read {Path(source.name).suffix} file: {error}]"
            return _listed(str(source.path or source.name), "document", notice, None)
        return self._paged(ReadTarget(source.name, source.path, source.data), text, "", selector, ctx)


def _details(source: ReadTarget, shown_page: TextPage) -> ReadDetails:
    elided = shown_page.elided
    summary: SummaryDetails | UnsetType = UNSET
    if elided is not None:
        lines = sum(last - first + 1 for first, last in elided)
        summary = SummaryDetails(
            lines=shown_page.total_lines - lines, elided_spans=elided, elided_lines=lines
        )
    truncation = shown_page.truncation
    return ReadDetails(
        path=str(source.path or source.name),
        kind="file",
        total_lines=shown_page.total_lines,
        first_line=shown_page.ranges[0][0] if shown_page.ranges else UNSET,
        last_line=shown_page.ranges[-1][1] if shown_page.ranges else UNSET,
        summary=summary,
        meta=UNSET if truncation is None else OutputMeta(truncation=truncation),
    )


def _listed(
    path: str,
    kind: Literal["directory", "archive", "database", "document", "conflicts"],
    text: str,
    limit: EntryLimit | None,
) -> ToolOutput:
    meta = UNSET if limit is None else OutputMeta(entries=limit)
    folder = True if kind == "directory" else UNSET
    return ToolOutput.text(text, ReadDetails(path=path, kind=kind, is_directory=folder, meta=meta))


def _resolved(output: ToolOutput, resolution: str) -> ToolOutput:
    first, *rest = output.content
    assert isinstance(first, TextContent)
    details = replace(output.details, suffix_resolution=resolution, resolved_path=output.details.path)
    return ToolOutput([TextContent(f"[{resolution}]\n{first.text}"), *rest], details, output.is_error)


def _path_and_selector(text: str, cwd: Path) -> tuple[Path, Selector]:
    """A file whose name looks like it has a selector wins. A bare `/` is the working folder."""
    path_text, selector = split_selector(text)
    if path_text != text and os.path.lexists(whole := resolve(text, cwd)):
        return whole, Selector()
    return cwd if path_text.strip() == "/" else resolve(path_text, cwd), selector


async def _by_suffix(path: Path, text: str, ctx: CodingContext) -> tuple[Path, str]:
    """The only file in the working folder whose path ends with a missing path."""
    wanted = split_selector(text)[0].strip().lstrip("./")
    if not wanted or Path(wanted).is_absolute() or any(letter in wanted for letter in "*?[{~"):
        return path, ""
    try:
        async with asyncio.timeout(SUFFIX_SECONDS):
            found = await walking.walk([ctx.cwd], globs=[f"**/{wanted}"], limit=2)
    except (TimeoutError, ToolError):
        return path, ""
    if len(found) != 1:
        return path, ""
    return found[0], f"There is no {wanted}; this is {shown(found[0], ctx.cwd)}, the only match"


async def _missing_text(path: Path, name: str, ctx: CodingContext) -> str:
    folder = path.parent
    stat = await ctx.fs.stat(folder)
    if stat is None:
        while stat is None and folder != folder.parent:
            folder = folder.parent
            stat = await ctx.fs.stat(folder)
        return f"There is no file {name}; only its directory {shown(folder, ctx.cwd)} exists."
    if not stat.is_dir:
        return f"There is no file {name}: {shown(folder, ctx.cwd)} is a file, not a directory."
    names = await ctx.fs.list(folder)
    similar = [entry for entry in names if entry.casefold() == path.name.casefold()]
    similar = similar or difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    hint = ", ".join(shown(folder / entry, ctx.cwd) for entry in similar)
    return f"There is no file {name}." + (f" Did you mean {hint}?" if hint else "")
