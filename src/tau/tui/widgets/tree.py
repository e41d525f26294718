"""A tree to walk in: branches fold, a filter narrows it, and the selection survives new data."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import cut, fit, truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.fuzzy import score
from tau.tui.widgets.list_parts import FilterLine, marked, moved, moved_by, position_row, window_top
from tau.tui.widgets.live import LiveComponent
from tau.tui.widgets.tree_nodes import TreeLine, TreeNode, cleaned, matching_lines, visible_lines

__all__ = ["Tree", "TreeNode"]


class Tree(LiveComponent):
    """Only what is in view is drawn. Right unfolds or goes in, left folds or goes out, enter takes a node.

    With `flat_chains`, a chain of only children is not indented: a long one with few branches stays readable.
    """

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        nodes: Iterable[TreeNode] = (),
        max_rows: int = 15,
        *,
        filterable: bool = True,
        flat_chains: bool = False,
        folded: Iterable[Hashable] = (),
        empty_text: str = "The tree is empty.",
        on_select: Callable[[TreeNode], None] | None = None,
        on_change: Callable[[TreeNode], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
    ) -> None:
        self._theme = theme
        self._keys = keys
        self._max_rows = max(max_rows, 1)
        self._filter = FilterLine(keys, "type to find a node") if filterable else None
        self._flat_chains = flat_chains
        self._empty_text = clean_line(empty_text)
        self.on_select = on_select
        self.on_change = on_change
        self.on_cancel = on_cancel
        self._folded: set[Hashable] = set(folded)
        self._roots: list[TreeNode] = []
        self._lines: list[TreeLine] = []
        self._at = 0
        self._top = 0
        self._rows: list[str] | None = None
        self._drawn_for = (0, False)
        self.set_nodes(nodes)

    def set_nodes(self, nodes: Iterable[TreeNode]) -> None:
        """Other data. The selection stays, or goes to what is left of the way to it."""
        self._roots = cleaned(nodes)
        self._refresh()

    @property
    def selected(self) -> TreeNode | None:
        return self._lines[self._at].node if self._lines else None

    def select(self, value: Hashable) -> bool:
        """Go to the node with this value, if it is in view or inside a folded branch."""
        if self._go_to(value):
            return True
        everything = visible_lines(self._roots, set(), flat_chains=False)
        line = next((line for line in everything if line.node.value == value), None)
        if line is None or self.filter_text:
            return False
        while line.parent >= 0:
            line = everything[line.parent]
            self._folded.discard(line.node.value)
        self._refresh()
        return self._go_to(value)

    @property
    def filter_text(self) -> str:
        return self._filter.text if self._filter else ""

    def set_filter(self, text: str) -> None:
        """Narrow the tree as if this had been typed."""
        if self._filter is not None:
            self._filter.text = clean_line(text)
            self._refresh()

    def fold(self, value: Hashable, folded: bool = True) -> None:
        """Fold a branch, or unfold it."""
        (self._folded.add if folded else self._folded.discard)(value)
        self._refresh()

    def handle_input(self, event: InputEvent) -> bool:
        matches = self._keys.matches
        before = self.selected
        if (step := moved_by(self._keys, event, self._max_rows, len(self._lines))) is not None:
            self._at = moved(self._at, step, len(self._lines))
            self._rows = None
        elif matches(event, "tui.editor.cursorRight"):
            self._inwards()
        elif matches(event, "tui.editor.cursorLeft"):
            self._outwards()
        elif matches(event, "tui.select.confirm"):
            if before is not None and self.on_select is not None:
                self.on_select(before)
            return True
        elif matches(event, "tui.select.cancel"):
            if self.on_cancel is not None:
                self.on_cancel()
            return True
        elif self._filter is not None and self._filter.takes(event):
            self._refresh()
        else:
            return False
        after = self.selected
        differs = after is not None and (before is None or after.value != before.value)
        if after is not None and differs and self.on_change is not None:
            self.on_change(after)
        return True

    def invalidate(self) -> None:
        self._rows = None

    def render(self, width: int) -> Sequence[str]:
        if self._rows is None or self._drawn_for != (width, self.focused):
            self._drawn_for = (width, self.focused)
            self._rows = self._drawn(max(width, 1))
        return self._rows

    def _inwards(self) -> None:
        node = self.selected
        if node is None or not node.children:
            return
        if node.value in self._folded and not self.filter_text:
            self.fold(node.value, False)
        else:
            self._at += 1
            self._rows = None

    def _outwards(self) -> None:
        node = self.selected
        if node is None:
            return
        open_branch = node.children and node.value not in self._folded and not self.filter_text
        # In a flat chain one walks; only a real branch folds on the way out.
        if open_branch and (not self._flat_chains or len(node.children) > 1):
            self.fold(node.value)
        elif (parent := self._lines[self._at].parent) >= 0:
            self._at = parent
            self._rows = None

    def _go_to(self, value: Hashable) -> bool:
        for number, line in enumerate(self._lines):
            if line.node.value == value:
                self._at = number
                self._rows = None
                return True
        return False

    def _refresh(self) -> None:
        """Compute the lines anew and find the selection again: the node, one above it, or its old place."""
        way = []
        number = self._at if self._lines else -1
        while number >= 0:
            way.append(self._lines[number].node.value)
            number = self._lines[number].parent
        query = self.filter_text
        if query.strip():
            self._lines = matching_lines(self._roots, query, flat_chains=self._flat_chains)
        else:
            self._lines = visible_lines(self._roots, self._folded, flat_chains=self._flat_chains)
        self._rows = None
        places = {line.node.value: number for number, line in enumerate(self._lines)} if way else {}
        found = next((places[value] for value in way if value in places), None)
        self._at = max(0, min(self._at, len(self._lines) - 1)) if found is None else found
        if query.strip() and self._lines and not self._lines[self._at].matches:
            self._at = next(number for number, line in enumerate(self._lines) if line.matches)

    def _drawn(self, width: int) -> list[str]:
        theme = self._theme
        rows = [] if self._filter is None else [self._filter.row(theme, width, self.focused)]
        if not self._lines:
            text = f"Nothing matches {self.filter_text}." if self._roots else self._empty_text
            return rows + [theme["muted"](row) for row in wrap(text, width)[:2]]
        height = min(self._max_rows, len(self._lines))
        self._top = window_top(self._top, self._at, height, len(self._lines))
        for number in range(self._top, self._top + height):
            line = self._lines[number]
            folded = line.node.value in self._folded and not self.filter_text.strip()
            branch = len(line.node.children) > (1 if self._flat_chains and not folded else 0)
            look = _Look(number == self._at, branch, folded, self.filter_text)
            rows += _in_words(line, look, width) if theme.linear else [_row(theme, line, look, width)]
        if height < len(self._lines):
            place = (self._top, height, len(self._lines), self._at + 1, len(self._lines))
            rows.append(position_row(theme, *place, width))
        return rows


class _Look(NamedTuple):
    selected: bool
    branch: bool
    """Whether it gets a sign for being folded or not."""
    folded: bool
    query: str


def _row(theme: Theme, line: TreeLine, look: _Look, width: int) -> str:
    symbols = theme.symbols
    node = line.node
    blank = " " * visible_width(symbols.tree_line)
    guide = "".join(symbols.tree_line if level == "1" else blank for level in line.levels)
    if not line.root:
        guide += symbols.tree_last if line.last else symbols.tree_branch
    # Half of the row belongs to the text: of a deep indentation the inner end is kept.
    room = max(width // 2 - 2, 0)
    over = visible_width(guide) - room
    guide = cut(guide, over, over + room) if over > 0 else guide
    style = theme["selected"] if look.selected else theme["text"] if line.matches else theme["dim"]
    found = score(look.query, node.label) if look.query and line.matches else None
    label = marked(node.label, found[1] if found else (), style, theme["matched"])
    sign = ""
    if look.branch:
        sign = theme["muted"](symbols.folded if look.folded else symbols.unfolded) + " "
    pointer = theme["accent"](symbols.pointer) if look.selected else " " * visible_width(symbols.pointer)
    text = f"{pointer} {theme['border'](guide)}{sign}{label}"
    text += f" {theme['success'](symbols.check)}" if node.marked else ""
    text += f" {theme['dim'](node.note)}" if node.note else ""
    text = truncate(text, width, symbols.ellipsis)
    if look.selected and theme["selectedBackground"].open:
        return theme["selectedBackground"](fit(text, width))
    return text


def _in_words(line: TreeLine, look: _Look, width: int) -> list[str]:
    node = line.node
    depth = len(line.levels) + (1 if line.root else 2)
    words = f"{'Selected: ' if look.selected else ''}level {depth}: {node.label}"
    notes = [note for note in ("current" if node.marked else "", node.note) if note]
    if node.children:
        notes.append(f"{'folded, ' if look.folded else ''}{len(node.children)} below")
    return wrap(f"{words} ({', '.join(notes)})" if notes else words, width)
