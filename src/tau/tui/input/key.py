"""What a person can do with a keyboard, as values."""

from typing import Literal, NamedTuple

KeyKind = Literal["press", "repeat", "release"]


class Key(NamedTuple):
    """One key.

    `name` is canonical: modifiers in the order ctrl, alt, shift, super, then the key, joined by "+":
    "ctrl+c", "ctrl+shift+p", "alt+enter", "shift+tab", "up", "pageUp", "f5", "space", "enter", "backspace",
    "delete", "home", "end", "insert", "escape". A character that is typed is its own name ("a", "A"): shift
    is named only with another modifier or with a key that types nothing. What nobody knows is "unknown".
    """

    name: str
    text: str = ""
    """What it types: one character as the user sees it, or nothing for a key that types none."""
    kind: KeyKind = "press"
    raw: str = ""
    """What the terminal sent."""


class Paste(NamedTuple):
    """Text that came in one piece, as it came, but for line ends, which are newlines."""

    text: str


InputEvent = Key | Paste
