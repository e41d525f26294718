"""Applies hunks to a text: numbers refer to the original, and bytes outside hunks are unchanged."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from tau.hashline.errors import ApplyError
from tau.hashline.lines import NumberedLines
from tau.hashline.mismatch import context_rows
from tau.hashline.records import (
    BLOCK_KINDS,
    BlockResolver,
    Hunk,
    LineChange,
    LineSpan,
    ResolvedBlock,
    count_lines,
)

# The order of insertions in one place, regardless of the order of their hunks.
_RANK_HEAD, _RANK_AFTER, _RANK_BEFORE, _RANK_TAIL = range(4)


class ResolvedHunks(Struct, frozen=True):
    """Hunks as sorted changes of one text, and the blocks they resolved to."""

    changes: tuple[LineChange, ...]
    blocks: tuple[ResolvedBlock, ...] = ()


def resolve(
    hunks: Iterable[Hunk],
    path: str,
    lines: NumberedLines,
    resolver: BlockResolver | None,
) -> ResolvedHunks:
    """Resolve hunks against this text. Raises ApplyError."""
    changes: list[LineChange] = []
    blocks: list[ResolvedBlock] = []
    for hunk in hunks:
        change, block = _resolve(hunk, path, lines, resolver)
        changes.append(change)
        if block is not None:
            blocks.append(block)
    ordered = sort_changes(changes)
    refuse_overlaps(ordered)
    return ResolvedHunks(tuple(ordered), tuple(blocks))


def sort_changes(changes: Iterable[LineChange]) -> list[LineChange]:
    """Sort by line; an insertion comes before the replaced lines after it."""
    return sorted(changes, key=lambda change: (change.first, not change.inserts, change.rank))


def refuse_overlaps(changes: Sequence[LineChange]) -> None:
    overlap = _find_overlap(changes)
    if overlap is not None:
        change, other, anchor = overlap
        raise ApplyError(
            f"anchor line {anchor} is already targeted by another hunk on line {other.line}. Write ONE hunk "
            "per range; its body is the final content only, never a before and after.",
            line=change.line,
        )


def apply(lines: NumberedLines, changes: Sequence[LineChange]) -> str:
    """Apply all changes. They must be sorted, within the text, and not overlap."""
    text = lines.text
    pieces: list[str] = []
    position = 0
    for change in changes:
        if change.rows and not change.inserts:
            change = trim_change(lines, change)
        start = lines.start(change.first)
        end = start if change.inserts else lines.start(change.last + 1)
        pieces.append(text[position:start])
        position = end
        if not change.rows:
            continue
        if not change.inserts:
            pieces.append(_replacement(lines, change, text[start:end]))
        elif start < len(text) or not text:
            ending = lines.end_near(max(change.first - 1, 1))
            pieces.append(ending.join(change.rows) + ending)
        else:
            before = next((piece for piece in reversed(pieces) if piece), "")
            pieces.append(_appended(lines, change, before))
    pieces.append(text[position:])
    result = "".join(pieces)
    deletes_end = changes and not changes[-1].inserts and changes[-1].last == lines.count
    if deletes_end and not changes[-1].rows and lines.ends_open:
        return _without_final_end(result, lines.separator)
    return result


def _without_final_end(text: str, separator: str) -> str:
    """A text without a final line end stays without one, unless its last line would be lost."""
    line = text.removesuffix(separator)
    if separator == "\n":
        line = line.removesuffix("\r")
    return text if not line or line.endswith(separator) else line


def trim_change(lines: NumberedLines, change: LineChange) -> LineChange:
    """Remove rows at both ends of a change that equal the text."""
    old, new = lines.rows(change.first, change.last), change.rows
    most = min(len(old), len(new))
    top = 0
    while top < most and old[top] == new[top]:
        top += 1
    bottom = 0
    while bottom < most - top and old[-1 - bottom] == new[-1 - bottom]:
        bottom += 1
    rows = new[top : len(new) - bottom]
    return replace(change, first=change.first + top, last=change.last - bottom, rows=rows)


def _resolve(
    hunk: Hunk, path: str, lines: NumberedLines, resolver: BlockResolver | None
) -> tuple[LineChange, ResolvedBlock | None]:
    if hunk.kind == "insert head":
        return LineChange(1, 0, hunk.rows, hunk.line, 0, _RANK_HEAD), None
    if hunk.kind == "insert tail":
        count = lines.count
        return LineChange(count + 1, count, hunk.rows, hunk.line, 0, _RANK_TAIL), None
    for number in (hunk.first, hunk.last):
        if not lines.has(number):
            raise ApplyError(
                f"Line {number} does not exist in {path} (file has {count_lines(lines.count)}).",
                line=hunk.line,
            )
    if hunk.kind in BLOCK_KINDS:
        span = _resolve_block(hunk, path, lines, resolver)
        block = ResolvedBlock(hunk.header, span)
        if hunk.kind == "insert after block":
            return LineChange(span.last + 1, span.last, hunk.rows, hunk.line, span.last, _RANK_AFTER), block
        return LineChange(span.first, span.last, hunk.rows, hunk.line), block
    if hunk.kind == "insert before":
        return LineChange(hunk.first, hunk.first - 1, hunk.rows, hunk.line, hunk.first, _RANK_BEFORE), None
    if hunk.kind == "insert after":
        return LineChange(hunk.first + 1, hunk.first, hunk.rows, hunk.line, hunk.first, _RANK_AFTER), None
    return LineChange(hunk.first, hunk.last, hunk.rows, hunk.line), None


def _resolve_block(hunk: Hunk, path: str, lines: NumberedLines, resolver: BlockResolver | None) -> LineSpan:
    line = hunk.first
    span = None if resolver is None else resolver(path, lines.text, line)
    # A block that starts on another line is not the requested one.
    if span is not None and span.first == line <= span.last and lines.has(span.last):
        return span
    instead = {"replace block": f"replace {line}..M:", "delete block": f"delete {line}..M"}
    command = instead.get(hunk.kind, "insert after M:")
    colon = "" if hunk.kind == "delete block" else ":"
    why = (
        "Blocks cannot be found here."
        if resolver is None
        else "The language may be unsupported, the line blank or a closing delimiter, or the block broken."
    )
    shown = "\n".join(context_rows(lines, [line]))
    raise ApplyError(
        f"`{hunk.header}{colon}` could not find a syntactic block beginning on line {line} of {path}. {why} "
        f"Use `{command}` with the block's last line as M instead.\n\n{shown}",
        line=hunk.line,
    )


def _find_overlap(changes: Sequence[LineChange]) -> tuple[LineChange, LineChange, int] | None:
    """A later hunk, the earlier one it conflicts with, and their common line."""
    ranges = sorted((change for change in changes if not change.inserts), key=lambda change: change.first)
    for one, other in pairwise(ranges):
        if other.first <= one.last:
            earlier, later = sorted((one, other), key=lambda change: change.line)
            return later, earlier, other.first
    starts = [change.first for change in ranges]
    for change in changes:
        if not change.inserts:
            continue
        place = bisect_right(starts, change.first) - 1
        # An insertion right before or after replaced lines is unambiguous, one between them is not.
        if place >= 0 and ranges[place].first < change.first <= ranges[place].last:
            earlier, later = sorted((change, ranges[place]), key=lambda change: change.line)
            return later, earlier, change.anchor
    return None


def _replacement(lines: NumberedLines, change: LineChange, old: str) -> str:
    """New rows with the line ends of the replaced lines; the last row gets that of the last line."""
    rows = change.rows
    last_end = lines.end_of(change.last)
    if not last_end and not rows[-1]:
        last_end = lines.end_near(change.last)  # without a line end, a blank last line does not exist
    crlf = old.count("\r\n") if lines.separator == "\n" else 0
    if crlf == 0 or crlf == old.count("\n"):
        inner = lines.end_near(change.first)
        return inner.join(rows) + last_end
    pieces = []
    for index, row in enumerate(rows[:-1]):
        pieces += [row, lines.end_near(min(change.first + index, change.last))]
    return "".join([*pieces, rows[-1], last_end])


def _appended(lines: NumberedLines, change: LineChange, before: str) -> str:
    """Rows after the last line; a text without a final line end stays without one."""
    ending = lines.end_near(change.first - 1)
    opening = ending if before and not before.endswith(lines.separator) else ""
    closing = ending if not lines.ends_open or not change.rows[-1] else ""
    return opening + ending.join(change.rows) + closing
