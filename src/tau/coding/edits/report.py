"""The result of an edit: a few lines per file for the model, the diff for users."""

from collections.abc import Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from tau.agent.output import ToolOutput
from tau.base.text import show_escaped
from tau.coding.edits.change import FileChange, summary
from tau.coding.edits.transaction import WrittenChange
from tau.coding.files.paths import wire_path
from tau.coding.output import DiagnosticRow
from tau.coding.ports import CodingContext


class FileDetails(Struct, frozen=True, rename="camel", kw_only=True):
    path: str
    op: Literal["create", "update", "delete", "move"]
    diff: str
    first_changed_line: int | None
    added: int
    removed: int


class EditDetails(FileDetails, frozen=True, rename="camel", kw_only=True):
    """Details of one file; after a multi-file edit, `per_file_results` and `diff` cover all files."""

    warnings: list[str] = []
    per_file_results: list[FileDetails] | UnsetType = UNSET
    diagnostics: list[DiagnosticRow] | UnsetType = UNSET


def remember(written: Sequence[WrittenChange], ctx: CodingContext) -> None:
    """Record that the model has seen these files in their new state."""
    for done in written:
        if done.stat is not None:
            ctx.snapshots.remember(done.change.target, done.stat)


def report(written: Sequence[WrittenChange], ctx: CodingContext, notes: Sequence[str] = ()) -> ToolOutput:
    """Write one sentence per file, then the notes on the patch as a whole."""
    remember(written, ctx)
    notes = [*notes, *(note for done in written for note in done.notes)]
    changes = [done.change for done in written]
    text = show_escaped("\n".join([*map(summary, changes), *notes]))
    return ToolOutput.text(text, details(changes, list(notes)))


def details(changes: Sequence[FileChange], warnings: list[str]) -> EditDetails:
    files = [
        FileDetails(
            path=wire_path(change.target),
            op=change.kind,
            diff=show_escaped(change.diff),
            first_changed_line=change.first_changed_line,
            added=change.added,
            removed=change.removed,
        )
        for change in changes
    ]
    return EditDetails(
        path=files[0].path,
        op=files[0].op,
        diff="".join(file.diff for file in files),
        first_changed_line=files[0].first_changed_line,
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
        warnings=warnings,
        per_file_results=files if len(files) > 1 else UNSET,
    )
