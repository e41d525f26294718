"""Shared parts of lists: the filter line, highlighted matches, scrolling, the position indicator."""

from collections.abc import Sequence

from tau.tui.component import CURSOR_MARKER
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent, Paste
from tau.tui.style import Style, Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import cut, truncate
from tau.tui.text.width import graphemes, visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.fuzzy import MAX_QUERY_CHARS

FILTER_LABEL = "Filter: "
DESCRIPTION_ROWS = 2


class FilterLine:
    """A filter; it is edited only at its end, so that all other keys belong to the list."""

    def __init__(self, keys: Keymap, placeholder: str = "type to narrow the list") -> None:
        self.text = ""
        self.placeholder = placeholder
        self._keys = keys

    def apply(self, event: InputEvent) -> bool:
        """Apply an event; returns whether it changed the text."""
        text = self._after(event)
        if text is None or text == self.text:
            return False
        self.text = text
        return True

    def _after(self, event: InputEvent) -> str | None:
        if isinstance(event, Paste):
            return (self.text + clean_line(event.text))[:MAX_QUERY_CHARS]
        if event.kind != "release" and event.text and event.text.isprintable():
            return (self.text + event.text)[:MAX_QUERY_CHARS]
        if self._keys.matches(event, "tui.editor.deleteCharBackward"):
            return "".join(list(graphemes(self.text))[:-1])
        if self._keys.matches(event, "tui.editor.deleteWordBackward"):
            kept = self.text.rstrip()
            return kept[: kept.rfind(" ") + 1]
        if self._keys.matches(event, "tui.editor.deleteToLineStart"):
            return ""
        return None

    def row(self, theme: Theme, width: int, focused: bool) -> str:
        """Render the line; its end stays visible, with the cursor if the list has the focus."""
        label = FILTER_LABEL if width > 2 * len(FILTER_LABEL) else ""
        room = max(width - len(label) - 1, 0)
        used = visible_width(self.text)
        text = self.text if used <= room else cut(self.text, used - room, used)
        cursor = CURSOR_MARKER if focused else ""
        if text or not room:
            shown = theme["text"](text) + cursor
        else:
            shown = cursor + theme["placeholder"](truncate(self.placeholder, room, theme.symbols.ellipsis))
        return theme["muted"](label) + shown


def highlight_positions(text: str, positions: Sequence[int], style: Style, match: Style) -> str:
    """Style the text, with the characters at these positions in another style."""
    pieces: list[str] = []
    at = number = 0
    while number < len(positions) and positions[number] < len(text):
        start = end = positions[number]
        while number < len(positions) and positions[number] == end:
            end += 1
            number += 1
        pieces += (style(text[at:start]), match(text[start:end]))
        at = end
    pieces.append(style(text[at:]))
    return "".join(pieces)


def window_top(top: int, line: int, height: int, total: int) -> int:
    """Return the first line to show so that `line` is visible, moving as little as possible."""
    top = min(top, line)
    top = max(top, line - height + 1)
    return max(0, min(top, total - height))


def spoken_rows(words: str, width: int) -> list[str]:
    """Render one list item for a screen reader: further lines show that they continue the first."""
    if width < 8:
        return wrap(words, width)
    first, *more = wrap(words, width - 2) or [""]
    return [first, *(f"  {row}" for row in more)]


def position_row(theme: Theme, top: int, height: int, lines: int, place: int, total: int, width: int) -> str:
    """Render the position in a long list: arrows for more above and below, and "3/120"."""
    if theme.linear:
        return truncate(f"Item {place} of {total}", width, theme.symbols.ellipsis)
    above = theme.symbols.scroll_up if top > 0 else " "
    below = theme.symbols.scroll_down if top + height < lines else " "
    return theme["dim"](truncate(f"{above}{below} {place}/{total}", width, ""))


def key_step(keys: Keymap, event: InputEvent, page: int, count: int) -> int | None:
    """Return how far a key moves in a list, or None; only single steps wrap around."""
    for action, step in (
        ("tui.select.up", -1),
        ("tui.select.down", 1),
        ("tui.select.pageUp", -max(page, 2)),
        ("tui.select.pageDown", max(page, 2)),
        ("tui.editor.cursorLineStart", -count - 1),
        ("tui.editor.cursorLineEnd", count + 1),
    ):
        if keys.matches(event, action):
            return step
    return None


def move_place(place: int, step: int, count: int) -> int:
    if not count:
        return 0
    wanted = place + step
    return wanted % count if abs(step) == 1 else max(0, min(wanted, count - 1))


def description_rows(theme: Theme, description: str, width: int) -> list[str]:
    """Render a description under a list, at constant height so that nothing jumps."""
    if theme.linear:
        return wrap(description, width) if description else []
    indent = "  " if width > 2 else ""
    rows = wrap(description, max(width - 2, 1))[:DESCRIPTION_ROWS]
    rows = [indent + theme["muted"](row) for row in rows]
    return ["", *rows, *[""] * (DESCRIPTION_ROWS - len(rows))]
