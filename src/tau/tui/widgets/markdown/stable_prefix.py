"""Finds the stable prefix of a growing text, which later text cannot change, even inside a long paragraph."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tau.tui.widgets.markdown.limits import LONG_CHARS, PARAGRAPH_CHARS, PIECE_CHARS, SAMPLE_ROWS
from tau.tui.widgets.markdown.resume_point import (
    HIDDEN,
    HTML_HEAD_LINES,
    BlockRange,
    NestingLevel,
    PartialBlock,
    ResumePoint,
    opening_lines,
)

if TYPE_CHECKING:
    from tau.tui.widgets.markdown.parse import BlockNode


_TRIES = 16


class ParagraphChunk(NamedTuple):
    """A part [start, end) of a paragraph's text."""

    start: int
    end: int
    join: str = ""
    """The separator before it: a newline, a space, or nothing."""


def split_paragraph(text: str, start: int = 0) -> list[ParagraphChunk]:
    """Split a long text into pieces, so that a growing one is never parsed as a whole.

    A short text is one piece. With a `start`, the text is the rest of a long one.

    The end of a piece depends only on the text from its start to slightly past its end, not on how much more
    has arrived.
    """
    chunks: list[ParagraphChunk] = []
    join = ""
    while len(text) - start > (2 * PIECE_CHARS if start else PARAGRAPH_CHARS):
        end, following, next_join = _end_of_piece(text, start)
        chunks.append(ParagraphChunk(start, end, join))
        start, join = following, next_join
    chunks.append(ParagraphChunk(start, len(text), join))
    return chunks


def _end_of_piece(text: str, start: int) -> tuple[int, int, str]:
    limit = start + PIECE_CHARS
    for sign in ("\n", " "):
        least = start + PIECE_CHARS // 2
        at = text.rfind(sign, least, limit + 1)
        first = at
        for _ in range(_TRIES):
            if at < 0 or is_closed(text[start:at]):
                break
            at = text.rfind(sign, least, at)
        at = at if at >= 0 else first
        if at >= 0:
            end = at
            while end > start and text[end - 1] in " \\":
                end -= 1
            if text[at + 1] == "\n":
                return end, at + 2, "\n"
            return end, at + 1, sign
    return limit, limit, ""


def is_closed(text: str) -> bool:
    """Whether no emphasis, code or link seems to be open at the end."""
    return (
        text.count("`") % 2 == 0
        and text.count("**") % 2 == 0
        and text.count("[") == text.count("]")
        and text.count("](") <= text.count(")")
    )


class StablePrefix(NamedTuple):
    """The finished part of a text."""

    line: int
    """Lines before this one are finished."""
    place: ResumePoint
    leaf: "BlockNode | None" = None
    """The enclosing leaf block, if the cut is inside one."""
    offset: int = 0
    """How much of a paragraph's text is finished."""


def find_stable_prefix(
    blocks: Sequence[BlockRange], place: ResumePoint, enough: int, size_from: Callable[[int], int]
) -> StablePrefix | None:
    """Find the longest prefix that later text cannot change; None if there is none.

    Descends into the last block only while more than `enough` characters follow the cut found so far.
    """
    best: StablePrefix | None = None
    path: tuple[NestingLevel, ...] = ()
    around: BlockRange | None = None
    columns = 0
    while blocks:
        last = blocks[-1]
        at = len(blocks) - 1
        if at and blocks[at - 1].node.kind == "definition" and blocks[at - 1].node.end == last.node.start:
            at -= 1  # text after a definition may still become its title
        was_shown = place.was_shown if around is None else around.is_continued
        was_shown = was_shown or any(block.node.kind != "definition" for block in blocks[:at])
        if at and (was_shown or around is None):
            here = ResumePoint(path, blocks[at].gap, was_shown, head=opening_lines(path))
            if last.node.kind == "list" and last is blocks[at] and last.children:
                here = here._replace(gap=last.children[0].gap)
            best = StablePrefix(blocks[at].node.start, here)
        if best and size_from(best.line) <= enough:
            break
        if last.node.kind == "list":
            item = last.children[-1]
            if len(last.children) > 1:
                number = -1 if item.number is None else item.number
                best = StablePrefix(
                    item.node.start, ResumePoint(path, item.gap, True, number, head=opening_lines(path))
                )
            level = NestingLevel("item", item.node.indent - columns, item.node.markup, item.number, item.task)
            path, columns, around, blocks = (*path, level), item.node.indent, item, item.children
        elif last.node.kind == "quote":
            path, columns, around, blocks = (*path, NestingLevel("quote")), 0, last, last.children
        else:
            return _leaf_cut(last, path, place) or best
    return best


def _leaf_cut(block: BlockRange, path: tuple[NestingLevel, ...], place: ResumePoint) -> StablePrefix | None:
    node = block.node
    if node.kind == "fence":
        count = node.content.count("\n")
        begin = node.start + 1
        is_whole = node.content.endswith("\n")
        if not count or node.end - begin > count + (not is_whole):  # the closing line has arrived
            return None
        # Without the language: that line and the next one must never look like a table header.
        return _rest_cut(node, begin + count, path, "fence", " " * node.indent + node.markup)
    if node.kind == "code" and node.end - node.start > 1:
        return _rest_cut(node, node.end - 1, path, "code")
    if node.kind == "html" and node.end - node.start > HTML_HEAD_LINES + 1:
        opening = node.content.split("\n", 1)[0].lstrip()
        return _rest_cut(node, node.end - 1, path, "html", opening, HIDDEN)
    if node.kind == "table":
        rows = node.children[1:]
        if len(rows) > (1 if block.is_continued else SAMPLE_ROWS):
            title = "|" + " x |" * len(node.cells)
            return _rest_cut(node, rows[-1].start, path, "table", title, title.replace(" x ", "---"))
    if node.kind == "paragraph":
        return _paragraph_cut(block, path, place)
    return None


def _rest_cut(
    node: "BlockNode", line: int, path: tuple[NestingLevel, ...], kind: str, *inside: str
) -> StablePrefix:
    return StablePrefix(
        line,
        ResumePoint(path, rest=PartialBlock(kind), was_shown=True, head=opening_lines(path, inside)),
        node,
    )


def _paragraph_cut(
    block: BlockRange, path: tuple[NestingLevel, ...], place: ResumePoint
) -> StablePrefix | None:
    node = block.node
    text = node.content
    last_line = text.rfind("\n") + 1
    # The last line may still become a table header, unless it is too long.
    is_certain = len(text) - last_line > LONG_CHARS or (
        not last_line and block.is_continued and place.is_in_line
    )
    certain = text if is_certain else text[: max(last_line - 1, 0)]
    piece = split_paragraph(certain, len(HIDDEN) + 1 if block.is_continued else 0)[-1]
    if not piece.join and piece.start <= len(HIDDEN) + 1:
        return None
    line = node.start + text.count("\n", 0, piece.start)
    starts_line = piece.join == "\n"
    head = opening_lines(path, [HIDDEN] if starts_line else [])
    rest = PartialBlock("paragraph", join=piece.join)
    place = ResumePoint(path, rest=rest, was_shown=True, head=head, is_in_line=not starts_line)
    return StablePrefix(line, place, node, piece.start)
