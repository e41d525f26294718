"""The `replace` edit mode: replace a text in a file, matched exactly or, with a note, approximately."""

from pathlib import Path

from msgspec import Struct

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.change import FileChange, update
from tau.coding.edits.exact_match import MAX_SPANS, drop_overlaps, find, line_at, replacements
from tau.coding.edits.lines import line_numbers
from tau.coding.edits.source import FileSource, text_of
from tau.coding.edits.splices import Splice
from tau.coding.edits.transaction import Guard, WrittenChange, change_files
from tau.coding.files.paths import real

fuzzy_match = late("tau.coding.edits.fuzzy_match")
not_found = late("tau.coding.edits.not_found")

MAX_PLACES = 20
THRESHOLD = 0.95


class Replacement(Struct, frozen=True):
    """`fuzzy` allows a single approximate match with a similarity of at least `threshold`."""

    old: str
    new: str
    replace_all: bool = False
    fuzzy: bool = True
    threshold: float = THRESHOLD


class ReplaceMatch(Struct, frozen=True):
    """The matches as splices; `notes` describe the differences of an approximate match."""

    splices: list[Splice]
    notes: tuple[str, ...] = ()


async def replace_text(
    path: Path, wanted: Replacement, ctx: ToolContext, *, guard: Guard | None = None
) -> WrittenChange:
    """Edit one file. Raises ToolError and leaves the file unchanged on failure."""
    check(wanted)
    key = real(path)
    [written] = await change_files(
        [path], lambda sources: [change_of(sources[key], wanted)], ctx, guard=guard
    )
    return written


def check(wanted: Replacement) -> None:
    """Validate a call regardless of the file. Raises ToolError."""
    if not wanted.old:
        raise ToolError("`old_text` is empty; quote the text to replace, or use write for a new file.")
    if wanted.old == wanted.new:
        raise ToolError("`old_text` and `new_text` are the same; nothing to change.")


def change_of(source: FileSource, wanted: Replacement) -> FileChange:
    """Compute the change; every byte outside the match is preserved."""
    decoded = text_of(source)
    found = match(decoded.text, wanted, source.name)
    if all(decoded.text[one.start : one.end] == one.text for one in found.splices):
        raise ToolError("`old_text` and `new_text` differ only in line endings, which edits preserve.")
    return update(source, decoded, found.splices, found.notes)


def match(text: str, wanted: Replacement, name: str) -> ReplaceMatch:
    """Find the text, exactly or approximately. Raises ToolError if it is missing or ambiguous."""
    spans = find(text, wanted.old)
    if not spans:
        almost = fuzzy_match.match(text, wanted, name) if wanted.fuzzy else None
        if almost is not None:
            return almost
        reason = not_found.why_not_found(text, wanted.old)
        raise ToolError(f"`old_text` was not found in {name}. {reason}")
    if len(spans) > MAX_SPANS:
        raise ToolError(f"`old_text` occurs over {MAX_SPANS} times in {name}; use bash, for example sed.")
    if len(spans) > 1 and not wanted.replace_all:
        lines = line_numbers([line_at(text, span.start) - 1 for span in spans[:MAX_PLACES]])
        more = f" and {len(spans) - MAX_PLACES} more" if len(spans) > MAX_PLACES else ""
        raise ToolError(
            f"`old_text` occurs {len(spans)} times in {name}, at lines {lines}{more}. "
            "Quote more context to pick one, or set `replace_all`."
        )
    spans = drop_overlaps(spans)
    times = (f"`old_text` was replaced in {len(spans)} places.",) if len(spans) > 1 else ()
    return ReplaceMatch(replacements(text, spans, wanted.new), times)
