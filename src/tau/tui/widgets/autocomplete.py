"""Completions while typing: their source, when to query it, and the list below the editor."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol

from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.timer import Handle, Timer

DEBOUNCE_S = 0.03
VISIBLE_ITEMS = 8
LABEL_SHARE = 0.5
"""Share of the width for labels if there are descriptions."""

EnterMeans = Literal["accept", "accept+submit", "submit"]
"""What Enter does while the list is open: accept the item, accept it and submit, or only submit."""


class CompletionItem(NamedTuple):
    """One completion: what the list shows, and what is inserted."""

    label: str
    value: str
    description: str = ""
    group: str = ""
    more: bool = False
    """Query again after accepting it: a folder, whose files come next."""


class Suggestions(NamedTuple):
    """Completions that replace the text between `start` and the cursor."""

    start: int
    items: Sequence[CompletionItem]
    enter: EnterMeans | None = None
    """What Enter does with these; None leaves it to the editor."""


Answer = Suggestions | None


class Completions(Protocol):
    """A source of completions. `cursor` is an offset in `text`; a folded paste is one U+FFFC in it."""

    def complete(self, text: str, cursor: int) -> Answer | Awaitable[Answer]: ...


_Query = Callable[[], tuple[str, int]]
Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine in the background, like `TaskGroup.create_task`; its result may have a `cancel`."""


class Autocomplete:
    """Queries after a pause in typing, drops outdated answers, and keeps the list while it is open.

    Without a timer it queries at once. Awaitable completions need `spawn`.
    """

    def __init__(
        self,
        completions: Completions | None = None,
        *,
        timer: Timer | None = None,
        spawn: Spawn | None = None,
        max_rows: int = VISIBLE_ITEMS,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self.completions = completions
        self.max_rows = max_rows
        """Maximum height of the list."""
        self.on_change = on_change
        self.on_error: Callable[[Exception], None] | None = None
        self.list: Suggestions | None = None
        """The current suggestions."""
        self.at = 0
        """Index of the highlighted item."""
        self.version = 0
        self._timer = timer
        self._spawn = spawn
        self._query: _Query | None = None
        self._handle: Handle | None = None
        self._asked = 0
        self._running: object = None
        self._started = False

    @property
    def is_open(self) -> bool:
        return self.list is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the latest query is pending, so that the list may be outdated."""
        return self._query is not None or self._running is not None

    @property
    def chosen(self) -> CompletionItem | None:
        return self.list.items[self.at] if self.list is not None else None

    def ask(self, query: _Query) -> None:
        """Query after a short pause; a newer query replaces an older one."""
        self._forget()
        if self.completions is None:
            return
        self._query = query
        if self._timer is None:
            self.ask_now()
        else:
            self._handle = self._timer.call_later(DEBOUNCE_S, self.ask_now)

    def ask_now(self, query: _Query | None = None) -> None:
        """Query at once: the pending query, or this one."""
        query = query or self._query
        self._forget()
        if query is None or self.completions is None:
            return
        try:
            answer = self.completions.complete(*query())
        except Exception as error:  # a failing source must not break the editor
            self._fail(error)
            return
        if not isinstance(answer, Awaitable):
            self._set(answer)
        elif self._spawn is not None:
            asked, self._running = self._asked, True
            running = self._spawn(self._await(answer, asked))
            if self.is_waiting and asked == self._asked:  # it may have completed at once
                self._running = running
        else:
            _drop(answer)
            raise TypeError("Awaitable completions need `spawn`.")

    def settle(self) -> None:
        """Run the pending query now, because the user wants to accept a completion."""
        if self._query is not None:
            self.ask_now()

    def close(self) -> bool:
        """Close the list and cancel queries; False if it was not open."""
        self._forget()
        return self._set(None)

    def move(self, count: int) -> None:
        """Move the highlight; single steps wrap around."""
        if self.list is None:
            return
        last = len(self.list.items) - 1
        at = self.at + count
        if abs(count) == 1:
            at %= last + 1
        self.at = max(0, min(at, last))
        self.version += 1

    async def _await(self, answer: Awaitable[Answer], asked: int) -> None:
        if asked != self._asked:
            _drop(answer)
            return
        self._started = True
        try:
            suggestions = await answer
        except Exception as error:  # as above
            if asked == self._asked:
                self._running = None
                self._fail(error)
            return
        if asked == self._asked:
            self._running = None
            self._set(suggestions)

    def _forget(self) -> None:
        """Cancel the pending query and ignore its answer."""
        self._asked += 1
        self._query = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        running, self._running = self._running, None
        cancel = getattr(running, "cancel", None)
        # A task that has not started checks this itself: cancelled now, it would leave its answer unawaited.
        if cancel is not None and self._started:
            cancel()
        self._started = False

    def _fail(self, error: Exception) -> None:
        self._set(None)
        if self.on_error is not None:
            self.on_error(error)

    def _set(self, answer: Answer) -> bool:
        if answer is not None and not answer.items:
            answer = None
        if answer is None and self.list is None:
            return False
        self.list = answer
        self.at = 0
        self.version += 1
        if self.on_change is not None:
            self.on_change()
        return True


def _drop(answer: Awaitable[Answer]) -> None:
    close = getattr(answer, "close", None)
    if close is not None:
        close()


def popup_rows(theme: Theme, suggestions: Suggestions, at: int, width: int, max_rows: int) -> list[str]:
    """Render the list: the items around the highlighted one, their groups, and the position."""
    items = suggestions.items
    max_rows = max(max_rows, 1)
    top, count = _window(items, at, max_rows)
    shown = [_clean_texts(item) for item in items[top : top + count]]
    label_cells = max(visible_width(item.label) for item in shown)
    if any(item.description for item in shown):
        label_cells = min(label_cells, max(int(width * LABEL_SHARE), 8))
    rows: list[str] = []
    group = ""
    for number, item in enumerate(shown, top):
        if item.group and item.group != group and len(rows) + (len(shown) - number + top) < max_rows:
            rows.append(theme["muted"](truncate(item.group, width, theme.symbols.ellipsis)))
        group = item.group
        place = f"{at + 1} of {len(items)}"
        rows.append(_row(theme, item, place if number == at else "", label_cells, width))
    if theme.linear:
        return rows
    if count < len(items) and len(rows) < max_rows:
        rows.append(theme["dim"](truncate(f"  {at + 1}/{len(items)}", width, theme.symbols.ellipsis)))
    return rows


def _window(items: Sequence[CompletionItem], at: int, max_rows: int) -> tuple[int, int]:
    """Return the first item and the count to show, leaving room for group names."""
    count = min(len(items), max_rows)
    while True:
        top = max(0, min(at - count // 2, len(items) - count))
        groups = ["", *(item.group for item in items[top : top + count])]
        headings = sum(bool(new) and new != old for old, new in pairwise(groups))
        if count == 1 or count + headings + (count < len(items)) <= max_rows:
            return top, count
        count -= 1


def _clean_texts(item: CompletionItem) -> CompletionItem:
    label = clean_line(item.label) or clean_line(item.value)
    return item._replace(label=label, description=clean_line(item.description), group=clean_line(item.group))


def _row(theme: Theme, item: CompletionItem, place: str, label_cells: int, width: int) -> str:
    """`place` is that of the selected item, such as "3 of 13"; empty for the others."""
    ellipsis = theme.symbols.ellipsis
    if theme.linear:
        label = f"Selected: {item.label} ({place})" if place else item.label
        return truncate(f"{label}: {item.description}" if item.description else label, width, ellipsis)
    style = theme["selected"] if place else theme["text"]
    pointer = f"{theme.symbols.pointer} " if place else " " * (visible_width(theme.symbols.pointer) + 1)
    label = truncate(item.label, label_cells, ellipsis)
    left = truncate(pointer + label, width, "")
    gap = label_cells - visible_width(label) + 2
    room = width - visible_width(left) - gap
    if not item.description or room < 4:
        return style(left)
    return style(left) + " " * gap + theme["muted"](truncate(item.description, room, ellipsis))
