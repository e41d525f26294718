"""ast_edit: structural edits in many files, previewed first and written by `resolve`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import Stat
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import MIB
from tau.base.text import decode
from tau.coding.edits.file_locks import lock_files
from tau.coding.files.source_files import (
    CodeFile,
    FileReadReport,
    SourceScope,
    compute,
    scope_of,
)
from tau.coding.output import OutputLimits, OutputMeta, notice, truncate, with_notice
from tau.coding.pending_changes import PendingChange, PendingChanges
from tau.coding.ports import CodingContext
from tau.coding.tools.ast_grep import scope_notes
from tau.config.tool_settings import EditSettings

changes = late("tau.coding.edits.change")
generated = late("tau.coding.edits.generated")
patterns = late("tau.backends.syntax.patterns")
pattern_parser = late("tau.backends.syntax.pattern_parser")
splices = late("tau.coding.edits.splices")
syntax_worker = late("tau.backends.syntax.worker")
transactions = late("tau.coding.edits.transaction")
path_arguments = late("tau.coding.files.path_arguments")

MAX_OPS = 50
NAMED_FILES = 5  # per notice
MAX_CHANGED_FILES = 500
MAX_STAGED_BYTES = 64 * MIB

_State = Literal["preview", "applied", "unchanged"]


class Rewrite(Struct, frozen=True):
    pat: Annotated[str, Meta(title="Code with holes: $NAME, $$$NAME")]
    out: Annotated[str, Meta(title="Its replacement, with the same holes; empty to delete")]


class AstEditParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"path": "paths"}

    ops: Annotated[list[Rewrite], Meta(title="Replacements", min_length=1)]
    paths: Annotated[str | list[str], Meta(title="Files, directories or globs")]


class AstEditFile(Struct, frozen=True, rename="camel", kw_only=True):
    path: str
    replacements: int
    added: int
    removed: int
    diff: str
    broken: bool = False  # has a new syntax error


class AstEditDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`state` says whether the change is written. `refused` files have changed since the preview."""

    state: _State
    scope_path: str
    replacements: int
    files: list[AstEditFile]
    refused: list[str] | UnsetType = UNSET
    files_searched: int = 0
    missing_paths: list[str] | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class _Plan(Struct):
    """The pending changes and their diffs."""

    staged: "list[changes.FileChange]"
    files: list[AstEditFile]
    overlapping: int = 0
    size: int = 0
    guarded: list[str] = []  # why matching files are skipped


class AstEdit(Tool[AstEditParams]):
    name, label = "ast_edit", "Structural edit"
    exclusive = True

    def __init__(self, previews: PendingChanges, settings: EditSettings | None = None) -> None:
        self._previews = previews
        self._settings = settings or EditSettings()

    def effects(self, params: AstEditParams, cwd: Path) -> Effects:
        """Only reads: the call that applies the preview declares the writes."""
        entries = path_arguments.entries(params.paths, cwd)
        return Effects(reads=path_arguments.read_paths(entries))

    async def run(self, params: AstEditParams, ctx: CodingContext) -> ToolOutput:
        ops = _checked(params.ops)
        scope = await scope_of(params.paths, ctx)
        reading = FileReadReport()
        plan = _Plan([], [])
        guard = generated.guard_of(self._settings)
        words = [patterns.required_words(op.pat) for op in ops]
        async with syntax_worker.SyntaxWorker(ctx.helpers) as worker:
            async for file in reading.files(scope, words, ctx):
                usable = [op for op in ops if pattern_parser.is_code(op.pat, file.language)]
                rewritten = await worker.rewrite(usable, file.decoded.text, file.language)
                await compute(file, partial(_stage, rewritten, plan, guard))
        if not plan.staged:
            for op in ops:
                pattern_parser.check_any(op.pat, sorted(reading.languages))
            details = _details("unchanged", scope, reading, plan)
            nothing = [f"[{note}]" for note in scope_notes(scope, reading)]
            return ToolOutput.text(with_notice("No matches found", "\n".join(nothing)), details)
        if reading.timed_out:
            raise ToolError("Reading all files took too long; nothing was prepared. Narrow `paths`.")
        replaced = self._previews.propose(_preview(plan, scope, reading))
        return _report_preview(plan, scope, reading, replaced)


def _checked(ops: Sequence[Rewrite]) -> "list[patterns.PatternRewrite]":
    if len(ops) > MAX_OPS:
        raise ToolError(f"{len(ops)} ops are too many for one call; the limit is {MAX_OPS}.")
    seen: set[str] = set()
    for op in ops:
        pattern_parser.check_shape(op.pat)
        if op.pat.strip() in seen:
            raise ToolError(f"The pattern `{op.pat.strip()}` occurs twice; give each pattern one `out`.")
        seen.add(op.pat.strip())
    return [patterns.PatternRewrite(op.pat, op.out) for op in ops]


def _stage(
    rewritten: "syntax_worker.FileRewrite", plan: _Plan, guard: "transactions.Guard | None", file: CodeFile
) -> None:
    result = rewritten.result
    plan.overlapping += result.overlapping
    if result.text == file.decoded.text:
        return
    source = changes.FileSource(path=file.path, name=file.name, stat=file.stat, data=file.data)
    edits = [splices.Splice(edit.start, edit.end, edit.text) for edit in result.changes]
    change = changes.update(source, file.decoded, edits)
    plan.size += len(file.data) + len(change.new or b"")
    if len(plan.staged) == MAX_CHANGED_FILES or plan.size > MAX_STAGED_BYTES:
        raise ToolError(
            f"This would change more than {MAX_CHANGED_FILES} files or {MAX_STAGED_BYTES // MIB} MiB; "
            "do it folder by folder."
        )
    refusal = None if guard is None else guard(change)
    if refusal is not None:
        plan.guarded.append(refusal)
        return
    plan.staged.append(change)
    plan.files.append(
        AstEditFile(
            path=file.name,
            replacements=len(result.changes),
            added=change.added,
            removed=change.removed,
            diff=change.diff,
            broken=rewritten.breaks,
        )
    )


def _preview(plan: _Plan, scope: SourceScope, reading: FileReadReport) -> PendingChange:
    return PendingChange(
        title=f"structural edit, {_count(plan)}",
        paths=tuple(file.path for file in plan.staged),
        apply=partial(_apply, plan, scope, reading),
    )


async def _apply(plan: _Plan, scope: SourceScope, reading: FileReadReport, ctx: CodingContext) -> ToolOutput:
    async with lock_files([change.path for change in plan.staged]):
        unchanged = [change for change in plan.staged if await _stat(change.path, ctx) == change.stat]
        done = await transactions.apply_changes(unchanged, ctx) if unchanged else []
    for each in done:
        if each.stat is not None and each.change.new is not None:
            ctx.snapshots.remember(each.change.path, each.stat)
            ctx.snapshots.record(each.change.path, decode(each.change.new).text, own=True)
    refused = [change.name for change in plan.staged if change not in unchanged]
    written = _Plan(unchanged, [file for file in plan.files if file.path not in refused])
    details = _details("applied", scope, reading, written, refused=refused)
    names = ", ".join(refused[:NAMED_FILES]) + (" and others" if len(refused) > NAMED_FILES else "")
    note = f"Not changed, because modified since the preview: {names}. Run ast_edit again."
    if not done:
        raise ToolError(f"Nothing was written. {note}")
    return ToolOutput.text(f"Applied {_count(written)}." + (f" {note}" if refused else ""), details)


async def _stat(path: Path, ctx: CodingContext) -> Stat | None:
    try:
        return await ctx.fs.stat(path)
    except OSError:
        return None


def _report_preview(
    plan: _Plan, scope: SourceScope, reading: FileReadReport, replaced: PendingChange | None
) -> ToolOutput:
    cut = truncate("\n".join(file.diff.rstrip("\n") for file in plan.files), OutputLimits())
    broken = [file.path for file in plan.files if file.broken]
    notes = [notice(cut.truncation, more="resolve applies all of it")] if cut.truncation else []
    if broken:
        notes.append(f"[After this, {', '.join(broken[:NAMED_FILES])} would have a syntax error; check it]")
    if plan.overlapping:
        notes.append(f"[{plan.overlapping} nested matches are unchanged; run it again for them]")
    notes += [f"[{why}]" for why in plan.guarded[:NAMED_FILES]]
    if replaced is not None:
        notes.append(f"[The previous preview was dropped: {replaced.title}]")
    notes += [f"[{note}]" for note in scope_notes(scope, reading)]
    head = f"Preview of {_count(plan)}. Nothing is written yet; call resolve to apply or discard it."
    text = with_notice(f"{head}\n\n{cut.text}", "\n".join(notes))
    return ToolOutput.text(text, _details("preview", scope, reading, plan, meta=cut.meta))


def _details(
    state: _State,
    scope: SourceScope,
    reading: FileReadReport,
    plan: _Plan,
    *,
    refused: Sequence[str] = (),
    meta: OutputMeta | UnsetType = UNSET,
) -> AstEditDetails:
    return AstEditDetails(
        state=state,
        scope_path=scope.text,
        replacements=sum(file.replacements for file in plan.files),
        files=plan.files,
        refused=list(refused) or UNSET,
        files_searched=reading.searched,
        missing_paths=scope.missing or UNSET,
        meta=meta,
    )


def _count(plan: _Plan) -> str:
    places = sum(file.replacements for file in plan.files)
    files = len(plan.files)
    return f"{places} replacement{'s' * (places != 1)} in {files} file{'s' * (files != 1)}"
