"""ast_grep: structural code search, a page of files at a time."""

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.late import late
from tau.coding.edits.modes import tags_lines
from tau.coding.files.source_files import (
    MAX_FILES,
    SECONDS,
    CodeFile,
    FileReadReport,
    SourceScope,
    compute,
    scope_of,
)
from tau.coding.output import OutputMeta, list_names, with_notice
from tau.coding.ports import CodingContext
from tau.coding.search.pages import (
    MATCHES_IN_ONE_FILE,
    MATCHES_PER_FILE,
    PAGE_FILES,
    FileHits,
    fill_limits,
    no_matches,
    render,
)
from tau.config.settings import Settings

syntax_worker = late("tau.backends.syntax.worker")
patterns = late("tau.backends.syntax.patterns")
pattern_parser = late("tau.backends.syntax.pattern_parser")
path_arguments = late("tau.coding.files.path_arguments")

LINES_OF_MATCH = 8  # only the start of a long match is shown


class AstGrepParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"pattern": "pat", "path": "paths"}

    pat: Annotated[str, Meta(title="Code with holes: $NAME, $$$NAME")]
    paths: Annotated[str | list[str], Meta(title="Files, directories or globs; `.` for everything")]
    skip: Annotated[int, Meta(title="Matching files to skip, for the next page", ge=0)] = 0


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


class AstGrep(Tool[AstGrepParams]):
    name, label = "ast_grep", "Structural search"

    def __init__(self, settings: Settings | None = None) -> None:
        self._tagged = tags_lines(settings or Settings())

    @cached_property
    def description(self) -> str:
        return fill_limits(super().description)

    def effects(self, params: AstGrepParams, cwd: Path) -> Effects:
        entries = path_arguments.entries(params.paths, cwd)
        return Effects(reads=path_arguments.read_paths(entries))

    async def run(self, params: AstGrepParams, ctx: CodingContext) -> ToolOutput:
        scope = await scope_of(params.paths, ctx)
        reading = FileReadReport()
        skip = 0 if scope.single else params.skip
        cap = MATCHES_IN_ONE_FILE if scope.single else MATCHES_PER_FILE
        hits: list[FileHits] = []
        total = 0
        pattern_parser.check_shape(params.pat)
        async with syntax_worker.SyntaxWorker(ctx.helpers) as worker:
            async for file in reading.files(scope, [patterns.required_words(params.pat)], ctx):
                if not pattern_parser.is_code(params.pat, file.language):
                    continue
                matches = await worker.search(params.pat, file.decoded.text, file.language)
                if matches and skip <= total < skip + PAGE_FILES:
                    tag = ctx.snapshots.record(file.path, file.decoded.text) if self._tagged else None
                    hits.append(replace(await compute(file, partial(_hits, matches, cap)), tag=tag))
                total += bool(matches)
        if not total:
            pattern_parser.check_any(params.pat, sorted(reading.languages))
        return _report(scope, reading, hits, total, skip)


def _hits(matches: "Sequence[patterns.PatternMatch]", cap: int, file: CodeFile) -> FileHits:
    """The lines of the matches in a file, up to `cap`."""
    text = file.decoded.text
    newline = "\n" if "\n" in text else "\r"
    rows = text.split(newline)
    starts = sorted({match.first_line for match in matches})
    shown = set(starts[:cap])
    lines: dict[int, str] = {}
    columns: dict[int, int] = {}
    for match in matches:
        if match.first_line not in shown:
            continue
        columns.setdefault(match.first_line, match.start - text.rfind(newline, 0, match.start) - 1)
        last = min(match.last_line, match.first_line + LINES_OF_MATCH - 1)
        for number in range(match.first_line, last + 1):
            lines[number] = rows[number - 1].removesuffix("\r")
    return FileHits(
        name=file.name, matched=starts[:cap], lines=lines, starts=columns, tag=None, capped=len(starts) > cap
    )


def _report(
    scope: SourceScope, reading: FileReadReport, hits: list[FileHits], total: int, skip: int
) -> ToolOutput:
    page = render(hits, before=0, after=LINES_OF_MATCH - 1, single=scope.single)
    matching = sum(len(file.matched) for file in hits)
    shown = sum(page.matches.values())
    capped = [file.name for file in hits if file.capped]
    cap = MATCHES_IN_ONE_FILE if scope.single else MATCHES_PER_FILE
    more = total > skip + PAGE_FILES
    notes: list[str] = []
    if shown < matching:
        notes.append(f"Showing {shown} of {matching} matches that fit; narrow the search")
    if capped:
        notes.append(f"Only the first {cap} matches of {list_names(capped)}")
    if more:
        last = skip + PAGE_FILES
        notes.append(f"Files {skip + 1}-{last} of {total} matching. Use skip={last} for the next page")
    notes += scope_notes(scope, reading)
    text = page.text or no_matches(total, skip)
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
        meta=UNSET if page.truncation is None else OutputMeta(truncation=page.truncation),
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
        notes.append(path_arguments.missing_note(scope.missing))
    return notes
