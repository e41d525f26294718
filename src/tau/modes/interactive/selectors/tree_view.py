"""The session tree: filters, search, folding and navigation keys."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args

from tau.coding.session.session import Session
from tau.coding.session.tree_rows import MAX_LEVELS, TREE_FILTERS, TreeFilter, TreeRow, current_row, prefix
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, MIN_LIST_ROWS
from tau.tui.component import LiveComponent
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.cut import fit, truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.list_parts import FilterLine, key_step, move_place, position_row, spoken_rows

FOLD, UNFOLD = "app.tree.foldOrUp", "app.tree.unfoldOrDown"
FORWARD, BACKWARD = "app.tree.filterForward", "app.tree.filterBackward"
JUMPS: dict[str, TreeFilter] = {
    "app.tree.filterDefault": "default",
    "app.tree.filterNoTools": "no-tools",
    "app.tree.filterUser": "user-only",
    "app.tree.filterLabeled": "labeled-only",
    "app.tree.filterAll": "all",
}
_EMPTY = {"labeled-only": "No entry has a label.", "user-only": "You have not sent any messages yet."}
COLUMNS_PER_LEVEL = 6
"""Draw one branch level per this many columns, to leave room for text."""
_TOKENS = {"user": "accent", "assistant": "text", "toolResult": "muted", "custom": "accent"}
_NAMES = {"toolResult": "result", "bashExecution": "you ran", "pythonExecution": "you ran", "custom": "note"}
"""The prefix of the text, where the stored name is unsuitable."""


class TreeView(LiveComponent):
    """Shows the rows of `coding/session/tree_rows.py`, recomputed when a key changes them.

    A fold hides everything below an entry. Only entries that start a branch or fork can fold; from any
    other, the key moves up to the nearest one that can, and the opposite key down to it.
    """

    def __init__(self, display: Display, session: Session, filter: TreeFilter) -> None:
        self._display = display
        self._session = session
        self.filter = filter if filter in get_args(TreeFilter) else "default"
        self.on_select: Callable[[str], None] | None = None
        self.on_cancel: Callable[[], None] | None = None
        self.on_shown: Callable[[], None] | None = None
        """Called when a filter or search changes what is shown."""
        self._query = FilterLine(display.keys, "type to search")
        self._folded: set[str] = set()
        self._rows: list[TreeRow] = []
        self._children: list[int] = []
        self._shown: list[int] = []
        """Indexes of rows not hidden by a fold."""
        self._at = 0
        self._id: str | None = None
        """The selected entry, even while nothing is shown."""
        self._stale = True
        self._height = MIN_LIST_ROWS
        self._drawn: list[str] | None = None
        self._drawn_for = (0, False)

    @property
    def selected(self) -> TreeRow | None:
        self._refresh()
        return self._rows[self._shown[self._at]] if self._shown else None

    @property
    def count(self) -> int:
        """How many entries match."""
        self._refresh()
        return len(self._rows)

    def fit(self, rows: int, width: int) -> None:
        height = max(MIN_LIST_ROWS, self._display.terminal.rows // 2)
        height = max(1, min(height, rows - 2))
        if height != self._height:
            self._height = height
            self._drawn = None

    def changed(self) -> None:
        """The session's entries or labels changed."""
        self._stale = True
        self._drawn = None

    def handle_input(self, event: InputEvent) -> bool:
        keys = self._display.keys
        self._drawn = None
        if keys.matches(event, FOLD):
            self._fold_or_up()
        elif keys.matches(event, UNFOLD):
            self._unfold_or_down()
        elif self._filter_key(event):
            pass
        elif (step := self._step(event)) is not None:
            self._refresh()
            self._go(move_place(self._at, step, len(self._shown)))
        elif keys.matches(event, CONFIRM):
            row = self.selected
            if row is not None and self.on_select is not None:
                self.on_select(row.id)
        elif keys.matches(event, CANCEL):
            self._escape(close=keys.matches(event, "app.clear"))
        elif self._query.apply(event):
            self._refilter()
        else:
            return False
        return True

    def invalidate(self) -> None:
        self._drawn = None

    def render(self, width: int) -> Sequence[str]:
        if self._drawn is None or self._drawn_for != (width, self.focused):
            self._refresh()
            self._drawn_for = (width, self.focused)
            self._drawn = self._draw(max(width, 1))
        return self._drawn

    def _step(self, event: InputEvent) -> int | None:
        """How many rows a key moves; left and right turn pages."""
        keys = self._display.keys
        page = max(self._height, 2)
        if keys.matches(event, "tui.editor.cursorLeft"):
            return -page
        if keys.matches(event, "tui.editor.cursorRight"):
            return page
        return key_step(keys, event, page, len(self._shown))

    def _escape(self, *, close: bool) -> None:
        if self._query.text and not close:
            self._query.text = ""
            self._refilter()
        elif self.on_cancel is not None:
            self.on_cancel()

    def _filter_key(self, event: InputEvent) -> bool:
        keys = self._display.keys
        at = TREE_FILTERS.index(self.filter)
        choice = next((name for action, name in JUMPS.items() if keys.matches(event, action)), None)
        if keys.matches(event, FORWARD):
            choice = TREE_FILTERS[(at + 1) % len(TREE_FILTERS)]
        elif keys.matches(event, BACKWARD):
            choice = TREE_FILTERS[at - 1]
        if choice is None:
            return False
        self.filter = choice
        self._refilter()
        return True

    def _refilter(self) -> None:
        """Rows are computed lazily, so that several letters at once cost as much as one."""
        self._stale = True
        if self.on_shown is not None:
            self.on_shown()

    def _refresh(self) -> None:
        if not self._stale:
            return
        self._stale = False
        self._rows = self._session.tree.rows(self.filter, self._query.text)
        self._children = [0] * len(self._rows)
        for row in self._rows:
            if row.parent >= 0:
                self._children[row.parent] += 1
        self._update_visible()

    def _update_visible(self) -> None:
        """Update the visible rows and select the same entry, or the nearest one above it."""
        rows, folded = self._rows, self._folded
        self._drawn = None
        if folded and not self._query.text.strip():
            hidden = [False] * len(rows)
            for place, row in enumerate(rows):
                above = row.parent
                hidden[place] = above >= 0 and (hidden[above] or rows[above].id in folded)
            self._shown = [place for place, is_hidden in enumerate(hidden) if not is_hidden]
        else:
            self._shown = list(range(len(rows)))
        where = {rows[place].id: at for at, place in enumerate(self._shown)}
        id = self._id
        log = self._session.log
        while id is not None and id not in where:
            node = log.node(id)
            id = None if node is None else node.parent_id
        if id is None:
            start = current_row(rows)
            id = rows[start].id if start >= 0 else None
        self._at = where.get(id or "", max(len(self._shown) - 1, 0))
        if self._id is None and self._shown:
            self._id = rows[self._shown[self._at]].id

    def _go(self, at: int) -> None:
        if self._shown:
            self._at = at
            self._id = self._rows[self._shown[at]].id

    def _can_fold(self, place: int) -> bool:
        count = self._children[place]
        return count > 1 or (count == 1 and self._rows[place].head == place)

    def _fold_or_up(self) -> None:
        self._refresh()
        if not self._shown:
            return
        place = self._shown[self._at]
        if self._can_fold(place) and self._rows[place].id not in self._folded and not self._query.text:
            self._folded.add(self._rows[place].id)
            self._update_visible()
            return
        place = self._rows[place].parent
        while place >= 0 and not self._can_fold(place):
            place = self._rows[place].parent
        if place >= 0:
            self._go(self._shown.index(place))

    def _unfold_or_down(self) -> None:
        self._refresh()
        if not self._shown:
            return
        place = self._shown[self._at]
        if self._rows[place].id in self._folded and not self._query.text:
            self._folded.discard(self._rows[place].id)
            self._update_visible()
            return
        below = self._at
        while self._children[self._shown[below]] and below + 1 < len(self._shown):
            below += 1
            if self._can_fold(self._shown[below]):
                break
        self._go(below)

    def _draw(self, width: int) -> list[str]:
        theme, shown = self._display.theme, self._shown
        rows = [self._query.row(theme, width, self.focused)]
        if not shown:
            text = _EMPTY.get(self.filter, "The session is empty.")
            if self._query.text.strip():
                text = f"No matches for: {self._query.text}"
            return rows + [theme["muted"](row) for row in wrap(text, width)[:2]]
        height = min(self._height, len(shown))
        top = max(0, min(self._at - height // 2, len(shown) - height))
        for at in range(top, top + height):
            folded = self._rows[shown[at]].id in self._folded and not self._query.text
            look = TreeRowStyle(at == self._at, folded, width, f"{at + 1} of {len(shown)}")
            draw = spoken_row if theme.linear else drawn_row
            rows += draw(theme, self._rows, shown[at], look)
        if height < len(shown):
            rows.append(position_row(theme, top, height, len(shown), self._at + 1, len(shown), width))
        return rows


class TreeRowStyle(NamedTuple):
    selected: bool
    folded: bool
    width: int
    place: str = ""


def drawn_row(theme: Theme, rows: Sequence[TreeRow], place: int, look: TreeRowStyle) -> list[str]:
    """Lines, fold mark, active-branch bullet, failure cross, label, text."""
    symbols, row = theme.symbols, rows[place]
    lines = prefix(rows, place, min(MAX_LEVELS, max(look.width // COLUMNS_PER_LEVEL, 1)))
    for sign, own in (("├─", symbols.tree_branch), ("└─", symbols.tree_last), ("│ ", symbols.tree_line)):
        lines = lines.replace(sign, own)
    pointer = theme["accent"](symbols.pointer) if look.selected else " " * visible_width(symbols.pointer)
    text = f"{pointer} {theme['border'](lines)}"
    text += theme["warning"](f"{symbols.folded} ") if look.folded else ""
    text += theme["accent"](f"{symbols.bullet} ") if row.active else ""
    text += theme["error"](f"{symbols.cross} ") if row.failed else ""
    text += theme["warning"](f"[{row.label}] ") if row.label else ""
    name = _NAMES.get(row.role, row.role) or row.kind.replace("_", " ")
    style = theme["selected" if look.selected else _TOKENS.get(row.role, "dim")]
    text += style(f"{name}: {row.text}" if row.text else name)
    text = truncate(text, look.width, symbols.ellipsis)
    if look.selected and theme["selectedBackground"].open:
        text = theme["selectedBackground"](fit(text, look.width))
    return [text]


def spoken_row(theme: Theme, rows: Sequence[TreeRow], place: int, look: TreeRowStyle) -> list[str]:
    """The same for a screen reader."""
    row = rows[place]
    notes = [f"level {row.depth + 1}", "on the active branch" if row.active else "on another branch"]
    notes += ["failed"] if row.failed else []
    notes += ["folded"] if look.folded else []
    notes += [look.place] if look.selected and look.place else []
    words = f"{'Selected: ' if look.selected else ''}{row.title} ({', '.join(notes)})"
    return spoken_rows(words, look.width)
