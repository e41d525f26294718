"""search: finds lines that match a regular expression, a page of files at a time."""

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.modes import tags_lines
from tau.coding.files import path_arguments
from tau.coding.files.paths import failure
from tau.coding.output import EntryLimit, OutputMeta, with_notice
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

SECONDS = 30.0
NAMED_FILES = 5  # per notice


class SearchParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"path": "paths", "ignore_case": "i", "regex": "pattern"}

    pattern: Annotated[str, Meta(description="Regular expression")]
    paths: Annotated[
        str | list[str], Meta(description="Files, directories, globs or internal URLs; `.` for everything")
    ]
    i: Annotated[bool, Meta(description="Ignore case")] = False
    gitignore: Annotated[bool, Meta(description="Respect .gitignore")] = True
    skip: Annotated[float, Meta(description="Matching files to skip, for the next page")] = 0


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
        numbers = {
            "files": pages.PAGE_FILES,
            "each": pages.MATCHES_PER_FILE,
            "single": pages.MATCHES_IN_ONE_FILE,
        }
        text = super().description
        for word, number in numbers.items():
            text = text.replace(f"{{{{{word}}}}}", str(number))
        return text

    def effects(self, params: SearchParams, cwd: Path) -> Effects:
        entries = path_arguments.entries(params.paths, cwd, selectors=True)
        return Effects(reads=tuple(entry.base for entry in entries if not entry.url))

    async def run(self, params: SearchParams, ctx: CodingContext) -> ToolOutput:
        wish = finding.SearchOptions(
            query=_query(params),
            gitignore=params.gitignore,
            skip=_skip(params.skip),
            before=self._settings.search.context_before,
            after=self._settings.search.context_after,
            seconds=SECONDS,
            tagged=tags_lines(self._settings),
        )
        entries = path_arguments.entries(params.paths, ctx.cwd, selectors=True)
        missing: list[str] = []
        if len(entries) > 1:
            entries, missing = path_arguments.partition(entries)
        scope = path_arguments.scope_text(entries, ctx.cwd)
        try:
            # Few searches need a folder for copies: it is created on demand.
            with _Scratch() as scratch:
                sources = await sources_of.gather(entries, ctx, scratch.folder)
                hits = await finding.find_hits(wish, sources, ctx)
            notes = await _notes(hits, sources, wish, missing, ctx)
        except OSError as error:
            raise failure("search", scope, error) from error
        return _report(hits, wish, sources.single, scope, missing, notes)


class _Scratch:
    """A folder for copies of non-files; it is removed after the call."""

    def __init__(self) -> None:
        self._made: tempfile.TemporaryDirectory[str] | None = None

    def folder(self) -> Path:
        if self._made is None:
            self._made = tempfile.TemporaryDirectory(prefix="tau-search-")
        return Path(self._made.name)

    def __enter__(self) -> "_Scratch":
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None:
            self._made.cleanup()


def _query(params: SearchParams) -> Query:
    pattern = params.pattern.strip()
    if pattern.endswith("\\") and not pattern.endswith("\\\\") and params.pattern.rstrip("\n").endswith(" "):
        pattern += " "  # an escaped blank is intended
    if not pattern:
        raise ToolError("Pattern must not be empty.")
    if "\0" in pattern:
        raise ToolError("The pattern contains a NUL character; files with one are binary and not searched.")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise ToolError("The pattern contains a lone surrogate, which no text has.") from None
    pattern = lenient(pattern)
    multiline = is_multiline(pattern)
    return Query(
        pattern=across_line_ends(pattern) if multiline else pattern,
        ignore_case=params.i,
        multiline=multiline,
    )


def _skip(value: float) -> int:
    if not math.isfinite(value) or value < 0:
        raise ToolError("Skip must be a non-negative number.")
    return math.floor(value)


async def _notes(
    hits: "SearchHits", sources: "Sources", wish: "SearchOptions", missing: Sequence[str], ctx: CodingContext
) -> list[str]:
    """Notes for the model, one line each."""
    notes: list[str] = []
    if hits.timed_out:
        notes.append(f"Stopped after {wish.seconds:g} s, so there may be more; narrow `paths` or `pattern`")
    if hits.capped:
        notes.append("Too many files match to list them all; narrow `paths` or `pattern`")
    if missing:
        notes.append(f"Skipped missing paths: {', '.join(missing)}")
    if sources.unreadable:
        notes.append(f"Skipped unreadable archive members: {'; '.join(sources.unreadable)}")
    if hits.binary:
        notes.append(f"Skipped binary files: {_few(hits.binary)}")
    if hits.unreadable:
        folders = await finding.unreadable_folders(sources, wish, ctx)
        what = f"folders: {_few(folders)}" if folders else "files"
        notes.append(f"Skipped unreadable {what}")
    return [f"[{note}]" for note in notes]


def _few(names: Sequence[str]) -> str:
    more = len(names) - NAMED_FILES
    return ", ".join(names[:NAMED_FILES]) + (f" and {more} more" if more > 0 else "")


def _report(
    hits: "SearchHits", wish: "SearchOptions", single: bool, scope: str, missing: list[str], notes: list[str]
) -> ToolOutput:
    page = pages.render(hits.files, before=wish.before, after=wish.after, single=single)
    found = sum(len(file.matched) for file in hits.files)
    shown = sum(page.matches.values())
    capped = [file.name for file in hits.files if file.capped and file.name in page.matches]
    cap = pages.MATCHES_IN_ONE_FILE if single else pages.MATCHES_PER_FILE
    limits: list[str] = []
    if shown < found:
        limits.append(f"[Showing {shown} of {found} matches that fit; narrow the search]")
    if capped:
        more = "" if single else "; search one file alone for more"
        limits.append(f"[Only the first {cap} matches of {_few(capped)}{more}]")
    if hits.next_skip is not None:
        first, last = hits.skip + 1, hits.skip + pages.PAGE_FILES
        limits.append(
            f"[Files {first}-{last} of {hits.total} matching. Use skip={hits.next_skip} for the next page]"
        )
    text = page.text or _nothing(hits)
    details = SearchDetails(
        scope_path=scope,
        match_count=shown,
        file_count=len(page.matches),
        files=list(page.matches),
        file_matches=[FileCount(name, count) for name, count in page.matches.items()],
        file_limit_reached=UNSET if hits.next_skip is None else pages.PAGE_FILES,
        per_file_limit_reached=cap if capped else UNSET,
        lines_truncated=page.cut_lines or UNSET,
        truncated=True if shown < found or hits.next_skip is not None or hits.timed_out else UNSET,
        timed_out=hits.timed_out or UNSET,
        missing_paths=missing or UNSET,
        display_content=page.display or UNSET,
        meta=OutputMeta(entries=EntryLimit(shown, found)) if shown < found else UNSET,
    )
    return ToolOutput.text(with_notice(text, "\n".join([*limits, *notes])), details)


def _nothing(hits: "SearchHits") -> str:
    if hits.total and hits.skip >= hits.total:
        return f"No matches from skip={hits.skip} on: {hits.total} files match."
    return "No matches found"
