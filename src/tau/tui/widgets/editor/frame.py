"""What stands around the text: the border lines with texts in them, and the marks for what is out of view."""

from tau.tui.style import Theme
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width

_MIN_TEXT_CELLS = 3


def border(theme: Theme, token: str, width: int, left: str = "", mark: str = "", right: str = "") -> str:
    """A line of `width` cells with texts in it; where there is no room, the right one goes first."""
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


def fitting(pairs: tuple[tuple[str, str], ...], width: int) -> tuple[str, str]:
    """The first pair of texts that has room in a line of `width` cells; the last one if none has."""
    for left, right in pairs[:-1]:
        cells = sum(visible_width(text) + 3 for text in (left, right) if text)
        if cells + 1 <= width:
            return left, right
    return pairs[-1]


def hidden_mark(theme: Theme, lines: int, *, above: bool) -> str:
    """How many lines are out of view on one side; "" if there are none."""
    if not lines:
        return ""
    if theme.linear:
        return f"{lines} more {'line' if lines == 1 else 'lines'} {'above' if above else 'below'}"
    return f"{theme.symbols.scroll_up if above else theme.symbols.scroll_down} {lines}"
