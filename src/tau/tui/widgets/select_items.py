"""Items to choose from, filtered, ordered and grouped under headings."""

from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

from tau.tui.text.clean import clean_line
from tau.tui.widgets.fuzzy import Ranker, query_words
from tau.tui.widgets.list_parts import window_top

T = TypeVar("T", bound=Hashable)

MAX_LABEL_WIDTH = 40
_CLOSELY_RANKED = 300
_FEW_ITEMS = 500


class SelectItem(NamedTuple, Generic[T]):
    """One item. `hint` is shown at the right edge; disabled items cannot be selected."""

    value: T
    label: str
    description: str = ""
    group: str = ""
    hint: str = ""
    disabled: bool = False


class Choices(Generic[T]):
    """The items and which are shown: `order` for navigation, `lines` with headings for display."""

    def __init__(self, items: Iterable[SelectItem[T]]) -> None:
        self.items = [_clean_texts(item) for item in items]
        self.has_groups = any(item.group for item in self.items)
        self.has_descriptions = any(item.description for item in self.items)
        lengths = sorted(len(item.label) for item in self.items) or [0]
        # In a long list, a few long labels must not take the room of the descriptions.
        usual = lengths[-1 - len(lengths) // 10] if len(lengths) > _FEW_ITEMS else lengths[-1]
        self.label_width = min(usual, MAX_LABEL_WIDTH)
        self.order: list[int] = []
        """Indices of the visible items."""
        self.lines: list[int] = []
        """The same with headings between them: -1 - the index of the first item of a group."""
        self._line_of: list[int] = []
        self._ranker: Ranker | None = None
        self._haystacks: list[str] = []

    def at(self, place: int) -> SelectItem[T] | None:
        """Return the item at this place of the order, if it can be selected."""
        if not 0 <= place < len(self.order):
            return None
        item = self.items[self.order[place]]
        return None if item.disabled else item

    def place_of(self, value: T) -> int:
        """Return the place of the item with this value; -1 if it is hidden or cannot be selected."""
        for place, index in enumerate(self.order):
            if self.items[index].value == value and not self.items[index].disabled:
                return place
        return -1

    def line_of(self, place: int) -> int:
        """Return the line that shows this place of the order."""
        return self._line_of[place] if self._line_of else place

    def window(self, top: int, place: int, height: int) -> int:
        """Return the first line to show so that this place, with any heading above it, is visible."""
        line, count = self.line_of(place), len(self.lines)
        if line > 0 and self.lines[line - 1] < 0 and height > 1:
            top = window_top(top, line - 1, height, count)
        return window_top(top, line, height, count)

    def enabled_from(self, start: int, step: int, around: bool = False) -> int:
        """Return the next selectable place from `start`; if there is none, search the other direction."""
        count = len(self.order)
        for direction in (step, -step):
            place = start
            for _ in range(count):
                if not 0 <= place < count:
                    if not around:
                        break
                    place %= count
                if not self.items[self.order[place]].disabled:
                    return place
                place += direction
        return max(0, min(start, count - 1))

    def narrow(self, query: str) -> None:
        """Show the items that match the query."""
        self.order = self.matching(query)
        self.lines, self._line_of = self.order, []
        if self.has_groups:
            self._group()

    def matching(self, query: str) -> list[int]:
        """Return matching items: by label, best first, then those with all words elsewhere."""
        words = query_words(query.lower())
        if not words:
            return list(range(len(self.items)))
        if self._ranker is None:
            self._ranker = Ranker([item.label for item in self.items], _CLOSELY_RANKED)
        by_label = self._ranker.order(query)
        if not self.has_descriptions and not self.has_groups:
            return by_label
        if not self._haystacks:
            self._haystacks = [f"{i.label} {i.group} {i.description}".lower() for i in self.items]
        known = set(by_label)
        rest: Iterable[int] = range(len(self.items))
        for word in words:
            rest = [index for index in rest if word in self._haystacks[index]]
        return by_label + [index for index in rest if index not in known]

    def _group(self) -> None:
        """Group the items, the best item's group first, each under its heading."""
        groups: dict[str, list[int]] = {}
        for index in self.order:
            groups.setdefault(self.items[index].group, []).append(index)
        self.order, self.lines = [], []
        for name, members in groups.items():
            if name:
                self.lines.append(-1 - members[0])
            self._line_of += range(len(self.lines), len(self.lines) + len(members))
            self.order += members
            self.lines += members


def _clean_texts(item: SelectItem[T]) -> SelectItem[T]:
    label, description = clean_line(item.label), clean_line(item.description)
    group, hint = clean_line(item.group), clean_line(item.hint)
    if (label, description, group, hint) == (item.label, item.description, item.group, item.hint):
        return item
    return item._replace(label=label, description=description, group=group, hint=hint)
