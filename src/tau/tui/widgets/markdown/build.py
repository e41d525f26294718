"""Builds shapes from blocks: styles the texts once for all widths."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.tui.text.clean import clean, clean_line
from tau.tui.text.width import visible_width
from tau.tui.widgets.highlight import Highlighter
from tau.tui.widgets.markdown.inline import Inline, MarkdownStyle
from tau.tui.widgets.markdown.layout import (
    BoxShape,
    CodeShape,
    Columns,
    RuleShape,
    Shape,
    TableShape,
    TextShape,
)
from tau.tui.widgets.markdown.limits import PARAGRAPH_CHARS, SAMPLE_ROWS
from tau.tui.widgets.markdown.resume_point import (
    HIDDEN,
    HTML_HEAD_LINES,
    TASK_CHARS,
    BlockRange,
    PartialBlock,
)
from tau.tui.widgets.markdown.stable_prefix import StablePrefix, is_closed, split_paragraph

if TYPE_CHECKING:
    from tau.tui.widgets.markdown.parse import BlockNode

_CODE_INDENT = "  "
_MAX_LANGUAGE_CHARS = 40


class Builder:
    """Builds the shapes of one parse: of finished blocks, or of the text so far."""

    def __init__(
        self,
        inline: Inline,
        rest: PartialBlock | None,
        *,
        cut: StablePrefix | None = None,
        is_final: bool = False,
        open_line: int = -1,
    ) -> None:
        self._inline = inline
        self._options: MarkdownStyle = inline.options
        self._rest = rest
        self._cut = cut
        self._is_final = is_final
        """The shapes are final, and so is code highlighting."""
        self._open_line = open_line
        """A block that ends at this line may still grow; -1 if none."""
        self._task: BlockNode | None = None
        """The paragraph that begins with a task's checkbox."""
        self.new_rest: PartialBlock | None = None
        """State of the block that was cut."""

    def shapes(self, blocks: Sequence[BlockRange], tokens: tuple[str, ...] = ()) -> list[Shape]:
        """Build the shapes of blocks, up to the cut; `tokens` style their texts."""
        shapes: list[Shape] = []
        for block in blocks:
            node = block.node
            if self._cut and node.start >= self._cut.line and node is not self._cut.leaf:
                break
            match node.kind:
                case "list":
                    shapes += self._items(block.children, tokens)
                case "quote":
                    shapes += self._quote(block, tokens)
                case "paragraph":
                    shapes += self._paragraph(block, tokens)
                case "heading":
                    shapes.append(self._heading(block, tokens))
                case "fence" | "code":
                    shapes.append(self._code(block))
                case "html":
                    shapes.append(self._html(block))
                case "table":
                    shapes.append(self._table(block, tokens))
                case "rule":
                    shapes.append(RuleShape(block.gap))
        return shapes

    def _is_open(self, node: "BlockNode") -> bool:
        return node.end == self._open_line

    def _items(self, items: Sequence[BlockRange], tokens: tuple[str, ...]) -> list[Shape]:
        shapes: list[Shape] = []
        for item in items:
            if self._cut and item.node.start >= self._cut.line:
                break
            mark = self._mark(item)
            blank = " " * (visible_width(mark) + 1)
            first = blank if item.is_continued else f"{self._options.theme['listMark'](mark)} "
            if item.task and not item.is_continued:
                self._task = item.children[0].node
            children = self.shapes(item.children, tokens)
            if children or not item.is_continued:
                shapes.append(BoxShape(children, item.gap, first, blank))
        return shapes

    def _mark(self, item: BlockRange) -> str:
        theme = self._options.theme
        if item.task:
            if theme.linear:
                return "Done:" if item.task == "x" else "To do:"
            return theme.symbols.checkbox_on if item.task == "x" else theme.symbols.checkbox_off
        if item.number is not None:
            return f"{item.number}{item.node.markup}"
        return "-" if theme.linear else theme.symbols.bullet

    def _quote(self, block: BlockRange, tokens: tuple[str, ...]) -> list[Shape]:
        theme = self._options.theme
        children = self.shapes(block.children, (*tokens, "quote"))
        if block.is_continued and not children:
            return []
        if theme.linear:
            return [BoxShape(children, block.gap, title="" if block.is_continued else "Quote:")]
        bar = f"{theme['quoteBorder'](theme.symbols.quote)} "
        return [BoxShape(children, block.gap, bar, bar)]

    def _heading(self, block: BlockRange, tokens: tuple[str, ...]) -> Shape:
        node = block.node
        level = int(node.info)
        text = self._inline.styled(node.content, (*tokens, "heading"), is_open=self._is_open(node))
        theme = self._options.theme
        if theme.linear:
            text = f"Heading {level}: {text}"
        elif level > 2:
            text = f"{theme['heading']('#' * level)} {text}"
        return TextShape(text, block.gap)

    def _paragraph(self, block: BlockRange, tokens: tuple[str, ...]) -> list[Shape]:
        node, content = block.node, block.node.content
        hidden = TASK_CHARS if node is self._task else 0
        end = len(content)
        is_cut = self._cut is not None and node is self._cut.leaf
        if is_cut and self._cut:
            end = self._cut.offset
            self.new_rest = self._cut.place.rest
        if len(content) <= PARAGRAPH_CHARS and not block.is_continued and not is_cut:
            text = self._inline.styled(content[hidden:], tokens, is_open=self._is_open(node))
            return [TextShape(text, block.gap, is_unsure=self._is_unsure(content))]
        first_join = self._rest.join if block.is_continued and self._rest else None
        return self._pieces(block, end, is_cut, first_join, tokens)

    def _pieces(
        self, block: BlockRange, end: int, is_cut: bool, join: str | None, tokens: tuple[str, ...]
    ) -> list[Shape]:
        """Build the pieces of a long paragraph, up to `end`."""
        node, content = block.node, block.node.content
        start = len(HIDDEN) + 1 if block.is_continued else 0
        parts = [part for part in split_paragraph(content, start) if part.start < end]
        shapes: list[Shape] = []
        for at, part in enumerate(parts):
            is_last = at == len(parts) - 1
            text = content[part.start : part.end].strip()
            if not part.start and node is self._task:
                text = text[TASK_CHARS:]
            following = parts[at + 1].join if not is_last else self._join_after(is_cut)
            styled = self._inline.styled(text, tokens, is_open=is_last and self._is_open(node))
            before = self._row_join(join if at == 0 else part.join)
            is_joined = self._row_join(following) is not None
            unsure = self._is_unsure(text)
            shapes.append(TextShape(styled, block.gap and at == 0, before, is_joined, unsure))
        return shapes

    def _is_unsure(self, content: str) -> bool:
        """Whether markup seems to be open, or the last line may become the header of a table."""
        return not self._is_final and (not is_closed(content) or "|" in content[content.rfind("\n") + 1 :])

    def _join_after(self, is_cut: bool) -> str | None:
        return self._cut.place.rest.join if is_cut and self._cut and self._cut.place.rest else None

    def _row_join(self, join: str | None) -> str | None:
        """Return what joins two pieces in a row; None if the second begins a new row."""
        if join == "\n":
            return " " if self._options.join_lines else None
        return join

    def _code(self, block: BlockRange) -> Shape:
        node, theme = block.node, self._options.theme
        language = _language(node.info)
        lines = node.content.removesuffix("\n").split("\n") if node.content else []
        code = self._rest.code if block.is_continued and self._rest else None
        if self._cut and node is self._cut.leaf:
            lines = lines[: self._cut.line - node.start - (node.kind == "fence")]
            code = code or Highlighter(language, theme)
            self.new_rest = PartialBlock(node.kind, code=code)
            shown = code.feed(lines)
            is_closed = False
        else:
            is_closed = node.kind == "fence" and node.end - node.start - 1 > len(lines)
            code = code or Highlighter(language, theme)
            shown = [*code.feed(lines), *code.flush()] if self._is_final else code.peek(lines)
        title, end = "", ""
        if theme.linear:
            title = f"Code, {language}:" if language else "Code:"
            end = "End of code." if is_closed else ""
        elif language:
            title = theme["codeBorder"](language)
        if block.is_continued:
            title = ""
        elif not shown and not title:
            shown = [""]
        return CodeShape(shown, block.gap, "" if theme.linear else _CODE_INDENT, title, end)

    def _html(self, block: BlockRange) -> Shape:
        node = block.node
        lines = node.content.removesuffix("\n").split("\n")
        if self._cut and node is self._cut.leaf:
            lines = lines[: self._cut.line - node.start]
            self.new_rest = self._cut.place.rest
        if block.is_continued:
            lines = lines[HTML_HEAD_LINES:]
        style = self._options.theme["muted"]
        return CodeShape([style(clean(line).rstrip()) for line in lines], block.gap)

    def _table(self, block: BlockRange, tokens: tuple[str, ...]) -> Shape:
        titles, *body = block.node.children
        rest = self._rest if block.is_continued else None
        if self._cut and block.node is self._cut.leaf:
            body = [row for row in body if row.start < self._cut.line]
        rows = [
            [self._inline.styled(cell, tokens, is_open=self._is_open(row)) for cell in row.cells]
            for row in body
        ]
        if rest is not None and rest.columns is not None:
            columns, first_row = rest.columns, rest.shown_rows
        else:
            styled = [self._inline.styled(cell, (*tokens, "strong")) for cell in titles.cells]
            grows = self._cut is not None and block.node is self._cut.leaf
            columns, first_row = Columns(styled, block.node.cells, rows[:SAMPLE_ROWS], grows=grows), 0
        if self._cut and block.node is self._cut.leaf:
            self.new_rest = PartialBlock("table", columns=columns, shown_rows=first_row + len(rows))
        return TableShape(columns, rows, block.gap, first_row)


def _language(info: str) -> str:
    """Return the language in the first line of a fence; "" if there is none."""
    words = clean_line(info).strip("{} ").removeprefix(".").split()
    return words[0].partition(":")[0].rstrip(",}")[:_MAX_LANGUAGE_CHARS] if words else ""
