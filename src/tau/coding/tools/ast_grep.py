"""ast_grep: structural code search, a page of files at a time."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.late import late
from tau.coding.edits.modes import tags_lines
from tau.coding.files import path_arguments
from tau.coding.files.source_files import MAX_FILES, SECONDS, CodeFile, FileReadReport, SourceScope, scope_of
from tau.coding.output import EntryLimit, OutputMeta, with_notice
from tau.coding.ports import CodingContext
from tau.coding.search.pages import (
    MATCHES_IN_ONE_FILE,
    MATCHES_PER_FILE,
    PAGE_FILES,
    FileHits,
    ResultPage,
    render,
)
from tau.config.settings import Settings

patterns = late("tau.backends.syntax.patterns")
pattern_parser = late("tau.backends.syntax.pattern_parser")

LINES_OF_MATCH = 8  # only the start of a long match is shown


class AstGrepParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"pattern": "pat", "path": "paths"}

    pat: Annotated[str, Meta(description="Code with holes: $NAME, $$$NAME")]
    paths: Annotated[str | list[str], Meta(description="Files, directories or globs; `.` for everything")]
    skip: Annotated[int, Meta(description="Matching files to skip, for the next page", ge=0)] = 0


class AstGrepDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """Counts are for this page, except `files_searched`. Inapplicable fields are omitted."""

    scope_path: str
    match_count: int = 0
    file_count: int = 0
    files: list[str] = []
    files_searched: int = 0
    file_limit_reached: int | UnsetType = UNSET
    per_file_limit_reached: int | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET
    missing_paths: list[str] | UnsetType = UNSET
    display_content: str | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class _Found(Struct, kw_only=True):
    """The files of the page, and the total count."""

    page: list[FileHits]
    total: int = 0


class AstGrep(Tool[AstGrepParams]):
    name, label = "ast_grep", "Structural search"

    def __init__(self, settings: Settings | None = None) -> None:
        self._tagged = tags_lines(settings or Settings())

    @cached_property
    def description(self) -> str:
        numbers = {"files": PAGE_FILES, "each": MATCHES_PER_FILE, "single": MATCHES_IN_ONE_FILE}
        text = super().description
        for word, number in numbers.items():
            text = text.replace(f"{{{{{word}}}}}", str(number))
        return text

    def effects(self, params: AstGrepParams, cwd: Path) -> Effects:
        entries = path_arguments.entries(params.paths, cwd)
        return Effects(reads=tuple(entry.base for entry in entries if not entry.url))

    async def run(self, params: AstGrepParams, ctx: CodingContext) -> ToolOutput:
        scope = await scope_of(params.paths, ctx)
        reading = FileReadReport()
        skip = 0 if scope.single else params.skip
        cap = MATCHES_IN_ONE_FILE if scope.single else MATCHES_PER_FILE
        found = _Found(page=[])
        pattern_parser.check_shape(params.pat)
        async for file in reading.files(scope, [patterns.required_words(params.pat)], ctx):
            if not pattern_parser.is_code(params.pat, file.language):
                continue
            matches = patterns.search(params.pat, file.decoded.text, file.language)
            if matches and skip <= found.total < skip + PAGE_FILES:
                tag = ctx.snapshots.record(file.path, file.decoded.text) if self._tagged else None
                found.page.append(_hits(file, matches, cap, tag))
            found.total += bool(matches)
        if not found.total:
            pattern_parser.check_any(params.pat, sorted(reading.languages))
        page = render(found.page, before=0, after=LINES_OF_MATCH - 1, single=scope.single)
        return _report(params, scope, reading, found, page, skip)


def _hits(file: CodeFile, matches: "Sequence[patterns.PatternMatch]", cap: int, tag: str | None) -> FileHits:
    rows = file.decoded.text.split("\n" if "\n" in file.decoded.text else "\r")
    starts = sorted({match.first_line for match in matches})
    lines: dict[int, str] = {}
    for match in matches:
        last = min(match.last_line, match.first_line + LINES_OF_MATCH - 1)
        for number in range(match.first_line, last + 1):
            lines[number] = rows[number - 1].removesuffix("\r")
    return FileHits(
        name=file.name,
        matched=starts[:cap],
        lines=lines,
        tag=tag,
        capped=len(starts) > cap,
    )


def _report(
    params: AstGrepParams,
    scope: SourceScope,
    reading: FileReadReport,
    found: _Found,
    page: ResultPage,
    skip: int,
) -> ToolOutput:
    matching = sum(len(file.matched) for file in found.page)
    shown = sum(page.matches.values())
    capped = [file.name for file in found.page if file.capped]
    cap = MATCHES_IN_ONE_FILE if scope.single else MATCHES_PER_FILE
    more = found.total > skip + PAGE_FILES
    notes: list[str] = []
    if shown < matching:
        notes.append(f"Showing {shown} of {matching} matches that fit; narrow the search")
    if capped:
        notes.append(f"Only the first {cap} matches of {_few(capped)}")
    if more:
        last = skip + PAGE_FILES
        notes.append(f"Files {skip + 1}-{last} of {found.total} matching. Use skip={last} for the next page")
    notes += scope_notes(scope, reading)
    text = page.text or _nothing(found, skip)
    details = AstGrepDetails(
        scope_path=scope.text,
        match_count=shown,
        file_count=len(page.matches),
        files=list(page.matches),
        files_searched=reading.searched,
        file_limit_reached=PAGE_FILES if more else UNSET,
        per_file_limit_reached=cap if capped else UNSET,
        timed_out=reading.timed_out or UNSET,
        missing_paths=scope.missing or UNSET,
        display_content=page.display or UNSET,
        meta=OutputMeta(entries=EntryLimit(shown, matching)) if shown < matching else UNSET,
    )
    return ToolOutput.text(with_notice(text, "\n".join(f"[{note}]" for note in notes)), details)


def scope_notes(scope: SourceScope, reading: FileReadReport) -> list[str]:
    """Notes about files that were not searched."""
    notes: list[str] = []
    if reading.timed_out:
        notes.append(f"Stopped after {SECONDS:g} s, so there may be more; narrow `paths`")
    if scope.capped:
        notes.append(f"Only the first {MAX_FILES} files were searched; narrow `paths`")
    if scope.missing:
        notes.append(f"Skipped missing paths: {', '.join(scope.missing)}")
    return notes


def _nothing(found: _Found, skip: int) -> str:
    if found.total and skip >= found.total:
        return f"No matches from skip={skip} on: {found.total} files match."
    return "No matches found"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
