"""Renders list items: in columns, stacked, or as text for screen readers."""

from tau.tui.style import Style, Theme
from tau.tui.text.cut import fit, pad, truncate
from tau.tui.text.width import visible_width
from tau.tui.widgets.fuzzy import query_words, score
from tau.tui.widgets.list_parts import highlight_positions, spoken_rows
from tau.tui.widgets.select_items import SelectItem, T

COLUMN_WIDTH = 60
"""From this width, descriptions are in a column; below it, under the list."""


class ItemRows:
    """Draws the items of one frame; all share the same columns."""

    def __init__(self, theme: Theme, width: int, multi: bool, label_width: int, descriptions: bool) -> None:
        self._theme = theme
        self._width = width
        self._multi = multi
        symbols = theme.symbols
        self._pointer_width = visible_width(symbols.pointer) + 1
        self._in_column = descriptions and width >= COLUMN_WIDTH and not theme.linear
        self.describes_below = descriptions and not self._in_column and not theme.linear
        self._label_width = label_width + 2 + (2 if not multi else 0)
        self._none = " " * self._pointer_width

    def heading(self, text: str) -> str:
        return self._theme["heading"](truncate(text, self._width, self._theme.symbols.ellipsis))

    def item(
        self, item: SelectItem[T], query: str, selected: bool, checked: bool, current: bool
    ) -> list[str]:
        if self._theme.linear:
            return self._in_words(item, selected, checked, current)
        theme, symbols = self._theme, self._theme.symbols
        style = theme["dim"] if item.disabled else theme["selected"] if selected else theme["text"]
        pointer = f"{theme['accent'](symbols.pointer)} " if selected else self._none
        if self._multi:
            box = symbols.checkbox_on if checked else symbols.checkbox_off
            pointer += f"{theme['accent' if checked else 'muted'](box)} "
        label = pointer + self._label(item, query, style)
        if current:
            label += " " + theme["success"](symbols.check)
        row = self._with_sides(label, item, query)
        if selected and theme["selectedBackground"].open:
            return [theme["selectedBackground"](fit(row, self._width))]
        return [row]

    def _label(self, item: SelectItem[T], query: str, style: Style) -> str:
        found = score(query, item.label) if query else None
        return (
            highlight_positions(item.label, found[1], style, self._theme["matched"])
            if found
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
            column = self._pointer_width + self._label_width + (2 if self._multi else 0)
            column = min(column, room // 2)
            described = room - column - 1
            text = pad(truncate(label, column, ellipsis), column) + " "
            text += self._described(truncate(item.description, described, ellipsis), query)
        else:
            text = truncate(label, room, ellipsis)
        if hint_width:
            text = pad(text, width - hint_width) + self._theme["muted"](item.hint)
        return text

    def _described(self, text: str, query: str) -> str:
        positions: set[int] = set()
        lower = text.lower()
        if query and len(lower) == len(text):
            for word in query_words(query.lower()):
                at = lower.find(word) if len(word) > 1 else -1
                positions.update(range(at, at + len(word)) if at >= 0 else ())
        return highlight_positions(text, sorted(positions), self._theme["muted"], self._theme["matched"])

    def _in_words(self, item: SelectItem[T], selected: bool, checked: bool, current: bool) -> list[str]:
        words = f"Selected: {item.label}" if selected else item.label
        notes = ["current"] if current else []
        if self._multi:
            notes.append("checked" if checked else "not checked")
        if item.disabled:
            notes.append("not available")
        if notes:
            words += f" ({', '.join(notes)})"
        words += f": {item.description}" if item.description else ""
        words += f" ({item.hint})" if item.hint else ""
        return spoken_rows(words, self._width)
