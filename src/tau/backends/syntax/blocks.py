"""Finds the block that begins on a line, as in an edit of "the function on line 40"."""

import re
from bisect import bisect_right

from tau.backends.syntax.languages import detect_language
from tau.backends.syntax.trees import Node, NodeSpan, is_broken, parse

# Nodes that are only sequences: the first child is the one that is meant.
_SEQUENCES: dict[str, set[str]] = {
    "go": {"statement_list", "expression_list"},
    "haskell": {"imports", "declarations", "local_binds"},
    "hcl": {"body"},
    "kotlin": {"statements", "import_list"},
    "lua": {"block", "expression_list", "variable_list"},
    "markdown": {"list"},
    "nix": {"binding_set"},
    "python": {"block"},
    "ruby": {"body_statement", "block_body", "then"},
    "scala": {"indented_block", "indented_cases"},
    "swift": {"statements"},
    "yaml": {"stream", "document", "block_node", "block_mapping", "block_sequence"},
}
# Parts above a declaration that are not what its line refers to.
_ANNOTATIONS = {
    *("annotation", "marker_annotation", "decorator", "attribute", "attribute_list", "attribute_item"),
    *("attribute_group", "attribute_specifier", "attribute_declaration", "modifiers"),
}
_CLOSERS = ("_end", "end_tag", "jsx_closing_element", "fenced_code_block_delimiter")
# What may follow a block on its last line: the separator of a list, the end of a statement, a comment.
_REST = r"[ \t;,]*(?:(?://|#|--|/\*|<!--).*)?\r?"


def resolve_block(path: str, text: str, line: int) -> NodeSpan | None:
    """Return the lines of the largest construct that begins with the first word of `line` (1-based).

    None if the language is not known, the line is blank or closes something, nothing begins there that ends
    at the end of a line, or there is a syntax error inside. Decorators above a definition belong to the block
    that begins on their own line.
    """
    language = detect_language(path, text)
    start = _first_word(text, line)
    if language is None or start is None:
        return None
    root = parse(text, language)
    if root is None:
        return None
    node = _beginning_at(root, start, language)
    if node is None or is_broken(node):
        return None
    end = node.range().end.index
    if language == "ruby":
        end = _after_heredoc(node, end)
    # Some nodes include trailing blanks and newlines.
    block = text[start:end].rstrip()
    if not block or not _ends_its_line(text, start + len(block)):
        return None
    return NodeSpan(line, line + block.count(_newline(text)))


def _newline(text: str) -> str:
    return "\n" if "\n" in text else "\r"


def _first_word(text: str, line: int) -> int | None:
    """Return the offset of a line's first non-blank character, None if there is no such line."""
    newline = _newline(text)
    at = 0
    for _ in range(line - 1):
        at = text.find(newline, at) + 1
        if not at:
            return None
    end = text.find(newline, at)
    row = text[at : end if end >= 0 else len(text)]
    return at + len(row) - len(row.lstrip()) if line > 0 and row.strip() else None


def _beginning_at(root: Node, start: int, language: str) -> "Node | None":
    """Return the outermost node that begins at `start` and is more than a sequence."""
    sequences = _SEQUENCES.get(language, set())
    parent, node = root, _child_at(root, start)
    while node is not None:
        span = node.range()
        kind = node.kind()
        if kind not in sequences:
            begins = span.start.index == start and node.is_named()
            if begins or (span.start.index < start < span.end.index and _is_annotated(node, start)):
                return None if parent.kind() == "ERROR" or kind.endswith(_CLOSERS) else node
        parent, node = node, _child_at(node, start)
    return None


def _child_at(node: Node, start: int) -> "Node | None":
    children = node.children()
    index = bisect_right(children, start, key=lambda child: child.range().start.index) - 1
    # Empty nodes may share the position, before or after the one with text.
    while index >= 0 and children[index].range().end.index <= start:
        if children[index].range().start.index < start:
            return None
        index -= 1
    return children[index] if index >= 0 else None


def _is_annotated(node: Node, start: int) -> bool:
    """Whether everything in a node before `start` is annotations, as above a Java method."""
    while True:
        for child in node.children():
            span = child.range()
            if span.start.index >= start:
                return True
            if span.end.index > start:
                node = child
                break
            if child.kind() not in _ANNOTATIONS:
                return False
        else:
            return False


def _after_heredoc(node: Node, end: int) -> int:
    """Include the text of a Ruby `<<~END`, which follows its statement."""
    body = node.next()
    if body is not None and body.kind() == "heredoc_body" and node.find(kind="heredoc_beginning") is not None:
        end = body.range().end.index
    return end


def _ends_its_line(text: str, end: int) -> bool:
    newline = text.find(_newline(text), end)
    return re.fullmatch(_REST, text[end : newline if newline >= 0 else len(text)]) is not None
