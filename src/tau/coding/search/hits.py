"""Run one search, from its sources to a page of files with their matching lines.

First find the names of all matching files, which ripgrep does in parallel; then the lines, only for
the files on the page. So pages are stable, and a pattern that matches everywhere stays cheap.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from msgspec import Struct

from tau.base.sizes import MIB
from tau.base.text import BINARY_PROBE_BYTES, NotText, decode, is_binary
from tau.coding.files.paths import LineRange, real, shown
from tau.coding.ports import CodingContext
from tau.coding.search import search_process
from tau.coding.search.pages import MATCHES_IN_ONE_FILE, MATCHES_PER_FILE, PAGE_FILES, FileHits, around
from tau.coding.search.query import Query, SearchScope
from tau.coding.search.rg_command import is_in_git, is_kind
from tau.coding.search.sources import SearchSource, Sources
from tau.coding.search.walk import pieces

MIN_SECONDS = 2.0  # for the page, if finding the files used up the time
MAX_WHOLE_BYTES = 32 * MIB  # larger files get no tag
MAX_PAGE_BYTES = 64 * MIB
MAX_PROBED = 2_000  # files; a binary one after them takes a place on its page
CHUNK_BYTES = 1024 * 1024
MAX_LINE_BYTES = 64 * 1024  # longer lines are truncated


class SearchOptions(Struct, frozen=True, kw_only=True):
    """Search options. `before` and `after` are context lines around a match.

    `tagged`: rows can be edited by line, so their texts are recorded.
    """

    query: Query
    gitignore: bool = True
    skip: int = 0
    before: int = 1
    after: int = 3
    seconds: float = 30.0
    tagged: bool = True


class SearchHits(Struct, frozen=True, kw_only=True):
    """The files on the page. `total` counts matching files on all pages."""

    files: list[FileHits]
    total: int
    skip: int
    binary: list[str]
    timed_out: bool = False
    unreadable: bool = False
    capped: bool = False

    @property
    def next_skip(self) -> int | None:
        """The start of the next page; None on the last one."""
        after = self.skip + PAGE_FILES
        return after if self.total > after else None


class FileContent(Struct, frozen=True, kw_only=True):
    """`text` is the whole file, if it round-trips as text in the same lines; `lines` are the requested ones.

    `starts` are the positions of matches in their lines.
    """

    lines: dict[int, str]
    starts: dict[int, int] = {}
    text: str | None = None
    binary: bool = False


class WantedLines(Struct, frozen=True):
    """The lines to show, and for those that match the bytes before the match."""

    near: AbstractSet[int]
    columns: Mapping[int, int]


async def find_hits(options: SearchOptions, sources: Sources, ctx: CodingContext) -> SearchHits:
    """Search. Raises ToolError for an invalid pattern, OSError if no search could be started."""
    until = time.monotonic() + options.seconds
    found = search_process.MatchingFiles(files=[str(source.path) for source in sources.files])
    listed = bool(sources.trees) or len(sources.files) > PAGE_FILES
    if listed:
        scope = scope_of(sources, options.gitignore)
        found = await search_process.matching_files(
            options.query, scope, ctx.helpers, seconds=options.seconds
        )
    candidates = [name for name in in_order(found.files, sources) if not ctx.approved.denies(name)]
    named = {str(source.path): source for source in sources.files}
    skip = 0 if sources.single else options.skip
    probed = [name for name in candidates[:MAX_PROBED] if name not in named] if listed else []
    skipped = await asyncio.to_thread(_binary_files, probed) if probed else {}
    candidates = [name for name in candidates if name not in skipped]
    # With only a few files, which of them match is not known yet.
    asked = [
        named.get(name) or SearchSource(name="", path=Path(name))
        for name in (candidates[skip : skip + PAGE_FILES] if listed else candidates)
    ]
    cap = MATCHES_IN_ONE_FILE if sources.single else MATCHES_PER_FILE
    matches = await _matches(options.query, asked, ctx, cap + 1, max(until - time.monotonic(), MIN_SECONDS))
    lines = matches.lines
    matching = [source for source in asked if lines.get(str(source.path))]
    files: list[FileHits] = []
    binary = [] if skip else [shown(Path(name), ctx.cwd) for name in skipped]
    room = MAX_PAGE_BYTES
    for source in matching if listed else matching[skip:]:
        matched = lines[str(source.path)]
        name = source.name or shown(source.path, ctx.cwd)
        near = around(matched[:cap], options.before, options.after)
        columns = matches.columns.get(str(source.path), {})
        content = await _content(source, WantedLines(near, columns), ctx, room)
        if content is None or content.binary:
            binary += [] if content is None else [name]
            continue
        room -= 0 if content.text is None else len(content.text)
        tag = None
        if options.tagged and source.editable and content.text is not None:
            tag = ctx.snapshots.record(source.path, content.text)
        files.append(
            FileHits(
                name=name,
                matched=[line for line in matched[:cap] if line in content.lines],
                lines=content.lines,
                starts=content.starts,
                tag=tag,
                capped=len(matched) > cap,
            )
        )
    return SearchHits(
        files=files,
        total=len(candidates) if listed else len(matching),
        skip=skip,
        binary=binary,
        timed_out=found.timed_out or matches.timed_out,
        unreadable=found.unreadable,
        capped=found.capped,
    )


def _binary_files(names: Sequence[str]) -> dict[str, None]:
    """Those of the files that `read` would not show as text either, in this order."""
    found: dict[str, None] = {}
    for name in names:
        try:
            with open(name, "rb", buffering=0) as file:  # noqa: PTH123 - speed matters for many files
                if is_binary(file.read(BINARY_PROBE_BYTES)):
                    found[name] = None
        except OSError:
            pass
    return found


def scope_of(sources: Sources, gitignore: bool) -> SearchScope:
    """Build the search scope. Globs for file types are passed on to ripgrep, which then skips other files."""
    names = {tree.glob.rpartition("/")[2] for tree in sources.trees}
    filtered = all(map(is_kind, names))
    roots = dict.fromkeys(str(path) for path in (*(tree.root for tree in sources.trees), *_paths(sources)))
    return SearchScope(
        roots=tuple(roots),
        names=tuple(sorted(names)) if filtered else (),
        gitignore=gitignore,
        in_git=all(is_in_git(real(tree.root)) for tree in sources.trees),
    )


def in_order(found: Sequence[str], sources: Sources) -> list[str]:
    """Return the files that a source accepts, sorted; then texts that are not files, in the given order."""
    present = set(found)
    copies = [str(source.path) for source in sources.files if source.data is not None]
    trees = [(f"{str(tree.root).rstrip('/')}/", tree) for tree in sources.trees]
    if len(trees) == 1 and trees[0][1].glob == "**/*":
        return [*sorted(present.difference(copies)), *filter(present.__contains__, copies)]
    named = {str(source.path) for source in sources.files}
    accepted = (
        name
        for name in present.difference(copies)
        if name in named
        or any(name.startswith(start) and tree.accepts(name[len(start) :]) for start, tree in trees)
    )
    return [*sorted(accepted), *filter(present.__contains__, copies)]


async def unreadable_folders(sources: Sources, options: SearchOptions, ctx: CodingContext) -> list[str]:
    """List the folders that could not be entered: a second pass, for the rare unreadable case."""
    names: list[str] = []
    try:
        for tree in sources.trees:
            until = time.monotonic() + MIN_SECONDS
            async for piece in pieces(tree.root, gitignore=options.gitignore, deadline=until):
                if piece.unreadable:
                    names.append(shown(Path(piece.folder), ctx.cwd))
    except TimeoutError:
        pass
    return names


async def _matches(
    query: Query, sources: Sequence[SearchSource], ctx: CodingContext, max_count: int, seconds: float
) -> search_process.MatchingLines:
    """Find matching lines by path. If only some lines count, request all."""
    result: dict[str, list[int]] = {}
    columns: dict[str, Mapping[int, int]] = {}
    timed_out = False
    plain = [str(source.path) for source in sources if not source.ranges]
    ranged = {str(source.path): source.ranges for source in sources if source.ranges}
    if plain:
        matched = await search_process.matching_lines(
            query, plain, ctx.helpers, max_count=max_count, seconds=seconds
        )
        result.update(matched.lines)
        columns.update(matched.columns)
        timed_out = matched.timed_out
    if ranged:
        matched = await search_process.matching_lines(
            query,
            list(ranged),
            ctx.helpers,
            max_count=0,
            seconds=seconds,
            counts=lambda path, line: _within(line, ranged[path]),
        )
        timed_out |= matched.timed_out
        result.update({path: lines[:max_count] for path, lines in matched.lines.items()})
        columns.update(matched.columns)
    return search_process.MatchingLines(lines=result, columns=columns, timed_out=timed_out)


def _within(line: int, ranges: Sequence[LineRange]) -> bool:
    return any(span.first <= line and (span.last is None or line <= span.last) for span in ranges)


async def _content(
    source: SearchSource, wanted: WantedLines, ctx: CodingContext, room: int
) -> FileContent | None:
    """Read the content; None if the file is gone."""
    try:
        if source.data is not None:
            return await _parsed(source.data, wanted)
        return await _read_lines(source.path, wanted, ctx, max_bytes=min(MAX_WHOLE_BYTES, room))
    except OSError:
        return None


def _paths(sources: Sources) -> list[Path]:
    return [source.path for source in sources.files]


async def _read_lines(path: Path, wanted: WantedLines, ctx: CodingContext, *, max_bytes: int) -> FileContent:
    """Read the wanted lines; keeps no full text above `max_bytes`. Raises OSError."""
    stat = await ctx.fs.stat(path)
    if stat is not None and stat.size > max_bytes:
        return await _read_parts(path, wanted, ctx)
    return await _parsed(await ctx.fs.read(path), wanted)


async def _parsed(data: bytes, wanted: WantedLines) -> FileContent:
    if len(data) <= MIB:
        return _parse_content(data, wanted)
    return await asyncio.to_thread(_parse_content, data, wanted)


def _parse_content(data: bytes, wanted: WantedLines) -> FileContent:
    if is_binary(data):
        return FileContent(lines={}, binary=True)
    try:
        text: str | None = decode(data).text
    except NotText:
        text = None
    lines = (data.decode("utf-8", "replace") if text is None else text).split("\n")
    if not lines[-1]:
        del lines[-1]
    near = {number: lines[number - 1].removesuffix("\r") for number in wanted.near if number <= len(lines)}
    starts = {number: _chars(near[number], at) for number, at in wanted.columns.items() if number in near}
    if text is not None and "\n" not in text and "\r" in text:
        text = None  # the search takes it for one line: its numbers are not those of a tag
    return FileContent(lines=near, starts=starts, text=text)


def _chars(line: str, count_bytes: int) -> int:
    """How many characters the first bytes of a line are."""
    return (
        count_bytes
        if line.isascii()
        else len(line.encode(errors="replace")[:count_bytes].decode(errors="ignore"))
    )


async def _read_parts(path: Path, wanted: WantedLines, ctx: CodingContext) -> FileContent:
    """Read the file in chunks, keeping of each wanted line the beginning, or what is around the match."""
    last = max(wanted.near, default=0)
    kept: dict[int, bytes] = {}
    skipped = {line: max(at - MAX_LINE_BYTES // 2, 0) for line, at in wanted.columns.items()}
    left = dict(skipped)  # bytes still to skip
    number = 1
    offset = 0
    while number <= last and (chunk := await ctx.fs.read_part(path, offset, CHUNK_BYTES)):
        offset += len(chunk)
        breaks = chunk.count(b"\n")
        if any(number <= line <= number + breaks for line in wanted.near):
            for index, piece in enumerate(chunk.split(b"\n"), number):
                if index in wanted.near:
                    skip = left.get(index, 0)
                    left[index] = max(skip - len(piece), 0)
                    kept[index] = (kept.get(index, b"") + piece[skip:])[:MAX_LINE_BYTES]
        number += breaks
    if number in kept and not kept[number]:
        del kept[number]  # the file ends with a line break: no line follows
    lines = {line: data.removesuffix(b"\r").decode("utf-8", "replace") for line, data in kept.items()}
    starts = {
        line: _chars(lines[line], at - skipped[line]) for line, at in wanted.columns.items() if line in lines
    }
    return FileContent(lines=lines, starts=starts)
