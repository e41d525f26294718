"""The editor's frame: border lines with texts, and counters of hidden lines."""

from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width

_MIN_TEXT_CELLS = 3


def border(theme: Theme, token: str, width: int, left: str = "", mark: str = "", right: str = "") -> str:
    """Draw a border of `width` cells with texts; without enough room, the right one is dropped first."""
    line, style = theme.symbols.box[4], theme[token]
    pieces: list[str] = []
    room = width - 1
    if mark and visible_width(mark) + 3 <= room:
        room -= visible_width(mark) + 3
    else:
        mark = ""
    if left and room - 3 >= _MIN_TEXT_CELLS:
        left = truncate(left, room - 3, theme.symbols.ellipsis)
        room -= visible_width(left) + 3
        pieces.append(f"{style(line)} {left} ")
    if right and visible_width(right) + 3 <= room:
        room -= visible_width(right) + 3
    else:
        right = ""
    pieces.append(style(line * (room + 1)))
    if mark:
        pieces.append(f" {theme['muted'](mark)} {style(line)}")
    if right:
        pieces.append(f" {right} {style(line)}")
    return "".join(pieces)


def pick_fitting(pairs: tuple[tuple[str, str], ...], width: int) -> tuple[str, str]:
    """Return the first pair that fits in `width` cells, or the last one."""
    for left, right in pairs[:-1]:
        cells = sum(visible_width(text) + 3 for text in (left, right) if text)
        if cells + 1 <= width:
            return left, right
    return pairs[-1]


def hidden_mark(theme: Theme, lines: int, *, above: bool) -> str:
    """Format how many lines are hidden on one side; "" if none."""
    if not lines:
        return ""
    if theme.linear:
        return f"{lines} more {'line' if lines == 1 else 'lines'} {'above' if above else 'below'}"
    return f"{theme.symbols.scroll_up if above else theme.symbols.scroll_down} {lines}"
