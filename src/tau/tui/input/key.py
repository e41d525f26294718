"""Keyboard input as values."""

from typing import Literal, NamedTuple

KeyKind = Literal["press", "repeat", "release"]


class Key(NamedTuple):
    """One key.

    `name` is canonical: modifiers in the order ctrl, alt, shift, super, then the key, joined by "+":
    "ctrl+c", "ctrl+shift+p", "alt+enter", "shift+tab", "up", "pageUp", "f5", "space", "enter", "backspace",
    "delete", "home", "end", "insert", "escape". A typed character is its own name ("a", "A"): shift is named
    only with another modifier or with a key that types nothing. An unrecognized key is "unknown".
    """

    name: str
    text: str = ""
    """The character it types, as the user sees it; empty for a key that types none."""
    kind: KeyKind = "press"
    raw: str = ""
    """What the terminal sent."""


class Paste(NamedTuple):
    """Pasted text; line ends are newlines."""

    text: str


InputEvent = Key | Paste
