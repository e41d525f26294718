"""Resolve the paths of a search to files, folders with a glob, and texts that are not files."""

import stat as modes
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import NotText, decode
from tau.coding.files.path_arguments import PathTarget
from tau.coding.files.paths import LineRange, shown
from tau.coding.files.targets import FileTarget
from tau.coding.ports import CodingContext, Resource
from tau.coding.search.globs import tool_matcher

archive = late("tau.coding.readers.archives.archive")

MAX_PAGES = 1000  # per scheme


class SearchSource(Struct, frozen=True, kw_only=True):
    """One file or text. `data` is set for what is not a file: a copy of it is searched."""

    name: str
    path: Path
    ranges: tuple[LineRange, ...] = ()
    editable: bool = True
    data: bytes | None = None


class SearchFolder(Struct, frozen=True, kw_only=True):
    """A folder to search. `accepts` is true for paths that match the glob, or are below one that does."""

    root: Path
    glob: str
    accepts: Callable[[str], object]


class Sources(Struct, frozen=True, kw_only=True):
    files: list[SearchSource]
    trees: list[SearchFolder]
    unreadable: list[str]

    @property
    def single(self) -> bool:
        return len(self.files) == 1 and not self.trees


async def gather(entries: Sequence[PathTarget], ctx: CodingContext, scratch: Callable[[], Path]) -> Sources:
    """Resolve every entry; copy what is not a file to the `scratch` folder. Raises ToolError."""
    files: list[SearchSource] = []
    trees: list[SearchFolder] = []
    unreadable: list[str] = []
    for entry in entries:
        if entry.url:
            files += await _resources(entry, ctx)
        elif entry.member:
            try:
                files.append(await _member(entry, ctx))
            except ToolError as error:
                unreadable.append(f"{entry.text} ({str(error).removesuffix('.')})")
        elif tree := await _tree(entry, ctx):
            trees.append(tree)
        else:
            files.append(await _file(entry, ctx))
    if unreadable and not files and not trees:
        raise ToolError(f"Cannot search archive member(s): {'; '.join(unreadable)}.")
    files = _deduplicate(files)
    for index, source in enumerate(files):
        if source.data is not None:
            files[index] = replace(source, path=scratch() / f"{index:05}")
            files[index].path.write_bytes(source.data)
    return Sources(files=files, trees=trees, unreadable=unreadable)


def _deduplicate(files: Sequence[SearchSource]) -> list[SearchSource]:
    """Merge the ranges of repeated files."""
    merged: dict[tuple[Path, str], SearchSource] = {}
    for source in files:
        key = (source.path, source.name if source.data is not None else "")
        before = merged.get(key)
        if before is not None:
            both = (*before.ranges, *source.ranges) if before.ranges and source.ranges else ()
            source = replace(before, ranges=both)
        merged[key] = source
    return list(merged.values())


async def _tree(entry: PathTarget, ctx: CodingContext) -> SearchFolder | None:
    """None for a file."""
    stat = await ctx.fs.stat(entry.base)
    is_dir = stat is not None and stat.is_dir
    if entry.selector.ranges and (entry.glob or is_dir):
        what = f"not a glob: {entry.text}" if entry.glob else f"{entry.text} is a directory"
        raise ToolError(f"A line-range selector requires a single file, {what}.")
    if entry.glob and stat is None:
        raise ToolError(f"Path not found: {shown(entry.base, ctx.cwd)}.")
    if entry.glob and not is_dir:
        raise ToolError(f"Path is not a directory: {shown(entry.base, ctx.cwd)}.")
    if not is_dir:
        return None
    glob = entry.glob or "**/*"
    return SearchFolder(root=entry.base, glob=glob, accepts=_accept_below(tool_matcher([glob])))


def _accept_below(matches: Callable[[str], object]) -> Callable[[str], object]:
    """Accept everything below a folder that matches the glob."""

    def accepts(path: str) -> bool:
        while path:
            if matches(path):
                return True
            path = path.rpartition("/")[0]
        return False

    return accepts


async def _file(entry: PathTarget, ctx: CodingContext) -> SearchSource:
    stat = await ctx.fs.stat(entry.base)
    if stat is None:
        what = "Path not found for line-range selector" if entry.selector.ranges else "Path not found"
        raise ToolError(f"{what}: {entry.text}.")
    name = shown(entry.base, ctx.cwd)
    if stat.mode and not modes.S_ISREG(stat.mode):
        raise ToolError(f"{name} is a device, pipe or socket, not a file; searching it might never end.")
    return SearchSource(name=name, path=entry.base, ranges=entry.selector.ranges)


async def _resources(entry: PathTarget, ctx: CodingContext) -> list[SearchSource]:
    """Resolve a URL; a bare scheme such as `tau://` yields all of its pages."""
    if not ctx.urls.handles(entry.url):
        raise ToolError(f"search takes files and internal URLs; {entry.url} is neither.")
    resource = await ctx.urls.resolve(entry.url, ctx)
    if resource.path is None and entry.url.endswith("://"):
        pages = resource.data.decode("utf-8", "replace").split()
        if pages and all(page.startswith(entry.url) and page != entry.url for page in pages):
            found = [await ctx.urls.resolve(page, ctx) for page in pages[:MAX_PAGES]]
            return [_resource(one.url, one, entry) for one in found]
    return [_resource(entry.url, resource, entry)]


def _resource(url: str, resource: Resource, entry: PathTarget) -> SearchSource:
    ranges = entry.selector.ranges
    if resource.path is not None:
        return SearchSource(name=url, path=resource.path, ranges=ranges, editable=not resource.immutable)
    return SearchSource(name=url, path=Path(), ranges=ranges, editable=False, data=resource.data)


async def _member(entry: PathTarget, ctx: CodingContext) -> SearchSource:
    target = FileTarget(kind="archive", text=entry.text, path=entry.base, rest=entry.member)
    found = await archive.locate(target, ctx.cwd, ctx.fs)
    content = await archive.read(found, ctx.fs)
    if not isinstance(content, archive.ArchiveEntry):
        raise ToolError("It is a directory; name a file in it.")
    ctx.approved.read_member(found.path, content.name.removeprefix(f"{found.name}:"))
    try:
        decode(content.data)
    except NotText:
        raise ToolError("It is not UTF-8 text.") from None
    if b"\0" in content.data:
        raise ToolError("It is binary.")
    return SearchSource(
        name=content.name, path=Path(), ranges=entry.selector.ranges, editable=False, data=content.data
    )
