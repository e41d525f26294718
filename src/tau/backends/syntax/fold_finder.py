"""Finds what a summary may leave out of a parsed file, in one search of its tree."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tau.backends.syntax.fold_rules import FoldRules
from tau.backends.syntax.trees import Node, NodeRange

Fold: TypeAlias = tuple[int, int]  # first and last line, counted from 0
_NodesByRole: TypeAlias = dict[str, "list[tuple[Node, NodeRange]]"]  # in text order

MIN_LITERAL_LINES = 10
MAX_BROKEN_PART = 0.15  # share of text inside syntax errors; beyond that the tree is useless
_OPENERS = ("{", "(", "[")
_COMMENT_STARTS = ("#", "//", "--")


def find_folds(
    root: Node, rows: Sequence[str], kinds: FoldRules, min_body_lines: int, min_comment_lines: int
) -> list[Fold]:
    """Return foldable line ranges, unordered, possibly nested. Empty if too much of the file is broken."""
    nodes = _find(root, kinds, min(min_body_lines, min_comment_lines))
    if _broken_chars(nodes) > MAX_BROKEN_PART * max(root.range().end.index, 1):
        return []
    errors = [span.start.index for _, span in nodes["errors"]]
    body_starts = [span.start.index for _, span in nodes["bodies"]]
    folds: list[Fold] = []
    for node, span in nodes["bodies"]:
        if not _holds(errors, span):
            folds += _if_long_enough(_body(node, span, rows), min_body_lines)
    for _, span in nodes["nested"]:
        folds += _if_long_enough((span.start.line + 1, _last_line(span, rows) - 1), min_body_lines)
    for _, span in nodes["tails"]:
        folds += _if_long_enough((span.start.line + 1, _last_line(span, rows)), min_body_lines)
    for node, span in nodes["literals"]:
        if node.kind() == "string" and _is_docstring(node):
            nodes["comments"].append((node, span))
        elif not _holds(body_starts, span):
            folds += _if_long_enough((span.start.line + 1, _last_line(span, rows) - 1), MIN_LITERAL_LINES)
    folds += _comments(nodes["comments"], rows, min_comment_lines)
    return folds


def _find(root: Node, kinds: FoldRules, min_lines: int) -> _NodesByRole:
    """Find everything in one search: walking the tree is the main cost.

    Bodies are the children of their owners. To ask a node for its parent, the parser walks down from the
    root, which takes quadratic time in deeply nested code.
    """
    names_by_role = {
        "errors": ("ERROR",),
        "comments": kinds.comments,
        "tails": kinds.tails,
        "literals": kinds.literals,
        "nested": kinds.nested,
    }
    roles = {name: role for role, names in names_by_role.items() for name in names}
    nodes: _NodesByRole = {role: [] for role in (*names_by_role, "bodies")}
    wanted = {*roles, *(kinds.owners if kinds.bodies else ())}
    for node in root.find_all({"rule": {"any": [{"kind": name} for name in sorted(wanted)]}}):
        kind = node.kind()
        if kinds.bodies and kind in kinds.owners and _is_owner(node, kinds.owner_pattern):
            nodes["bodies"] += (
                (child, child.range()) for child in node.children() if child.kind() in kinds.bodies
            )
        role = roles.get(kind)
        if role is None:
            continue
        span = node.range()
        if role in ("errors", "comments") or span.end.line - span.start.line >= max(min_lines, 1):
            nodes[role].append((node, span))
    nodes["bodies"].sort(key=lambda found: found[1].start.index)
    return nodes


def _is_owner(node: Node, pattern: str) -> bool:
    """Whether a node's text begins as it must; its first child has its first word."""
    if not pattern:
        return True
    first = node.child(0)
    return first is not None and re.match(pattern, first.text()) is not None


def _broken_chars(nodes: _NodesByRole) -> int:
    broken = reached = 0
    for _, span in nodes["errors"]:
        start = max(span.start.index, reached)
        broken += max(span.end.index - start, 0)
        reached = max(reached, span.end.index)
    return broken


def _holds(starts: list[int], span: NodeRange) -> bool:
    """Whether any of the sorted positions is inside."""
    at = bisect_left(starts, span.start.index)
    return at < len(starts) and starts[at] < span.end.index


def _if_long_enough(fold: Fold, min_lines: int) -> list[Fold]:
    return [fold] if fold[1] - fold[0] + 1 >= max(min_lines, 1) else []


def _last_line(span: NodeRange, rows: Sequence[str]) -> int:
    """Return the last line where a node has more than blanks."""
    last = span.end.line
    if last >= len(rows) or not rows[last][: span.end.column].strip():
        last -= 1
    while last > span.start.line and not rows[last].strip():
        last -= 1
    return last


def _body(node: Node, span: NodeRange, rows: Sequence[str]) -> Fold:
    """Return the lines between those that open and close a body; all of it if indentation does that."""
    first, last = span.start.line, _last_line(span, rows)
    head = rows[first][span.start.column :]
    between = bool(rows[first][: span.start.column].strip()) or head.startswith(_OPENERS)
    if between:
        first += 1
    rest = rows[last][span.end.column :].strip() if last == span.end.line else ""
    if (between and _closes(rows[last])) or (rest and not rest.startswith(_COMMENT_STARTS)):
        last -= 1
    return max(first, _after_docstring(node, rows)), last


def _closes(row: str) -> bool:
    return row.lstrip().startswith(("}", ")", "]", "end"))


def _after_docstring(body: Node, rows: Sequence[str]) -> int:
    """Return the line after a docstring's first words, 0 if there is none."""
    if body.kind() != "block":
        return 0
    statement = body.child(0)
    text = (
        statement.child(0) if statement is not None and statement.kind() == "expression_statement" else None
    )
    if text is None or text.kind() != "string":
        return 0
    span = text.range()
    return _first_words(span.start.line, span.end.line, rows) + 1


def _is_docstring(node: Node) -> bool:
    parent = node.parent()
    return parent is not None and parent.kind() == "expression_statement"


def _first_words(first: int, last: int, rows: Sequence[str]) -> int:
    """Return the first line of a comment with words: the opening line often has only markers."""
    if first < last and not any(char.isalnum() for char in rows[first].lstrip(" \trRuUbBfF")):
        return first + 1
    return first


def _comments(comments: list[tuple[Node, NodeRange]], rows: Sequence[str], min_lines: int) -> Iterator[Fold]:
    """Fold long comments and runs of them, except the first words and the closing line."""
    run: list[int] = []  # lines of adjacent single-line comments
    column = -1
    for _, span in comments:
        first, last = span.start.line, _last_line(span, rows)
        alone = not rows[first][: span.start.column].strip()
        follows = bool(run) and alone and first == run[-1] + 1 and span.start.column == column
        if not follows or last > first:
            yield from _run(run, rows, min_lines)
            run = []
        if last > first:
            if alone and last - first + 1 >= min_lines:
                yield from _if_long_enough((_first_words(first, last, rows) + 1, last - 1), 1)
        elif alone and not (first == 0 and rows[0].startswith("#!")):
            run.append(first)
            column = span.start.column
    yield from _run(run, rows, min_lines)


def _run(run: list[int], rows: Sequence[str], min_lines: int) -> Iterator[Fold]:
    if run and len(run) >= min_lines:
        yield from _if_long_enough((_first_words(run[0], run[-1], rows) + 1, run[-1]), 1)
