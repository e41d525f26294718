"""Parses Markdown into blocks and inline tokens with markdown-it; imported on first use."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from markdown_it import MarkdownIt, rules_block
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from tau.tui.widgets.markdown.limits import LONG_CHARS, MAX_LEVEL, PARAGRAPH_CHARS

_Rule = Callable[[StateBlock, int, int, bool], bool]
Reference = Mapping[str, str]

_INTERRUPTS_TEXT = ["paragraph", "reference"]
_INTERRUPTS = [*_INTERRUPTS_TEXT, "blockquote"]
_INTERRUPTS_ALL = [*_INTERRUPTS, "list"]
_CONTINUED = "tau_continued"


class BlockNode(NamedTuple):
    """One block: its kind, its lines [start, end) in the source, and its contents."""

    kind: str
    """paragraph heading fence code html rule quote list item table row definition"""
    start: int
    end: int
    children: "tuple[BlockNode, ...]" = ()
    content: str = ""
    info: str = ""
    """The language of a fence, the level of a heading, the number of an item, the label of a definition."""
    markup: str = ""
    indent: int = 0
    """Where an item's text begins; the indent of a fence."""
    cells: tuple[str, ...] = ()
    """The texts of a row; for a table, the alignment of each column."""


def parse_blocks(source: str, continued_line: int = -1, nesting: int = 0) -> tuple[BlockNode, ...]:
    """Parse blocks. No table or heading of that nesting begins at `continued_line`."""
    parser = _guarded_parser() if continued_line >= 0 or _needs_guards(source) else _parser()
    tokens: list[Token] = []
    parser.block.parse(source, parser, {"references": {}, _CONTINUED: (continued_line, nesting)}, tokens)
    return _Reader(tokens).nodes()


def parse_inline(text: str, references: Mapping[str, Reference]) -> list[Token]:
    """Parse a paragraph's text into tokens."""
    tokens: list[Token] = []
    parser = _inline_parser()
    parser.inline.parse(text, parser, {"references": references}, tokens)
    return tokens


class _Reader:
    """Turns markdown-it's list of tokens into a tree."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def nodes(self) -> tuple[BlockNode, ...]:
        """Read blocks up to the end of the enclosing block."""
        nodes: list[BlockNode] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.nesting < 0:
                break
            nodes.append(self._node(token))
        return tuple(nodes)

    def _node(self, token: Token) -> BlockNode:
        start, end = token.map or (0, 0)
        match token.type:
            case "paragraph_open":
                return BlockNode("paragraph", start, end, content=self._text())
            case "heading_open":
                return BlockNode("heading", start, end, content=self._text(), info=token.tag[1:])
            case "blockquote_open":
                return BlockNode("quote", start, end, self.nodes())
            case "bullet_list_open" | "ordered_list_open":
                return BlockNode("list", start, end, self.nodes(), markup=token.markup)
            case "list_item_open":
                indent = token.meta.get("indent", 0)
                return BlockNode(
                    "item", start, end, self.nodes(), info=token.info, markup=token.markup, indent=indent
                )
            case "table_open":
                return self._table(start, end)
            case "fence":
                indent = token.meta.get("indent", 0)
                return BlockNode("fence", start, end, (), token.content, token.info, token.markup, indent)
            case "code_block":
                return BlockNode("code", start, end, content=token.content)
            case "html_block":
                return BlockNode("html", start, end, content=token.content)
            case "definition":
                meta = token.meta
                return BlockNode("definition", start, end, content=meta["url"], info=meta["id"])
            case _:
                return BlockNode("rule", start, end)

    def _text(self) -> str:
        """Read the text up to the closing token; the opening one is already consumed."""
        content = self._tokens[self._at].content
        self._at += 2
        return content

    def _table(self, start: int, end: int) -> BlockNode:
        rows: list[BlockNode] = []
        cells: list[str] = []
        aligns: list[str] = []
        while True:
            token = self._tokens[self._at]
            self._at += 1
            if token.type == "table_close":
                return BlockNode("table", start, end, tuple(rows), cells=tuple(aligns))
            if token.type == "inline":
                cells.append(token.content)
            elif token.type == "th_open":
                aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
            elif token.type == "tr_open" and token.map:
                cells, row = [], token.map
            elif token.type == "tr_close":
                rows.append(BlockNode("row", row[0], row[1], cells=tuple(cells)))


def _needs_guards(source: str) -> bool:
    """Whether any line is long or deep enough for a guard to reject it."""
    # A level takes one character, or a quarter of a tab.
    deep = rf"(?m)^[ \t>*+\-\d.)]{{{MAX_LEVEL // 4}}}"
    return len(source) > LONG_CHARS or re.search(deep, source) is not None


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 2 * MAX_LEVEL, "inline_definitions": True})
    parser.enable("table")
    parser.block.ruler.at("fence", _fence, {"alt": _INTERRUPTS_ALL})
    tokenize = parser.block.tokenize

    def noting_indents(state: StateBlock, first: int, end: int) -> None:
        if state.tokens and state.tokens[-1].type == "list_item_open":
            state.tokens[-1].meta = {"indent": state.blkIndent}
        tokenize(state, first, end)

    parser.block.tokenize = noting_indents  # type: ignore[method-assign,assignment]
    return parser


def _fence(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    if not rules_block.fence(state, line, end, silent):
        return False
    if not silent:
        state.tokens[-1].meta = {"indent": state.sCount[line] - state.blkIndent}
    return True


@cache
def _guarded_parser() -> MarkdownIt:
    """Return a parser that treats overlong headings, tables and so on as plain paragraphs.

    So the kind of a long line is known before its end arrives, and blocks never nest too deeply.
    """
    parser = _parser.__wrapped__()
    ruler = parser.block.ruler
    ruler.at("table", _not_continued(_short(_short_table)), {"alt": _INTERRUPTS_TEXT})
    ruler.at("fence", _short(_fence), {"alt": _INTERRUPTS_ALL})
    ruler.at("blockquote", _shallow(rules_block.blockquote), {"alt": _INTERRUPTS_ALL})
    ruler.at("hr", _short(rules_block.hr), {"alt": _INTERRUPTS_ALL})
    ruler.at("list", _shallow(rules_block.list_block), {"alt": _INTERRUPTS})
    ruler.at("reference", _not_continued(_short_reference), {"alt": []})
    ruler.at("html_block", _short(rules_block.html_block), {"alt": _INTERRUPTS})
    ruler.at("heading", _short(rules_block.heading), {"alt": _INTERRUPTS})
    ruler.at("lheading", _not_continued(_short_setext), {"alt": []})
    return parser


def _short(rule: _Rule) -> _Rule:
    def guarded(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        return state.eMarks[line] - state.bMarks[line] <= LONG_CHARS and rule(state, line, end, silent)

    return guarded


def _shallow(rule: _Rule) -> _Rule:
    def guarded(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        return state.level < MAX_LEVEL and rule(state, line, end, silent)

    return guarded


def _not_continued(rule: _Rule) -> _Rule:
    def guarded(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        return (line, state.level) != state.env[_CONTINUED] and rule(state, line, end, silent)

    return guarded


def _short_table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    is_short = state.eMarks[line + 1] - state.bMarks[line + 1] <= LONG_CHARS
    return is_short and rules_block.table(state, line, end, silent)


def _short_setext(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    count = len(state.tokens)
    if not rules_block.lheading(state, line, end, silent):
        return False
    underline = state.line - 1
    is_long = len(state.tokens[count + 1].content) > PARAGRAPH_CHARS
    if is_long or state.eMarks[underline] - state.bMarks[underline] > LONG_CHARS:
        del state.tokens[count:]
        state.line = line
        return False
    return True


def _short_reference(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    count = len(state.tokens)
    if not rules_block.reference(state, line, end, silent):
        return False
    if not silent and state.eMarks[state.line - 1] - state.bMarks[line] > LONG_CHARS:
        del state.tokens[count:]
        state.line = line
        return False
    return True


@cache
def _inline_parser() -> MarkdownIt:
    options: dict[str, Any] = {"maxNesting": 20}
    return MarkdownIt("commonmark", options).enable("strikethrough")
