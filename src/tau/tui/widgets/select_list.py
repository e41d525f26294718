"""A selection list: filterable, grouped, with descriptions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic

from tau.tui.component import LiveComponent
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent
from tau.tui.style import Style, Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import fit, pad, truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.fuzzy import query_words, score
from tau.tui.widgets.list_parts import (
    DESCRIPTION_ROWS,
    FilterLine,
    description_rows,
    highlight_positions,
    key_step,
    move_place,
    position_row,
    spoken_rows,
)
from tau.tui.widgets.select_items import Choices, SelectItem, T

COLUMN_WIDTH = 60
"""From this width, descriptions are in a column; below it, under the list."""
__all__ = ["SelectItem", "SelectList"]


class ItemRows:
    """Draws the items of one frame; all share the same columns."""

    def __init__(self, theme: Theme, width: int, label_width: int, descriptions: bool) -> None:
        self._theme = theme
        self._width = width
        symbols = theme.symbols
        self._pointer_width = visible_width(symbols.pointer) + 1
        self._in_column = descriptions and width >= COLUMN_WIDTH and not theme.linear
        self.describes_below = descriptions and not self._in_column and not theme.linear
        self._label_width = label_width + 4
        self._none = " " * self._pointer_width

    def heading(self, text: str) -> str:
        return self._theme["heading"](truncate(text, self._width, self._theme.symbols.ellipsis))

    def item(self, item: SelectItem[T], query: str, selected: bool, current: bool, place: str) -> list[str]:
        """`place` is where it is in the list, such as "3 of 13"."""
        if self._theme.linear:
            return self._in_words(item, current, place if selected else "")
        theme, symbols = self._theme, self._theme.symbols
        style = theme["dim"] if item.disabled else theme["selected"] if selected else theme["text"]
        pointer = f"{theme['accent'](symbols.pointer)} " if selected else self._none
        label = pointer + self._label(item, query, style)
        if current:
            label += " " + theme["success"](symbols.check)
        row = self._with_sides(label, item, query)
        if selected and theme["selectedBackground"].open:
            return [theme["selectedBackground"](fit(row, self._width))]
        return [row]

    def _label(self, item: SelectItem[T], query: str, style: Style) -> str:
        match = score(query, item.label) if query else None
        return (
            highlight_positions(item.label, match[1], style, self._theme["matched"])
            if match
            else style(item.label)
        )

    def _with_sides(self, label: str, item: SelectItem[T], query: str) -> str:
        """Add the description and hint to the label, as far as they fit."""
        width, ellipsis = self._width, self._theme.symbols.ellipsis
        hint_width = visible_width(item.hint)
        if not item.hint or hint_width + 8 > width // 2:
            hint_width = 0
        room = width - (hint_width + 2 if hint_width else 0)
        if self._in_column and item.description:
            column = min(self._pointer_width + self._label_width, room // 2)
            described = room - column - 1
            text = pad(truncate(label, column, ellipsis), column) + " "
            text += self._style_description(truncate(item.description, described, ellipsis), query)
        else:
            text = truncate(label, room, ellipsis)
        if hint_width:
            text = pad(text, width - hint_width) + self._theme["muted"](item.hint)
        return text

    def _style_description(self, text: str, query: str) -> str:
        positions: set[int] = set()
        lower = text.lower()
        if query and len(lower) == len(text):
            for word in query_words(query.lower()):
                at = lower.find(word) if len(word) > 1 else -1
                positions.update(range(at, at + len(word)) if at >= 0 else ())
        return highlight_positions(text, sorted(positions), self._theme["muted"], self._theme["matched"])

    def _in_words(self, item: SelectItem[T], current: bool, place: str) -> list[str]:
        words = f"Selected: {item.label}" if place else item.label
        notes = ["current"] if current else []
        if item.disabled:
            notes.append("not available")
        if place:
            notes.append(place)
        if notes:
            words += f" ({', '.join(notes)})"
        words += f": {item.description}" if item.description else ""
        words += f" ({item.hint})" if item.hint else ""
        return spoken_rows(words, self._width)


class SelectList(LiveComponent, Generic[T]):
    """Keys move, letters filter, Enter selects. `on_change` gets the highlighted item, for a preview.

    `kind` builds the choices, for lists with their own matching or highlighting.
    """

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        items: Iterable[SelectItem[T]] = (),
        max_rows: int = 10,
        *,
        filterable: bool = True,
        current: T | None = None,
        empty_text: str = "There is nothing to choose from.",
        kind: Callable[[Iterable[SelectItem[T]]], Choices[T]] = Choices,
        on_select: Callable[[SelectItem[T]], None] | None = None,
        on_change: Callable[[SelectItem[T]], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
    ) -> None:
        self._theme = theme
        self._keys = keys
        self.max_rows = max_rows
        """Maximum number of item rows."""
        self.current = current
        """The current value; it is marked."""
        self.empty_text = empty_text
        """Shown if there are no items."""
        self._filter = FilterLine(keys) if filterable else None
        self.on_select = on_select
        self.on_change = on_change
        self.on_cancel = on_cancel
        self._kind = kind
        self.choices: Choices[T] = kind(())
        """The choices; set them again after changing them."""
        self._at = 0
        self._top = 0
        self._rows: list[str] | None = None
        self._drawn_for: tuple[object, ...] = ()
        self.set_items(items)
        if current is not None:
            self.select(current)

    def set_items(self, items: Iterable[SelectItem[T]]) -> None:
        """Replace the items; the filter stays, and so does the selection if still present."""
        self.set_choices(self._kind(items))

    def set_choices(self, choices: Choices[T]) -> None:
        """Replace or refresh the choices."""
        before = self.selected
        self.choices = choices
        choices.narrow(self.filter_text)
        self._top = 0
        self._rows = None
        if before is None or not self.select(before.value):
            self._at = choices.enabled_from(min(self._at, len(choices.order) - 1), 1)

    @property
    def selected(self) -> SelectItem[T] | None:
        """The highlighted item; None if nothing can be selected."""
        return self.choices.at(self._at)

    def select(self, value: T) -> bool:
        """Highlight the item with this value; False if it is not shown."""
        place = self.choices.place_of(value)
        if place >= 0:
            self._at = place
            self._rows = None
        return place >= 0

    def select_first(self) -> None:
        """Highlight the first selectable item."""
        self._at = self.choices.enabled_from(0, 1)
        self._rows = None

    @property
    def in_view(self) -> Sequence[SelectItem[T]]:
        """The items drawn last."""
        lines = self.choices.lines[self._top : self._top + self.max_rows]
        return [self.choices.items[index] for index in lines if index >= 0]

    @property
    def filter_text(self) -> str:
        return self._filter.text if self._filter else ""

    def set_filter(self, text: str) -> None:
        """Filter the list as if this had been typed."""
        if self._filter is not None and text != self._filter.text:
            self._filter.text = clean_line(text)
            self._filter_changed()

    def handle_input(self, event: InputEvent) -> bool:
        matches = self._keys.matches
        if (step := key_step(self._keys, event, self.max_rows, len(self.choices.order))) is not None:
            self._move(step)
        elif matches(event, "tui.select.confirm"):
            self._confirm()
        elif matches(event, "tui.select.cancel"):
            if self.on_cancel is not None:
                self.on_cancel()
        elif self._filter is not None and self._filter.apply(event):
            self._filter_changed()
        else:
            return False
        return True

    def invalidate(self) -> None:
        self._rows = None

    def render(self, width: int) -> Sequence[str]:
        wanted = (width, self.focused, self.max_rows, self.current, self.empty_text)
        if self._rows is None or self._drawn_for != wanted:
            self._drawn_for = wanted
            self._rows = self._render_rows(max(width, 1))
        return self._rows

    def _confirm(self) -> None:
        item = self.selected
        if item is not None and self.on_select is not None:
            self.on_select(item)

    def _move(self, step: int) -> None:
        before = self.selected
        wanted = move_place(self._at, step, len(self.choices.order))
        self._at = self.choices.enabled_from(wanted, 1 if step > 0 else -1, around=abs(step) == 1)
        self._rows = None
        self._tell(before)

    def _tell(self, before: SelectItem[T] | None) -> None:
        after = self.selected
        if after is not None and after is not before and self.on_change is not None:
            self.on_change(after)

    def _filter_changed(self) -> None:
        before = self.selected
        self.set_choices(self.choices)
        if self.filter_text or before is None:
            self.select_first()
        self._tell(before)

    def _render_rows(self, width: int) -> list[str]:
        theme, choices = self._theme, self.choices
        rows = [] if self._filter is None else [self._filter.row(theme, width, self.focused)]
        if not choices.order:
            text = f"No matches for {self.filter_text}." if choices.items else clean_line(self.empty_text)
            return rows + [theme["muted"](row) for row in wrap(text, width)[:DESCRIPTION_ROWS]]
        lines = choices.lines
        height = min(max(self.max_rows, 1), len(lines))
        self._top = choices.window(self._top, self._at, height)
        draw = ItemRows(theme, width, choices.label_width, choices.has_descriptions)
        selected = choices.order[self._at]
        for index in lines[self._top : self._top + height]:
            if index < 0:
                rows.append(draw.heading(choices.items[-1 - index].group))
                continue
            item = choices.items[index]
            marks = (index == selected, item.value == self.current)
            rows += draw.item(item, self.filter_text, *marks, f"{self._at + 1} of {len(choices.order)}")
        if height < len(lines):
            place = (self._top, height, len(lines), self._at + 1, len(choices.order))
            rows.append(position_row(theme, *place, width))
        if draw.describes_below:
            rows += description_rows(theme, choices.items[selected].description, width)
        return rows
