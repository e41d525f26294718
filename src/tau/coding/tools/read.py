"""read: shows files, folders, archives, databases, documents, notebooks, images and web pages."""

import asyncio
import os
import re
import stat as modes
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

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
from tau.base.text import NotText, decode, decode_escaped, is_binary, show_escaped
from tau.coding.edits.modes import tags_lines
from tau.coding.files.paths import Selector, failure, shown, split_selector, wire_path
from tau.coding.files.targets import FileTarget, asked_hosts, locate, server_action
from tau.coding.output import (
    NOTICE_BYTES,
    NOTICE_LINES,
    EntryLimit,
    OutputLimits,
    OutputMeta,
    OutputSource,
    ReachedLimits,
    Truncation,
    notice,
    truncate,
    with_notice,
)
from tau.coding.ports import CodingContext
from tau.coding.readers import archive_splits, database_splits, names_document
from tau.config.settings import Settings
from tau.config.web_access import WebAccess

archive = late("tau.coding.readers.archives.archive")
credentials = late("tau.coding.files.credential_stores")
conflicts = late("tau.coding.conflicts.merge_conflicts")
difflib = late("difflib")
documents = late("tau.coding.readers.documents.worker")
document_limits = late("tau.coding.readers.documents.limits")
hashline_snapshots = late("tau.hashline.snapshots")
image_header = late("tau.base.image_header")
large_file = late("tau.coding.readers.large_file")
images = late("tau.coding.images")
notebook = late("tau.coding.readers.notebook")
database = late("tau.coding.readers.sqlite.database")
directory = late("tau.coding.readers.directory")
walking = late("tau.coding.search.walk")
text_reader = late("tau.coding.readers.text")
web_addresses = late("tau.backends.web.addresses")
web_output = late("tau.coding.readers.web.output")
web_pages = late("tau.coding.readers.web.pages")

SUFFIX_SECONDS = 5
_ABOUT_WEB = ", web pages (`https://...`, as Markdown; `:raw` for HTML)"
LISTED = OutputLimits(  # with room for the notices of lists that page themselves
    lines=OutputLimits().lines + NOTICE_LINES // 2,
    bytes=OutputLimits().bytes + NOTICE_BYTES // 2,
    columns=OutputLimits().bytes,
)
T = TypeVar("T")
Kind = Literal["file", "directory", "image", "archive", "database", "document", "conflicts", "url"]


class ReadParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"file_path": "path", "file": "path", "filename": "path"}

    path: Annotated[str, Meta(title="File or directory, with optional selector, such as src/a.py:50-100")]


class SummaryDetails(Struct, frozen=True, rename="camel", kw_only=True):
    lines: int
    elided_spans: list[tuple[int, int]]
    elided_lines: int


class DisplayContent(Struct, frozen=True, rename="camel"):
    """The shown text without line numbers, and the number of its first line."""

    text: str
    start_line: int


class ReadDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`first_line` and `last_line` are the shown lines, 1-based. `resolved_path` is the file behind `path`.

    `display_content` is set if the shown lines are contiguous. `url` to `notes` are set for a web page.
    """

    path: str
    kind: Kind
    is_directory: bool | UnsetType = UNSET
    resolved_path: str | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    first_line: int | UnsetType = UNSET
    last_line: int | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    summary: SummaryDetails | UnsetType = UNSET
    suffix_resolution: str | UnsetType = UNSET
    display_content: DisplayContent | UnsetType = UNSET
    url: str | UnsetType = UNSET
    final_url: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class ReadTarget(Struct, frozen=True):
    """What a path refers to. `path` is the file behind it, `stat` is None if it is not the file itself.

    `editable` targets are shown under a tag that `edit` accepts.
    """

    name: str
    path: Path | None
    data: bytes = b""
    stat: Stat | None = None
    editable: bool = False
    url: str = ""

    @property
    def source(self) -> OutputSource:
        if self.url:
            return OutputSource("internal", self.url)
        return OutputSource("path", self.name if self.path is None else wire_path(self.path))

    def details(
        self,
        kind: Kind,
        truncation: Truncation | None = None,
        limit: EntryLimit | None = None,
        **fields: Any,
    ) -> ReadDetails:
        meta = OutputMeta(
            source=self.source,
            truncation=UNSET if truncation is None else truncation,
            limits=UNSET if limit is None else ReachedLimits(result_limit=limit),
        )
        file = None if self.path is None else wire_path(self.path)
        return ReadDetails(
            path=file or self.name, kind=kind, resolved_path=file or UNSET, meta=meta, **fields
        )


class Read(Tool[ReadParams]):
    name, label = "read", "Read"

    def __init__(
        self,
        settings: Settings | None = None,
        web: WebAccess | None = None,
        services: AsyncExitStack | None = None,
    ) -> None:
        self._services = services
        self._settings = settings or Settings()
        self._web = web
        self._first_lines = min(max(self._settings.read.default_limit, 1), OutputLimits().lines)

    @cached_property
    def description(self) -> str:
        text = super().description.replace("{{lines}}", str(self._first_lines))
        return text if self._reads_web else text.replace(_ABOUT_WEB, "")

    @property
    def _reads_web(self) -> bool:
        return self._web is not None and self._settings.fetch.enabled

    @cached_property
    def _pages(self) -> "web_pages.WebPages":
        if self._web is None or not self._settings.fetch.enabled:
            raise ToolError("Reading web addresses is turned off (fetch.enabled is false).")
        return web_pages.WebPages(self._settings, self._web, self._services)

    def effects(self, params: ReadParams, cwd: Path) -> Effects:
        """A file that is missing is looked for below the working folder."""
        target = locate(params.path, cwd)
        if target.kind == "url":
            return Effects(mcp=server_action(target.text), network=asked_hosts(target.text, cwd))
        if target.kind == "web":
            return Effects(network=tuple(self._pages.hosts(web_addresses.parse_web_url(target.text))))
        if os.path.exists(target.path):  # noqa: PTH110 - also for names that are too long
            return Effects(reads=(target.path,))
        return Effects(reads=(target.path, cwd))

    async def run(self, params: ReadParams, ctx: CodingContext) -> ToolOutput:
        target = locate(params.path, ctx.cwd)
        if target.kind == "url":
            resource = await ctx.urls.resolve(target.text, ctx)
            source = ReadTarget(
                target.text, resource.path, resource.data, editable=not resource.immutable, url=resource.url
            )
            return await self._show(source, target.selector, ctx)
        if target.kind == "web":
            return await self._read_page(target, ctx)
        try:
            output = await self._read_existing(target, ctx)
            if output is not None:
                return output
            found, resolution = await _by_suffix(params.path, ctx)
            output = await self._read_existing(locate(found, ctx.cwd), ctx) if resolution else None
            if output is not None:
                return _add_resolution(output, resolution)
            raise ToolError(await _missing_text(target.path, shown(target.path, ctx.cwd), ctx))
        except OSError as error:
            raise failure("read", params.path, error) from error

    async def _read_page(self, target: FileTarget, ctx: CodingContext) -> ToolOutput:
        url, selector = web_addresses.parse_web_url(target.text), target.selector
        for host in self._pages.hosts(url):
            ctx.approved.connect(host)
        page = await self._pages.read(url, ctx, raw=selector.raw, cached=bool(selector.ranges))
        text, truncation = await web_output.show_page(page, selector, ctx)
        meta = OutputMeta(
            source=OutputSource("url", page.final_url), truncation=UNSET if truncation is None else truncation
        )
        details = ReadDetails(
            path=page.url,
            kind="url",
            url=page.url,
            final_url=page.final_url,
            content_type=page.content_type,
            method=page.method,
            notes=page.notes,
            meta=meta,
        )
        return ToolOutput([TextContent(text), *([page.image] if page.image else [])], details)

    async def _read_existing(self, target: FileTarget, ctx: CodingContext) -> ToolOutput | None:
        """None if there is no such file."""
        if target.kind == "archive":
            return await self._read_archive(target, ctx)
        if target.kind == "database":
            place = await database.locate(target, ctx.cwd, ctx.fs)
            if place is not None:
                answer = await database.read(replace(place, path=ctx.approved.read(place.path)))
                source = ReadTarget(place.name, place.path)
                return _listing(source, "database", answer.text, answer.limit, display=True)
        return await self._read_file(target.path, target.selector, ctx)

    async def _read_archive(self, target: FileTarget, ctx: CodingContext) -> ToolOutput:
        found = await archive.locate(target, ctx.cwd, ctx.fs)
        inside = await archive.read(found, ctx.fs)
        source = ReadTarget(inside.name, found.path)
        if isinstance(inside, archive.ArchiveListing):
            return _listing(source, "archive", inside.text, inside.limit)
        ctx.approved.read_member(found.path, inside.name.removeprefix(f"{found.name}:"))
        notice_text = inside.binary_notice()
        if notice_text is not None:
            return _listing(source, "archive", notice_text)
        return await self._show(replace(source, data=inside.data), inside.selector, ctx)

    async def _read_file(self, path: Path, selector: Selector, ctx: CodingContext) -> ToolOutput | None:
        stat = await ctx.fs.stat(path)
        if stat is None:
            return None
        name = shown(path, ctx.cwd)
        if stat.is_dir:
            listing = await directory.directory_tree(path, ctx.fs, selector)
            return _listing(ReadTarget(name, path), "directory", listing.text, listing.limit)
        if stat.mode and not modes.S_ISREG(stat.mode):
            raise ToolError(f"{name} is a device, pipe or socket, not a file; reading might never end.")
        if stat.size > large_file.LARGE_BYTES and not names_document(path.name):
            part = await large_file.large_page(path, name, stat.size, selector, self._first_lines, ctx.fs)
            return ToolOutput.text(part.text, _details(ReadTarget(name, path), part))
        source = ReadTarget(name, path, await ctx.fs.read(path), stat, editable=True)
        output = await self._show(source, selector, ctx)
        ctx.snapshots.remember(path, stat)
        return output

    async def _show(self, source: ReadTarget, selector: Selector, ctx: CodingContext) -> ToolOutput:
        data = source.data
        if image_header.image_type(data) is not None:
            return await self._picture(source)
        if Path(source.name).suffix.lower() == ".ipynb" and not selector.raw:
            cells = await _computed(len(data), lambda: notebook.to_text(data))
            return await self._paged(source, cells, "", selector, ctx)
        if names_document(source.name) and not selector.raw:
            return await self._document(source, selector, ctx)
        if is_binary(data):
            size = format_bytes(len(data))
            raise ToolError(
                f"{source.name} is binary ({size}), not text; look inside with bash: file, strings, xxd."
            )
        try:
            text = await _computed(len(data), lambda: decode(data).text)
        except NotText as error:
            remark = f"[{error}. Such bytes are shown as \ufffd"
            try:
                text = await _computed(len(data), lambda: decode_escaped(data).text)
            except NotText:
                lossy = replace(source, stat=source.stat, editable=False)
                text = await _computed(len(data), lambda: data.decode("utf-8", "replace"))
                return await self._paged(lossy, text, f"{remark}; edit will refuse this file]", selector, ctx)
            return await self._paged(source, text, f"{remark}; edit only other lines]", selector, ctx)
        if selector.conflicts:
            return await self._conflicts(source, text, ctx)
        return await self._paged(source, text, "", selector, ctx)

    async def _conflicts(self, source: ReadTarget, text: str, ctx: CodingContext) -> ToolOutput:
        if source.path is None or not source.editable:
            raise ToolError(f"{source.name} cannot be written to, so its conflicts cannot be resolved.")
        regions = await _computed(len(text), lambda: conflicts.find_regions(text))
        numbered = ctx.conflicts.record(source.path, regions)
        return _listing(source, "conflicts", conflicts.render(source.name, numbered))

    async def _paged(
        self, source: ReadTarget, text: str, remark: str, selector: Selector, ctx: CodingContext
    ) -> ToolOutput:
        tag = None
        if source.editable and source.path is not None and tags_lines(self._settings) and not selector.raw:
            sums = await _computed(len(text), lambda: hashline_snapshots.checksums(text))
            tag = ctx.snapshots.record(source.path, text, sums=sums)
        brief = self._settings.read.summarize
        shape = text_reader.PageOptions(
            name=source.name,
            selector=selector,
            first_lines=self._first_lines,
            tag=tag,
            remark=remark,
            summary=brief if source.stat is not None and brief.enabled else None,
        )
        visible = await _computed(len(text), lambda: show_escaped(text))
        shown_page = await text_reader.page(visible, shape, ctx.helpers)
        return ToolOutput.text(shown_page.text, _details(source, shown_page))

    async def _picture(self, source: ReadTarget) -> ToolOutput:
        info = image_header.read_header(source.data)
        if info is not None and (self._settings.images.block_images or self._settings.inspect_image.enabled):
            details = source.details("image", mime_type=info.mime_type)
            return ToolOutput.text(self._described(info, len(source.data)), details)
        loaded = await asyncio.to_thread(
            images.load_image, source.data, auto_resize=self._settings.images.auto_resize
        )
        details = source.details("image", mime_type=loaded.mime_type)
        return ToolOutput([TextContent(loaded.note), loaded.content()], details)

    def _described(self, info: "image_header.ImageInfo", size_bytes: int) -> str:
        """Describe an image that is not shown."""
        facts = images.describe(info, size_bytes)
        if self._settings.images.block_images:
            return f"[{facts}; not sent: images.blockImages is true]"
        return f"[{facts}; ask inspect_image what it shows]"

    async def _document(self, source: ReadTarget, selector: Selector, ctx: CodingContext) -> ToolOutput:
        try:
            text = await documents.convert_in_worker(source.name, source.data, ctx.helpers)
        except document_limits.DocumentError as error:
            failed = f"[Cannot read {Path(source.name).suffix} file: {error}]"
            return _listing(source, "document", failed)
        converted = replace(source, stat=None, editable=False)
        return await self._paged(converted, text, "", selector, ctx)


async def _computed(size: int, work: Callable[[], T]) -> T:
    """The result of `work` on a text; of a long one on a thread, where an interrupt need not wait for it."""
    return work() if size <= text_reader.QUICK_CHARS else await asyncio.to_thread(work)


def _details(source: ReadTarget, shown_page: "text_reader.TextPage") -> ReadDetails:
    elided = shown_page.elided
    summary: SummaryDetails | UnsetType = UNSET
    if elided is not None:
        lines = sum(last - first + 1 for first, last in elided)
        summary = SummaryDetails(
            lines=shown_page.total_lines - lines, elided_spans=elided, elided_lines=lines
        )
    ranges, display = shown_page.ranges, shown_page.display
    return source.details(
        "file",
        shown_page.truncation,
        total_lines=shown_page.total_lines if shown_page.total_lines or not ranges else UNSET,
        first_line=ranges[0][0] if ranges else UNSET,
        last_line=ranges[-1][1] if ranges else UNSET,
        summary=summary,
        display_content=UNSET if display is None else DisplayContent(display, ranges[0][0]),
    )


def _listing(
    source: ReadTarget, kind: Kind, text: str, limit: EntryLimit | None = None, *, display: bool = False
) -> ToolOutput:
    """Text that is not a file's own: within the limits, whatever it is."""
    cut = truncate(text, LISTED)
    details = source.details(
        kind,
        cut.truncation,
        limit,
        is_directory=True if kind == "directory" else UNSET,
        display_content=DisplayContent(cut.text, 1) if display else UNSET,
    )
    return ToolOutput.text(with_notice(cut.text, notice(cut.truncation)), details)


def _add_resolution(output: ToolOutput, resolution: str) -> ToolOutput:
    first, *rest = output.content
    assert isinstance(first, TextContent)
    details = replace(output.details, suffix_resolution=resolution)
    return ToolOutput([TextContent(f"[{resolution}]\n{first.text}"), *rest], details, output.is_error)


async def _by_suffix(text: str, ctx: CodingContext) -> tuple[str, str]:
    """The path with the only file in the working folder that ends like it, and a sentence about that."""
    for wanted, rest in _splits(text):
        if wanted and not Path(wanted).is_absolute() and not any(letter in wanted for letter in "*?[{~"):
            found = await _only_match(wanted, ctx)
            if found is not None:
                resolution = f"There is no {wanted}; this is {shown(found, ctx.cwd)}, the only match"
                return f"{found}{rest}", resolution
    return text, ""


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """All ways to split a path into a file and what is asked of it."""
    ways: list[tuple[str, str]] = []
    ways += [(path, f":{inner}" if inner else "") for path, inner in archive_splits(text)]
    ways += database_splits(text)
    path = split_selector(text)[0]
    for wanted, rest in (*ways, (path, text[len(path) :])):
        yield re.sub(r"^(?:\.{0,2}/)+", "", wanted.strip()), rest


async def _only_match(wanted: str, ctx: CodingContext) -> Path | None:
    try:
        async with asyncio.timeout(SUFFIX_SECONDS):
            matches = await walking.walk([ctx.cwd], globs=[f"**/{wanted}"], limit=2)
    except (TimeoutError, ToolError):
        return None
    found = matches[0] if len(matches) == 1 else None
    return None if found is None or credentials.is_credential_store(found) else found


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
    if path.name in names:
        return f"{name} is a link to something that does not exist."
    similar = [entry for entry in names if entry.casefold() == path.name.casefold()]
    similar = similar or difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    hint = ", ".join(shown(folder / entry, ctx.cwd) for entry in similar)
    return f"There is no file {name}." + (f" Did you mean {hint}?" if hint else "")
