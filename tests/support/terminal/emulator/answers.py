"""A terminal's answers to queries."""

from typing import NamedTuple


class Answers(NamedTuple):
    """None or an empty text means that the query is not answered."""

    attributes: str = "62;4;22;52"
    """DA1: a VT220 with Sixel, colors and the clipboard."""
    version: str = "tau virtual 1"
    """XTVERSION."""
    foreground: str = "rgb:dddd/dddd/dddd"
    background: str = "rgb:1111/1111/1111"
    """OSC 11; its brightness also decides the answer about dark and light (mode 2031)."""
    kitty_keyboard: bool = True
    modes: frozenset[int] = frozenset(
        {1, 6, 7, 12, 25, 47, 1000, 1002, 1003, 1004, 1006, 1047, 1049, 2004, 2026, 2027, 2031, 2048}
    )
    """The DEC modes that DECRQM reports as known."""
    notifications: str = "o=always:p=title,body,?:u=0,1,2"
    """OSC 99: the supported notifications."""
    kitty_graphics: bool = True
    cell_pixels: tuple[int, int] = (9, 18)
    color_names: bool = True
    """XTGETTCAP for the number of colors and the like."""
