"""search: finds lines that match a regular expression, a page of files at a time."""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.modes import tags_lines
from tau.coding.files.paths import failure
from tau.coding.output import OutputMeta, list_names, with_notice
from tau.coding.ports import CodingContext
from tau.coding.search import pages
from tau.coding.search.query import Query
from tau.coding.search.regex_repair import across_line_ends, is_multiline, lenient
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.coding.search.hits import SearchHits, SearchOptions
    from tau.coding.search.sources import Sources

finding = late("tau.coding.search.hits")
sources_of = late("tau.coding.search.sources")
tempfile = late("tempfile")
path_arguments = late("tau.coding.files.path_arguments")

SECONDS = 30.0


class SearchParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"path": "paths", "ignore_case": "i", "regex": "pattern"}

    pattern: Annotated[str, Meta(title="Regular expression")]
    paths: Annotated[
        str | list[str], Meta(title="Files, directories, globs or internal URLs; `.` for everything")
    ]
    i: Annotated[bool, Meta(description="Ignore case")] = False
    gitignore: Annotated[bool, Meta(title="Omit ignored files")] = True
    skip: Annotated[float, Meta(title="Matching files to skip, for the next page")] = 0


class FileCount(Struct, frozen=True, rename="camel"):
    path: str
    count: int


class SearchDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """Counts are for this page. Inapplicable fields are omitted."""

    scope_path: str
    match_count: int = 0
    file_count: int = 0
    files: list[str] = []
    file_matches: list[FileCount] = []
    file_limit_reached: int | UnsetType = UNSET
    per_file_limit_reached: int | UnsetType = UNSET
    lines_truncated: bool | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET
    missing_paths: list[str] | UnsetType = UNSET
    display_content: str | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class Search(Tool[SearchParams]):
    name, label = "search", "Search"

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()

    @cached_property
    def description(self) -> str:
        return pages.fill_limits(super().description)

    def effects(self, params: SearchParams, cwd: Path) -> Effects:
        entries = path_arguments.entries(params.paths, cwd, selectors=True)
        return Effects(reads=path_arguments.read_paths(entries))

    async def run(self, params: SearchParams, ctx: CodingContext) -> ToolOutput:
        options = finding.SearchOptions(
            query=_query(params),
            gitignore=params.gitignore,
            skip=_skip(params.skip),
            before=self._settings.search.context_before,
            after=self._settings.search.context_after,
            seconds=SECONDS,
            tagged=tags_lines(self._settings),
        )
        entries = path_arguments.entries(params.paths, ctx.cwd, selectors=True)
        path_arguments.check_approved(entries, ctx.approved)
        missing: list[str] = []
        if len(entries) > 1:
            entries, missing = path_arguments.partition(entries)
        scope = path_arguments.scope_text(entries, ctx.cwd)
        try:
            with ExitStack() as stack:

                @cache
                def scratch() -> Path:
                    """A folder for copies of what is not a file; few searches need it."""
                    folder = tempfile.TemporaryDirectory(prefix="tau-search-")
                    return Path(stack.enter_context(folder))

                sources = await sources_of.gather(entries, ctx, scratch)
                hits = await finding.find_hits(options, sources, ctx)
            notes = await _notes(hits, sources, options, missing, ctx)
        except OSError as error:
            raise failure("search", scope, error) from error
        return _report(hits, options, sources.single, scope, missing, notes)


def _query(params: SearchParams) -> Query:
    pattern = params.pattern.strip()
    if pattern.endswith("\\") and not pattern.endswith("\\\\") and params.pattern.rstrip("\n").endswith(" "):
        pattern += " "  # an escaped blank is intended
    if not pattern:
        raise ToolError("Pattern must not be empty.")
    if "\0" in pattern:
        raise ToolError("The pattern contains a NUL character, which search cannot find.")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise ToolError("The pattern contains a lone surrogate, which no text has.") from None
    pattern = lenient(pattern)
    multiline = is_multiline(pattern)
    return Query(
        pattern=across_line_ends(pattern) if multiline else pattern, ignore_case=params.i, multiline=multiline
    )


def _skip(value: float) -> int:
    if not math.isfinite(value) or value < 0:
        raise ToolError("Skip must be a non-negative number.")
    return math.floor(value)


async def _notes(
    hits: "SearchHits",
    sources: "Sources",
    options: "SearchOptions",
    missing: Sequence[str],
    ctx: CodingContext,
) -> list[str]:
    """Notes for the model, one line each."""
    notes: list[str] = []
    if hits.timed_out:
        seconds = f"{options.seconds:g} s"
        notes.append(f"Stopped after {seconds}, so there may be more; narrow `paths` or `pattern`")
    if hits.capped:
        notes.append("Too many files match to list them all; narrow `paths` or `pattern`")
    if missing:
        notes.append(path_arguments.missing_note(missing))
    if sources.unreadable:
        notes.append(f"Skipped unreadable archive members: {list_names(sources.unreadable)}")
    if hits.binary:
        notes.append(f"Skipped binary files: {list_names(hits.binary)}")
    if hits.unreadable:
        folders = await finding.unreadable_folders(sources, options, ctx)
        what = f"folders: {list_names(folders)}" if folders else "files, or files too large without ripgrep"
        notes.append(f"Skipped unreadable {what}")
    return [f"[{note}]" for note in notes]


def _report(
    hits: "SearchHits",
    options: "SearchOptions",
    single: bool,
    scope: str,
    missing: list[str],
    notes: list[str],
) -> ToolOutput:
    page = pages.render(hits.files, before=options.before, after=options.after, single=single)
    total = sum(len(file.matched) for file in hits.files)
    shown = sum(page.matches.values())
    capped = [file.name for file in hits.files if file.capped and file.name in page.matches]
    cap = pages.MATCHES_IN_ONE_FILE if single else pages.MATCHES_PER_FILE
    limits: list[str] = []
    if shown < total:
        limits.append(f"[Showing {shown} of {total} matches that fit; narrow the search]")
    if capped:
        more = "" if single else "; search one file alone for more"
        limits.append(f"[Only the first {cap} matches of {list_names(capped)}{more}]")
    if hits.next_skip is not None:
        first, last = hits.skip + 1, hits.skip + pages.PAGE_FILES
        limits.append(
            f"[Files {first}-{last} of {hits.total} matching. Use skip={hits.next_skip} for the next page]"
        )
    text = page.text or pages.no_matches(hits.total, hits.skip)
    details = SearchDetails(
        scope_path=scope,
        match_count=shown,
        file_count=len(page.matches),
        files=list(page.matches),
        file_matches=[FileCount(name, count) for name, count in page.matches.items()],
        file_limit_reached=UNSET if hits.next_skip is None else pages.PAGE_FILES,
        per_file_limit_reached=cap if capped else UNSET,
        lines_truncated=page.cut_lines or UNSET,
        truncated=True if shown < total or hits.next_skip is not None or hits.timed_out else UNSET,
        timed_out=hits.timed_out or UNSET,
        missing_paths=missing or UNSET,
        display_content=page.display or UNSET,
        meta=UNSET if page.truncation is None else OutputMeta(truncation=page.truncation),
    )
    return ToolOutput.text(with_notice(text, "\n".join([*limits, *notes])), details)
