"""A session as a tree of rows: filtered, searched, ordered, with connecting lines.

Every mode draws from these rows. Each entry is decoded once. A branch may have any length, so nothing here is
recursive.

Rows are indented only where the tree branches, so that a long conversation stays at the margin:

    user: Start
    assistant: Plan
    ├─ user: Try A
    │  assistant: A is done
    └─ • user: Try B
       • assistant: B is done
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Literal, Protocol, get_args

from msgspec import Struct

from tau.base.clock import from_iso
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.snippets import Calls, Snippet, one_line, snippet

TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
TREE_FILTERS: tuple[TreeFilter, ...] = get_args(TreeFilter)

LABEL_CHARS = 100
MAX_LEVELS = 12  # of branches drawn; deeper rows show the nearest

# Notes and settings: not targets of a move, so only `all` shows them.
BOOKKEEPING = frozenset(
    {
        *("label", "custom", "model_change", "thinking_level_change", "service_tier_change", "mode_change"),
        *("session_info", "usage", "context_edit", "session_init", "mcp_tool_selection", "ttsr_injection"),
    }
)


class TreeRow(Struct, frozen=True, gc=False, rename="camel"):
    """A visible entry. `parent` and `head` are indexes of rows; -1 is none.

    `parent` is the nearest visible entry above, `head` the first row of the unbranched run that this row is
    part of. `connector` is "├" for a row with siblings, "└" for the last of them.
    """

    id: str
    kind: str  # the entry's type
    role: str  # of a message, else ""
    text: str  # one line, truncated
    label: str | None
    timestamp: str
    failed: bool
    active: bool  # on the branch that ends in the leaf
    leaf: bool
    depth: int
    connector: str
    parent: int
    head: int

    @property
    def title(self) -> str:
        """The row's text, as `[label] user: text`."""
        name = self.role or self.kind
        search_text = f"{name}: {self.text}" if self.text else name
        return search_text if self.label is None else f"[{self.label}] {search_text}"


class TreeLog(Protocol):
    """The part of a session's log that a tree needs."""

    leaf: str | None

    def nodes(self) -> Iterable[EntryNode]: ...
    def line(self, node: EntryNode) -> bytes: ...


class SessionTree:
    """The entries of a log, decoded once. Later entries are decoded on demand."""

    def __init__(self, log: TreeLog) -> None:
        self._log = log
        self._nodes: list[EntryNode] = []
        self._indexes: dict[str, int] = {}
        self._parents: list[int] = []  # indexes; -1 for a root
        self._times: list[str] = []
        self._snippets: list[Snippet] = []
        self._labels: dict[str, str] = {}
        self._calls: Calls = {}
        self._order: list[int] | None = None

    def rows(self, filter: TreeFilter = "default", query: str = "") -> list[TreeRow]:
        """The visible rows from top to bottom. All words of `query` must match, ignoring case."""
        self._read_new()
        if self._order is None:
            self._order = _preorder(self._parents, self._times)
        shown = self._row_filter(filter, query.lower().split())
        indexes, parents = _contract(self._order, self._parents, shown)
        active = self._active()
        rows: list[TreeRow] = []
        for index, (depth, connector, parent, head) in zip(indexes, _lines(parents), strict=True):
            node, snippet = self._nodes[index], self._snippets[index]
            rows.append(
                TreeRow(
                    id=node.id,
                    kind=node.type,
                    role=snippet.role,
                    text=snippet.text,
                    label=self._labels.get(node.id),
                    timestamp=self._times[index],
                    failed=snippet.failed,
                    active=node.id in active,
                    leaf=node.id == self._log.leaf,
                    depth=depth,
                    connector=connector,
                    parent=parent,
                    head=head,
                )
            )
        return rows

    def _read_new(self) -> None:
        """Decode what was appended since the last call; everything if the log was rewritten."""
        count = len(self._nodes)
        rest = islice(self._log.nodes(), max(count - 1, 0), None)
        last = next(rest, None) if count else None
        if count and (last is None or last.id != self._nodes[-1].id):
            SessionTree.__init__(self, self._log)
            rest = islice(self._log.nodes(), None)
        indexes, calls = self._indexes, self._calls
        time = self._times[-1] if self._times else ""
        for node in rest:
            entry = s.decode_known(self._log.line(node))  # without images stored in other files
            if entry is not None:  # an entry without a time came after the one before it
                time = entry.timestamp
            # A parent that comes later, or never, means damage; making the entry a root avoids cycles.
            self._parents.append(-1 if node.parent_id is None else indexes.get(node.parent_id, -1))
            indexes[node.id] = len(self._nodes)
            self._nodes.append(node)
            self._times.append(time)
            self._snippets.append(snippet(entry, calls))
            self._order = None
            if type(entry) is s.LabelEntry:
                _set_label(self._labels, entry)

    def _active(self) -> set[str]:
        """From the leaf up to its root."""
        found = set()
        index = -1 if self._log.leaf is None else self._indexes.get(self._log.leaf, -1)
        while index >= 0:
            found.add(self._nodes[index].id)
            index = self._parents[index]
        return found

    def _row_filter(self, filter: TreeFilter, tokens: Sequence[str]) -> Callable[[int], bool]:
        nodes, snippets, labels, leaf = self._nodes, self._snippets, self._labels, self._log.leaf

        def shown(index: int) -> bool:
            node, snippet = nodes[index], snippets[index]
            match filter:
                case "all":
                    kept = True
                case "labeled-only":
                    kept = node.id in labels
                case "user-only":
                    kept = snippet.role == "user" and node.type == "message"
                case _:
                    kept = not (
                        node.type in BOOKKEEPING
                        or (snippet.quiet and node.id != leaf)
                        or (filter == "no-tools" and snippet.role == "toolResult")
                    )
            if not kept or not tokens:
                return kept
            label = labels.get(node.id, "").lower()
            return all(token in snippet.search_text or token in label for token in tokens)

        return shown


def labels_of(log: TreeLog) -> dict[str, str]:
    """The current label of every labeled entry: the latest wins, an empty one removes it."""
    labels: dict[str, str] = {}
    for node in log.nodes():
        if node.type == "label" and isinstance(entry := s.decode_known(log.line(node)), s.LabelEntry):
            _set_label(labels, entry)
    return labels


def _set_label(labels: dict[str, str], entry: s.LabelEntry) -> None:
    label = one_line(entry.label or "", LABEL_CHARS)
    if label:
        labels[entry.target_id] = label
    else:
        labels.pop(entry.target_id, None)


def prefix(rows: Sequence[TreeRow], index: int, max_levels: int = MAX_LEVELS) -> str:
    """The lines before a row, three columns per level."""
    row = rows[index]
    cells = [f"{row.connector}─ "] if row.connector else []
    above = row.parent if row.connector else index
    while above >= 0 and len(cells) < max_levels:
        head = rows[rows[above].head]
        if head.connector:
            cells.append("│  " if head.connector == "├" else "   ")
        above = head.parent
    return ("… " if row.depth > len(cells) else "") + "".join(reversed(cells))


def draw_row(rows: Sequence[TreeRow], index: int, max_levels: int = MAX_LEVELS) -> str:
    """A row as plain text: lines, a bullet if it is on the active branch, label, text."""
    row = rows[index]
    return f"{prefix(rows, index, max_levels)}{'• ' if row.active else ''}{row.title}"


def current_row(rows: Sequence[TreeRow]) -> int:
    """The row to start at: the leaf's, or that of the nearest visible entry above; -1 if there is none."""
    return next((index for index in range(len(rows) - 1, -1, -1) if rows[index].active), -1)


def _preorder(parents: Sequence[int], times: Sequence[str]) -> list[int]:
    """Entries in preorder, children by time, oldest first."""
    only = [-1] * len(parents)  # the child of an entry that has one
    several: dict[int, list[int]] = {-1: []}
    for index, parent in enumerate(parents):
        if parent in several:
            several[parent].append(index)
        elif only[parent] < 0:
            only[parent] = index
        else:
            several[parent] = [only[parent], index]
    stack: list[int] = []

    def push(parent: int) -> None:
        children = sorted(several[parent], key=lambda index: from_iso(times[index]))
        stack.extend(reversed(children))

    push(-1)
    order: list[int] = []
    while stack:
        index = stack.pop()
        while index >= 0:
            order.append(index)
            if index in several:
                push(index)
                break
            index = only[index]
    return order


def _contract(
    order: Sequence[int], parents: Sequence[int], shown: Callable[[int], bool]
) -> tuple[list[int], list[int]]:
    """The visible entries, and for each the row of the nearest visible entry above it, or -1."""
    # Each entry's own row or the nearest above; the last item is not an entry.
    above = [-1] * (len(parents) + 1)
    indexes: list[int] = []
    rows: list[int] = []
    for index in order:
        row = above[parents[index]]
        if shown(index):
            above[index] = len(indexes)
            indexes.append(index)
            rows.append(row)
        else:
            above[index] = row
    return indexes, rows


def _lines(parents: Sequence[int]) -> list[tuple[int, str, int, int]]:
    """Depth, connector, parent and head of each row, from the parents."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for row, parent in enumerate(parents):
        first.setdefault(parent, row)
        last[parent] = row
    lines: list[tuple[int, str, int, int]] = []
    for row, parent in enumerate(parents):
        depth, _, _, head = lines[parent] if parent >= 0 else (0, "", -1, row)
        if first[parent] == last[parent]:
            lines.append((depth, "", parent, head))
        else:
            lines.append((depth + 1, "└" if last[parent] == row else "├", parent, row))
    return lines
