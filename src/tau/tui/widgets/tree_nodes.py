"""A tree as rows: which nodes are seen, and the lines before each that show where it hangs."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from tau.tui.text.clean import clean_line
from tau.tui.widgets.fuzzy import Ranker

MAX_INDENT_LEVELS = 24
"""Deeper nodes are not indented further."""
_BLANK, _LINE = "0", "1"


class TreeNode(NamedTuple):
    """A node. Its value is unique in the tree: fold state and selection go by it, also in later data."""

    value: Hashable
    label: str
    children: Sequence["TreeNode"] = ()
    note: str = ""
    """A short text after the label."""
    marked: bool = False
    """Stands out, as the place where one is."""


class TreeLine(NamedTuple):
    """A visible node: `levels` has one letter per level, "1" where a line goes on."""

    node: TreeNode
    parent: int
    """The number of the parent's line, or -1."""
    levels: str
    last: bool
    """Whether it is the last child of its parent."""
    root: bool
    """Without a branch of its own: at the top, or in a flat chain."""
    matches: bool
    """False for a node that is there only because something below it matches the filter."""


def cleaned(nodes: Iterable[TreeNode]) -> list[TreeNode]:
    """The same nodes with clean texts; without recursion, since a tree can be thousands of levels deep."""
    top: list[TreeNode] = []
    stack: list[tuple[TreeNode, list[TreeNode]]] = [(node, top) for node in nodes][::-1]
    while stack:
        node, into = stack.pop()
        children: list[TreeNode] = []
        into.append(
            TreeNode(node.value, clean_line(node.label), children, clean_line(node.note), node.marked)
        )
        stack += [(child, children) for child in reversed(node.children)]
    return top


def visible_lines(roots: Sequence[TreeNode], folded: set[Hashable], *, flat_chains: bool) -> list[TreeLine]:
    """All nodes that no folded one hides. With `flat_chains`, an only child is not indented."""
    lines: list[TreeLine] = []
    stack = [(root, -1, "", number == len(roots) - 1, True) for number, root in enumerate(roots)][::-1]
    while stack:
        node, parent, levels, last, is_root = stack.pop()
        number = len(lines)
        lines.append(TreeLine(node, parent, levels, last, is_root, True))
        if not node.children or node.value in folded:
            continue
        inner = levels if is_root else _deeper(levels, last)
        if flat_chains and len(node.children) == 1:
            stack.append((node.children[0], number, inner, True, True))
            continue
        end = len(node.children) - 1
        stack += [
            (child, number, inner, place == end, False)
            for place, child in zip(range(end, -1, -1), reversed(node.children), strict=True)
        ]
    return lines


def matching_lines(roots: Sequence[TreeNode], query: str, *, flat_chains: bool) -> list[TreeLine]:
    """The nodes that match, with all that stand above them, unfolded."""
    everything = visible_lines(roots, set(), flat_chains=False)
    found = set(Ranker([f"{line.node.label} {line.node.note}" for line in everything], 0).order(query))
    matching = [number in found for number in range(len(everything))]
    kept = list(matching)
    for number in range(len(everything) - 1, -1, -1):
        if kept[number] and everything[number].parent >= 0:
            kept[everything[number].parent] = True
    return _relinked(everything, kept, matching, flat_chains)


def _relinked(
    lines: Sequence[TreeLine], kept: Sequence[bool], matching: Sequence[bool], flat_chains: bool
) -> list[TreeLine]:
    """The kept lines with indentation of their own, as if the others did not exist."""
    nodes: dict[int, TreeNode] = {}
    children: dict[int, list[TreeNode]] = {}
    roots: list[TreeNode] = []
    hits: set[Hashable] = set()
    for number, line in enumerate(lines):
        if kept[number]:
            children[number] = []
            nodes[number] = line.node._replace(children=children[number])
            (children[line.parent] if line.parent >= 0 else roots).append(nodes[number])
            if matching[number]:
                hits.add(line.node.value)
    shown = visible_lines(roots, set(), flat_chains=flat_chains)
    return [line if line.node.value in hits else line._replace(matches=False) for line in shown]


def _deeper(levels: str, last: bool) -> str:
    return levels if len(levels) >= MAX_INDENT_LEVELS else levels + (_BLANK if last else _LINE)
