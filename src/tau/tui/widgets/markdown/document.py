"""A growing Markdown text: finished parts are parsed once, only the end is parsed again."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from tau.base.late import late
from tau.tui.text.clean import clean_line
from tau.tui.widgets.markdown.build import Builder
from tau.tui.widgets.markdown.inline import Inline, MarkdownStyle
from tau.tui.widgets.markdown.layout import CodeShape, Shape
from tau.tui.widgets.markdown.limits import LINE_CHARS, PARAGRAPH_CHARS, PIECE_CHARS, SETTLE_CHARS
from tau.tui.widgets.markdown.resume_point import HIDDEN, BlockRange, ResumePoint, locate_blocks
from tau.tui.widgets.markdown.stable_prefix import StablePrefix, find_stable_prefix

base_text = late("tau.base.text")
parser = late("tau.tui.widgets.markdown.parse")

_MARKS = r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*"
Definitions = Mapping[str, Mapping[str, str]]


@cache
def _undecided() -> re.Pattern[str]:
    return re.compile(
        rf"{_MARKS}(?:"
        r"[-+*=_#|:~`>\s]*"  # markers of lists, headings, rules, tables, fences
        r"|\d{1,9}[.)]?"  # the number of an item
        r"|\[[ xX]?\]?\s*"  # a task's checkbox
        r"|(?:`{3}|~{3}).*"  # a fence, until its line is complete
        r"|\[[^\]]*\]:.*"  # a link definition
        r")"
    )


def is_undecided(line: str) -> bool:
    """Whether a line beginning is still ambiguous, and so not shown until more of it arrives."""
    return len(line) <= 200 and _undecided().fullmatch(line) is not None


class MarkdownDocument:
    """Turns text into shapes: `settle` returns final ones, `ending` the rest."""

    def __init__(
        self, options: MarkdownStyle, definitions: Definitions | None = None, settle_chars: int = SETTLE_CHARS
    ) -> None:
        self._inline = Inline(options)
        self._inline.references.update(definitions or {})
        self._settle_chars = settle_chars
        self._place = ResumePoint()
        self._arrived: list[str] = []
        self._lines: list[str] = []
        """The complete lines since the resume point."""
        self._partial = ""
        """The beginning of the next line."""
        self._size = 0
        self._enough_size = settle_chars
        """Finished blocks are searched for beyond this size."""
        self._known_at_bracket: int | None = None
        """How many definitions were known when the first possible link was settled."""

    @property
    def definitions(self) -> Definitions:
        """The link definitions found so far."""
        return self._inline.references

    @property
    def has_late_definitions(self) -> bool:
        """Whether a link may have been rendered as plain text because its definition came later."""
        known = self._known_at_bracket
        return known is not None and known < len(self._inline.references)

    def feed(self, text: str) -> None:
        self._arrived.append(text)

    def settle(self) -> list[Shape]:
        """Return the shapes finished since the last call."""
        self._take_lines()
        settled: list[Shape] = []
        while self._size > self._enough_size:
            shapes = self._settled()
            if shapes is None:
                self._enough_size = self._size + self._settle_chars
                break
            settled += shapes
            self._enough_size = self._settle_chars
        return settled

    def ending(self) -> list[Shape]:
        """Return the shapes of the rest so far."""
        lines = [*self._place.head, *self._lines]
        if self._partial and not is_undecided(self._partial):
            lines.append(clean_markdown_line(self._partial))
        return self._shapes(lines, Builder(self._inline, self._place.rest, open_line=len(lines)))

    def finish(self) -> list[Shape]:
        """Return the shapes of the rest at the end of the text."""
        lines = [*self._place.head, *self._lines, clean_markdown_line(self._partial)]
        return self._shapes(lines, Builder(self._inline, self._place.rest, is_final=True), is_last=True)

    def _shapes(self, lines: Sequence[str], builder: Builder, *, is_last: bool = False) -> list[Shape]:
        """Build the shapes of the rest; fall back to plain lines if the parser fails."""
        blocks = self._blocks(lines)
        if blocks is None:
            return [CodeShape([clean_line(line) for line in lines[len(self._place.head) :]], self._place.gap)]
        if is_last:
            self._note(blocks, len(lines))
        return builder.shapes(blocks)

    def _take_lines(self) -> None:
        """Split new text into lines."""
        if not self._arrived:
            return
        text = self._partial + "".join(self._arrived)
        self._arrived.clear()
        if "\r" in text:
            end = "\r" if text.endswith("\r") else ""  # possibly half a line end
            text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n") + end
        *lines, self._partial = text.split("\n")
        self._lines += [clean_markdown_line(line) for line in lines]
        self._measure()

    def _measure(self) -> None:
        self._size = size_of(self._lines)
        if self._has_long_partial():
            self._size += len(self._partial)

    def _has_long_partial(self) -> bool:
        """Whether a partial line is so long that the rest cannot change its kind."""
        is_rest = self._place.is_in_line and not self._lines
        least = 2 * PIECE_CHARS if is_rest else PARAGRAPH_CHARS
        return len(self._partial) > least and clean_markdown_line(self._partial) == self._partial

    def _blocks(self, lines: Sequence[str]) -> Sequence[BlockRange] | None:
        try:
            place = self._place
            nodes = parser.parse_blocks("\n".join(lines), place.continued_line(lines), place.nesting)
        except Exception:  # a parser failure must not stop a frame
            return None
        return locate_blocks(nodes, lines, self._place)

    def _settled(self) -> list[Shape] | None:
        lines = [*self._place.head, *self._lines]
        if self._has_long_partial():
            lines.append(self._partial)
        blocks = self._blocks(lines)
        if blocks is None:
            return None
        cut = find_stable_prefix(
            blocks, self._place, self._settle_chars, lambda first: size_of(lines[first:])
        )
        if cut is None:
            return None
        self._note(blocks, cut.line)
        builder = Builder(self._inline, self._place.rest, cut=cut, is_final=True)
        shapes = builder.shapes(blocks)
        if self._known_at_bracket is None and any("[" in line for line in lines[: cut.line + 1]):
            self._known_at_bracket = len(self._inline.references)
        self._go_to(cut, builder, lines)
        return shapes

    def _go_to(self, cut: StablePrefix, builder: Builder, lines: list[str]) -> None:
        """Continue parsing at the cut."""
        first = cut.line - len(self._place.head)
        self._place = cut.place if builder.new_rest is None else cut.place._replace(rest=builder.new_rest)
        if self._place.is_in_line and cut.leaf:
            text = cut.leaf.content[cut.offset :].partition("\n")[0].rstrip()
            line = lines[cut.line]
            left = line[len(line.rstrip()) - len(text) :]
            prefix = "".join([level.continuation() for level in self._place.path])
            patched = f"{prefix}{HIDDEN} {left}"
            if first >= len(self._lines):
                self._partial = patched
            else:
                self._lines[first] = patched
        del self._lines[:first]
        self._measure()

    def _note(self, blocks: Sequence[BlockRange], end: int) -> None:
        """Collect the link definitions before a line."""
        references = self._inline.references
        for block in blocks:
            node = block.node
            if node.start >= end:
                break
            if node.kind == "definition" and node.info not in references:
                references[node.info] = {"href": node.content, "title": ""}
                self._inline.forget()
            elif block.children:
                self._note(block.children, end)


def size_of(lines: Sequence[str]) -> int:
    """Return the size of these lines, weighted by the space they take."""
    return sum([max(len(line), LINE_CHARS) for line in lines])


def clean_markdown_line(line: str) -> str:
    """Remove terminal controls from a line; tabs stay, since they matter in Markdown."""
    return line if line.isprintable() else base_text.plain(line)
